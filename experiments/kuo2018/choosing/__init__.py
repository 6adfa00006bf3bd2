"""The choice among candidate mechanisms, with its whole privacy loss charged. Two ways differ in what they look at:

| the choice looks at                    | value               | privacy loss                            |
|----------------------------------------|---------------------|-----------------------------------------|
| one noisy statistic of the truth       | `ChosenByStatistic` | the largest candidate's epsilon + eps2  |
| every candidate's error, with noise    | `ChosenByScore`     | the sum of all candidates' + eps2       |

Kuo et al. 2018 describe the second and state eps + eps2 for it. That does not hold (see `ChosenByScore`). Their
practical advice costs nothing: cumulative counts on every level, `Mechanism(Geometric(View.CUMULATIVE, epsilon),
Matching())`, and ranked sizes where the data are known to be sparse.

Why a private choice costs what it does. Adding noise X with P(X = k) ~ exp(-|k| eps2 / Delta) to an integer that moves
by at most Delta between neighbours changes no probability by more than a factor e^eps2. A choice from that noisy number
is post-processing; what is released afterwards is paid for besides, because both are seen. `ChosenByScore` sees the
answers of all candidates, so all of them are paid for.

Files: `mechanisms` are the two values, `statistic` integers of the truth with their sensitivities, `score` the score
and its noise, `checks` what is refused before anything is spent.
"""

from pgsr.experiments.kuo2018.choosing.mechanisms import ChosenByScore, ChosenByStatistic
from pgsr.experiments.kuo2018.choosing.score import Branch, score
from pgsr.experiments.kuo2018.choosing.statistic import DISTINCT_SIZES, IntegerStatistic, distinct_sizes

__all__ = [
    "DISTINCT_SIZES",
    "Branch",
    "ChosenByScore",
    "ChosenByStatistic",
    "IntegerStatistic",
    "distinct_sizes",
    "score",
]
