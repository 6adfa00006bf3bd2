"""All seeded privacy bugs, each with the check that has to fail on it.

To add one: a function that takes pytest's MonkeyPatch and plants the bug (in `planted_bugs`, `planted_leaks`, or in a
module of its own for the part of the code it is about), a check that raises AssertionError (in `small_checks`, or
elsewhere), and a line in `MUTANTS`. Those of the release folder are in `planted_publications`, found by
`release_checks`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import planted_bugs as bugs
import planted_leaks as leaks
import planted_publications as folder
import release_checks as published
import small_checks as checks
from pytest import MonkeyPatch  # noqa: PT013


@dataclass(frozen=True)
class Mutant:
    """A bug, how it is planted, and a function that raises AssertionError while it is there."""

    name: str
    plant: Callable[[MonkeyPatch], object]
    killer: Callable[[], None]


MUTANTS = [
    Mutant("epsilon split in floats", bugs.float_split, checks.r6_levels_add_up),
    Mutant("a float epsilon by its bits", bugs.float_by_its_bits, checks.bad_epsilons_are_refused),
    Mutant("epsilon not split over levels", bugs.whole_epsilon_on_every_level, checks.r6_losses),
    Mutant("infinite epsilon accepted", bugs.infinite_epsilon, checks.bad_epsilons_are_refused),
    Mutant("ledger compares floats", bugs.ledger_in_floats, checks.ledger_is_exact),
    Mutant("budget charged after drawing", bugs.charged_after_drawing, checks.ledger_is_charged_first),
    Mutant("budget charged before refusing", bugs.charged_before_refusing, checks.ledger_is_charged_first),
    Mutant("best of two at the price of one", bugs.best_of_two_at_the_price_of_one, checks.choices_are_paid_for),
    Mutant("a statistic for nothing", bugs.statistic_for_nothing, checks.choices_are_paid_for),
    Mutant("one seed for all regions", bugs.one_seed_for_all_regions, checks.r5_noise_is_used_once),
    Mutant("one seed for all views", bugs.one_seed_for_all_views, checks.r5_noise_is_used_once),
    Mutant("one seed for all data sets", bugs.one_seed_for_all_data_sets, checks.r5_noise_is_used_once),
    Mutant("one seed for all replicates", bugs.one_seed_for_all_replicates, checks.r5_noise_is_used_once),
    Mutant("secure release with seeded noise", bugs.secure_with_a_seed, checks.r5_secure_is_secure),
    Mutant("seeded release claims privacy", bugs.seeded_that_claims_privacy, checks.r5_secure_is_secure),
    Mutant("one draw per region", bugs.one_draw_per_region, checks.r5_noise_is_used_once),
    Mutant("noise scale + 1 %", bugs.scale_times(Fraction(101, 100)), checks.r3_law_of_measurements),
    Mutant("noise scale - 1 %", bugs.scale_times(Fraction(99, 100)), checks.r3_law_of_measurements),
    Mutant("thresholds off by 0.1 % of the scale", bugs.thresholds_of_another_scale, checks.r1_thresholds),
    Mutant("zero twice", bugs.zero_twice, checks.r3_law_of_measurements),
    Mutant("rounded Laplace noise", bugs.rounded_laplace, checks.r3_law_of_measurements),
    Mutant("noise of one sign", bugs.noise_of_one_sign, checks.r3_law_of_measurements),
    Mutant("ties decided without more bits", bugs.ties_without_more_bits, checks.r2_ties),
    Mutant("sensitivity 1 for 2, by losses", leaks.sensitivity_1_of_counts, checks.r6_losses),
    Mutant("sensitivity 1 for 2, by the law", leaks.sensitivity_1_of_counts, checks.r3_law_of_measurements),
    Mutant("sensitivity 1 for 2, by likelihood", leaks.sensitivity_1_of_counts, checks.r7_likelihood),
    Mutant("an entity's quantity ignored", leaks.quantities_ignored, checks.r6_losses_of_quantities),
    Mutant("size 0 dropped, by losses", leaks.without_size_0, checks.r6_losses),
    Mutant("size 0 dropped, by likelihood", leaks.without_size_0, checks.r7_likelihood),
    Mutant("sizes clipped at the mean of the data", leaks.clipped_at_the_mean_of_the_data, checks.r6_losses),
    Mutant("a group in two leaves", leaks.group_in_two_leaves, checks.r6_losses),
    Mutant("counts in 32 bits", leaks.vector_in(np.int32), checks.r6_integers),
    Mutant("counts in floats", leaks.vector_in(np.float64), checks.r6_integers),
    Mutant("no noise for empty cells", leaks.nothing_for_empty_cells, checks.r6_every_cell_is_noised),
    Mutant("no noise for empty regions", leaks.nothing_for_empty_regions, checks.r6_every_cell_is_noised),
    Mutant("K from the data", leaks.sizes_up_to_the_largest_that_occurs, checks.r6_losses),
    Mutant("totals of regions carried along", leaks.totals_of_regions_for_the_root, checks.r6_public_facts_only),
    Mutant("exact totals for noisy ones", leaks.exact_totals_for_noisy_ones, checks.r7_likelihood_with_noisy_totals),
    Mutant("ranked sizes tell totals", leaks.ranked_without_public_totals, checks.ranked_needs_public_totals),
    Mutant("true smallest size as bound", leaks.true_smallest_size, checks.r8_replay),
    Mutant("post-processing looks at the truth", leaks.peeking(leaks.empty_where_the_truth_is), checks.r8_replay),
    Mutant("warm start from the truth", leaks.peeking(leaks.warm_start), checks.r8_replay),
    Mutant("a copy of the truth is kept", leaks.kept_truth, checks.r8_replay),
    Mutant("hash of the input in the manifest", folder.hash_of_the_input, published.files_follow_from_noisy_values),
    Mutant("true error in the manifest", folder.true_error, published.files_follow_from_noisy_values),
    Mutant("number of rows in the manifest", folder.number_of_rows, published.files_follow_from_noisy_values),
    Mutant(
        "number of clipped groups in the manifest",
        folder.number_of_clipped_groups,
        published.files_follow_from_noisy_values,
    ),
    Mutant(
        "largest true size in the manifest", folder.largest_true_size, published.fields_are_those_that_may_be_published
    ),
    Mutant("seed in the manifest", folder.seed, published.fields_are_those_that_may_be_published),
    Mutant("seeded noise in a release", folder.seed, published.noise_is_secure_and_fresh),
    Mutant(
        "seconds per region in the manifest",
        folder.timings_per_region,
        published.fields_are_those_that_may_be_published,
    ),
    Mutant("number of rows in the readme", folder.rows_in_the_readme, published.files_follow_from_noisy_values),
    Mutant("release charged after drawing", folder.charged_after_drawing, published.epsilon_is_charged_before_noise),
    Mutant("release charged for one level", folder.charged_per_level, published.epsilon_is_charged_before_noise),
    Mutant(
        "charge given back after a failure",
        folder.given_back_after_a_failure,
        published.epsilon_is_charged_before_noise,
    ),
    Mutant("release charged before it is refused", folder.charged_before_refusing, published.refusals_cost_nothing),
    Mutant("rehearsal marked private", folder.rehearsal_marked_private, published.rehearsals_say_so),
    Mutant(
        "tables of a rehearsal marked private", folder.tables_of_a_rehearsal_marked_private, published.rehearsals_say_so
    ),
    Mutant(
        "rehearsal under the release's name", folder.rehearsal_under_the_release_s_name, published.rehearsals_say_so
    ),
    Mutant(
        "rehearsal's noise in a release",
        folder.released_with_the_rehearsal_s_noise,
        published.noise_is_secure_and_fresh,
    ),
    Mutant("noisy values published clipped", folder.clipped_at_zero, published.noisy_values_are_published_as_drawn),
    Mutant("mean of two draws published", folder.mean_of_two_draws, published.noisy_values_are_published_as_drawn),
    Mutant("best of two draws published", folder.best_of_two_draws, published.noisy_values_are_published_as_drawn),
]
"""All of them. A bug that several checks should catch stands here once for each."""
