"""The two ways to choose among mechanisms: by a statistic, and by scores."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from pgsr.data.counts import CountOfCounts
from pgsr.errors import MethodError, PgsrError
from pgsr.experiments.kuo2018.choosing.checks import checked_candidates, label, refuse_early
from pgsr.experiments.kuo2018.choosing.score import Branch, draw, score
from pgsr.experiments.kuo2018.choosing.statistic import DISTINCT_SIZES, IntegerStatistic
from pgsr.methods.mechanism import Mechanism
from pgsr.methods.method import ANSWERED, Result, Status
from pgsr.privacy.accounting import PureEpsilon
from pgsr.privacy.accounting.memory_ledger import Ledger
from pgsr.privacy.budget import Number, exact
from pgsr.privacy.laws import DoubleGeometric
from pgsr.privacy.neighbours import Relation, Unit
from pgsr.privacy.random import Source, StreamId


@dataclass(frozen=True)
class ChosenByStatistic:
    """A mechanism that measures one statistic t of the truth, and runs the mechanism that t chooses alone.

        t' = t(D) + X,  P(X = k) ~ exp(-|k| eps2 / sensitivity);   release (t', M_choose(t')(D)).

    t' is eps2-differentially private; given t', the release is that of one fixed candidate. By adaptive composition the
    loss is eps2 + the candidates' epsilon, the largest one where they differ.

    Args:
        candidates: the mechanisms `choose` may answer; all are checked before anything is charged.
        choose: public rule from any integer t' to one of the candidates.
        choice_epsilon: eps2.
        statistic: t, with its sensitivity.

    Raises:
        MethodError: no candidates, or some value is no mechanism.
        BudgetError: eps2 is malformed.

    Example:
        >>> from pgsr import CountOfCounts, Hierarchy, View
        >>> from pgsr.noise import Geometric
        >>> from pgsr.privacy import Seeded
        >>> from pgsr.estimators import Matching
        >>> truth = CountOfCounts(Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0]), [[0, 2, 0, 1], [0, 1, 1, 1]])
        >>> dense, sparse = (Mechanism(Geometric(v, epsilon="1"), Matching()) for v in (View.CUMULATIVE, View.RANKED))
        >>> chosen = ChosenByStatistic((dense, sparse), lambda t: sparse if t < 2 else dense, choice_epsilon="1/4")
        >>> chosen.epsilon
        Fraction(5, 4)
        >>> chosen.release(truth, Seeded("demo")).reason
        'chosen by noisy distinct sizes = 3: Matching() on cumulative'

    Extends: the algorithm selection of Kuo et al. 2018, to a choice by one noisy statistic, so that one candidate runs.
    """

    candidates: Sequence[Mechanism]
    choose: Callable[[int], Mechanism]
    choice_epsilon: Number
    statistic: IntegerStatistic = DISTINCT_SIZES

    def __post_init__(self) -> None:
        object.__setattr__(self, "candidates", checked_candidates(self.candidates))
        object.__setattr__(self, "choice_epsilon", exact(self.choice_epsilon, "choice_epsilon"))

    @property
    def epsilon(self) -> Fraction:
        """The total privacy loss of one release, exactly."""
        return max(candidate.epsilon for candidate in self.candidates) + exact(self.choice_epsilon)

    def release(
        self, truth: CountOfCounts, source: Source, ledger: Ledger | None = None, time_limit: float | None = None
    ) -> Result:
        """Choose, measure `truth` and post-process; `reason` names the choice and the noisy statistic.

        Raises:
            BudgetError: a candidate's budget does not fit, the noise would be too large, or the ledger lacks epsilon.
            ProblemError, MemoryNeededError: some candidate cannot run on this hierarchy.
            MethodError: the statistic is no integer, or (after the charge) the rule answered no candidate.
        """
        law = DoubleGeometric(self.statistic.sensitivity / exact(self.choice_epsilon))
        refuse_early(self.candidates, truth, source)
        value = self.statistic.of(truth)
        if isinstance(value, bool) or not isinstance(value, int | np.integer):
            raise MethodError(f"the statistic {self.statistic.name!r} is a {type(value).__name__}; return an integer")
        if ledger is not None:
            what = f"a choice among {len(self.candidates)} mechanisms by a statistic"
            ledger.charge(PureEpsilon(self.epsilon), what, Unit.ENTITY, Relation.ADD_REMOVE)
        identity = StreamId(truth.name, "selection statistic", 0, (self.statistic.name,))
        noisy = int(value) + draw(law, source, identity)
        chosen = self.choose(noisy)
        if chosen not in self.candidates:
            raise MethodError(
                f"the rule chose {chosen!r} at {noisy}, which is no candidate and was not charged for; "
                "list it among the candidates"
            )
        why = f"chosen by noisy {self.statistic.name} = {noisy}: {label(chosen)}"
        return _because(chosen.release(truth, source, None, time_limit), why)


@dataclass(frozen=True)
class ChosenByScore:
    """A mechanism that runs all candidates, scores their answers by errors, and releases that of the least noisy score.

        release  r_I,   I = the least i that minimises  q_i(D) + X_i,
        q_i(D)  = sum over regions of all L levels, s = 0..K, of |N_D(s) - N_r_i(s)|,   N(s) = groups of size >= s,
        P(X = k) ~ exp(-|k| eps2 / (2 L)),   X_i independent of each other and of all other noise.

    q is the earth mover's distance where totals agree, and counts a missing group of size s as s + 1. One entity
    changes one cell of N by one in one region per level, and so does an empty group where totals are noisy: for a fixed
    answer |q_i(D) - q_i(D')| <= L.

    **Privacy loss: eps_1 + ... + eps_k + eps2** (k eps + eps2). The answers r = (r_1, ..., r_k) come from independent
    noise, so r is (sum eps_i)-private. Given r, fix every X_j but X_i. Scores and noise are integers, so i wins exactly
    if X_i <= t with the integer t = min(min_{j < i} (q_j + X_j) - 1, min_{j > i} q_j + X_j) - q_i; the tie rule is the
    "- 1", the same for D and D'. Between them both terms move by L at most, t by 2 L, and

        P(X_i <= t) = sum_{k <= t} P(X_i = k) <= e^eps2 sum_{k <= t} P(X_i = k - 2 L) = e^eps2 P(X_i <= t - 2 L),

    so I is eps2-private given r; (r, I) composes, and r_I is post-processing. A candidate without an answer takes no
    part, which r alone decides. (Scores move in either direction, hence 2 L and not L.)

    **Why not eps + eps2**, as the paper says: that needs each candidate to run on data of its own. Let two candidates
    each answer well or badly from the same bit, badly with probability q under D and q / e^eps under D'. The release is
    bad only if both are: probability q^2 against q^2 / e^(2 eps), a loss of 2 eps however small eps2 is. Shown in
    fractions by `test_kuo2018_choosing_score.py::test_counter_example_to_the_published_accounting`.

    Fractional answers are scored as rounded to the nearest integers, and released as they are. The reason names the
    chosen candidate; scores, noisy ones too, are not released.

    Args:
        candidates: the mechanisms.
        choice_epsilon: eps2.

    Raises:
        MethodError: no candidates, or some value is no mechanism.
        BudgetError: eps2 is malformed.

    Complexity: all candidates one after the other, and O(regions x sizes) per score; two answers are held at a time.

    Example:
        >>> from pgsr import CountOfCounts, Hierarchy, View
        >>> from pgsr.noise import Geometric
        >>> from pgsr.privacy import Seeded
        >>> from pgsr.estimators import Matching
        >>> truth = CountOfCounts(Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0]), [[0, 2, 0, 1], [0, 1, 1, 1]])
        >>> both = [Mechanism(Geometric(view, epsilon="1"), Matching()) for view in (View.CUMULATIVE, View.RANKED)]
        >>> chosen = ChosenByScore(both, choice_epsilon="1/2")
        >>> chosen.epsilon
        Fraction(5, 2)
        >>> chosen.release(truth, Seeded("demo")).reason
        'candidate 2 of 2, chosen by noisy scores: Matching() on ranked'

    Source: Kuo et al. 2018, algorithm selection, after Chaudhuri et al. 2011, whose theorem uses disjoint parts of the
    data; report-noisy-max: Dwork and Roth 2014, section 3.3. The steps are shown by
    `test_kuo2018_choosing_score.py::test_sensitivity_of_scores` and
    `test_noisy_choice_loses_at_most_its_epsilon`.
    """

    candidates: Sequence[Mechanism]
    choice_epsilon: Number

    def __post_init__(self) -> None:
        object.__setattr__(self, "candidates", checked_candidates(self.candidates))
        object.__setattr__(self, "choice_epsilon", exact(self.choice_epsilon, "choice_epsilon"))

    @property
    def epsilon(self) -> Fraction:
        """The total privacy loss of one release, exactly."""
        return sum((candidate.epsilon for candidate in self.candidates), exact(self.choice_epsilon))

    def release(
        self, truth: CountOfCounts, source: Source, ledger: Ledger | None = None, time_limit: float | None = None
    ) -> Result:
        """Run every candidate (each within `time_limit` seconds) and release the chosen answer.

        Raises:
            BudgetError: a candidate's budget does not fit, the noise would be too large, or the ledger lacks epsilon.
            ProblemError, MemoryNeededError: some candidate cannot run on this hierarchy.
        """
        law = DoubleGeometric(2 * truth.hierarchy.n_levels / exact(self.choice_epsilon))
        refuse_early(self.candidates, truth, source)
        n = len(self.candidates)
        if ledger is not None:
            what = f"a choice among {n} mechanisms by noisy scores"
            ledger.charge(PureEpsilon(self.epsilon), what, Unit.ENTITY, Relation.ADD_REMOVE)
        best: tuple[int, int, Result] | None = None
        failures = []
        for i, candidate in enumerate(self.candidates):
            result = _released(candidate, truth, Branch(source, i), time_limit)
            error = score(truth, result.answer) if result.answer is not None and result.status in ANSWERED else None
            if error is None:
                why = result.reason if result.status not in ANSWERED else "not finite, or of other regions or sizes"
                failures.append(f"candidate {i + 1} ({label(candidate)}): {result.status.value}, {why}")
                continue
            noisy = error + draw(law, source, StreamId(truth.name, "selection score", 0, (str(i),)))
            if best is None or noisy < best[0]:
                best = noisy, i, result
        without = f"; without an answer: {'; '.join(failures)}" if failures else ""
        if best is None:
            return Result(Status.FAILED, f"no candidate can be chosen{without}")
        _, i, result = best
        why = f"candidate {i + 1} of {n}, chosen by noisy scores: {label(self.candidates[i])}{without}"
        return _because(result, why)


def _released(candidate: Mechanism, truth: CountOfCounts, source: Source, time_limit: float | None) -> Result:
    """Run a candidate. Its refusal is a failed result and not an error, because the other candidates are paid for."""
    try:
        return candidate.release(truth, source, None, time_limit)
    except PgsrError as error:
        return Result(Status.FAILED, str(error))


def _because(result: Result, why: str) -> Result:
    return replace(result, reason=f"{why}; {result.reason}" if result.reason else why)
