"""The planted privacy bugs, each with the check that has to fail on it.

To add one: a function that takes pytest's MonkeyPatch and plants the bug, a check that raises AssertionError, and a
line in `MUTANTS`. No check is made for one bug: each states what has to hold of any code. Bugs and checks come by what
they are about:

    budget, bytes, law: planted_bugs            truth that leaks: planted_leaks        small_checks, law_checks
    sources, numbers of draws: planted_draws    stream_checks, blind_checks
    levels at once, many sizes: planted_levels  level_checks, stream_checks, release_checks
    files of a release: planted_publications    release_checks
    whatever else it leaves: planted_traces     trace_checks, interference_checks
    adaptive fits: planted_fits                 synthesis_checks
    what noise costs: planted_amounts           accounting_checks, small_checks
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import accounting_checks as accounts
import blind_checks as blind
import interference_checks as apart
import law_checks as laws
import level_checks as levels
import numpy as np
import planted_amounts as amounts
import planted_bugs as bugs
import planted_draws as draws
import planted_fits as fits
import planted_leaks as leaks
import planted_levels as leveled
import planted_publications as folder
import planted_traces as traces
import release_checks as published
import small_checks as checks
import stream_checks as streams
import synthesis_checks as synthesis
import trace_checks as left_behind
from pytest import MonkeyPatch  # noqa: PT013


@dataclass(frozen=True)
class Mutant:
    """A bug, how it is planted, and a function that raises AssertionError while it is there."""

    name: str
    plant: Callable[[MonkeyPatch], object]
    killer: Callable[[], object]


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
    Mutant("no noise for equal cells", leaks.nothing_for_equal_cells, checks.r6_split_views_are_boxes),
    Mutant("rows begin one size lower", leaks.rows_from_one_size_lower, checks.r6_losses_of_split_views),
    Mutant("rows begin one size lower, by boxes", leaks.rows_from_one_size_lower, checks.r6_split_views_are_boxes),
    Mutant("columns end one size higher", leaks.columns_to_one_size_higher, checks.r6_losses_of_split_views),
    Mutant("boxes counted twice", leaks.whole_sizes_as_rows, checks.r6_losses_of_split_views),
    Mutant("rows of larger groups alone", leaks.rows_of_groups_that_are_larger, checks.r6_losses_of_split_views),
    Mutant("no noise for empty regions", leaks.nothing_for_empty_regions, checks.r6_every_cell_is_noised),
    Mutant("K from the data", leaks.sizes_up_to_the_largest_that_occurs, checks.r6_losses),
    Mutant("views chosen by true sizes", leaks.views_by_true_sizes, checks.r6_views_hang_on_public_facts),
    Mutant("totals of regions carried along", leaks.totals_of_regions_for_the_root, checks.r6_public_facts_only),
    Mutant("exact totals for noisy ones", leaks.exact_totals_for_noisy_ones, checks.r7_likelihood_with_noisy_totals),
    Mutant("ranked sizes tell totals", leaks.ranked_without_public_totals, checks.ranked_needs_public_totals),
    Mutant("true smallest size as bound", leaks.true_smallest_size, checks.r8_replay),
    Mutant("post-processing looks at the truth", leaks.peeking(leaks.empty_where_the_truth_is), checks.r8_replay),
    Mutant("warm start from the truth", leaks.peeking(leaks.warm_start), checks.r8_replay),
    Mutant("a copy of the truth is kept", leaks.kept_truth, checks.r8_replay),
    Mutant(
        "hash of the input in the manifest", folder.hash_of_the_input, published.assert_files_follow_from_noisy_values
    ),
    Mutant("true error in the manifest", folder.true_error, published.assert_files_follow_from_noisy_values),
    Mutant("number of rows in the manifest", folder.number_of_rows, published.assert_files_follow_from_noisy_values),
    Mutant(
        "number of clipped groups in the manifest",
        folder.number_of_clipped_groups,
        published.assert_files_follow_from_noisy_values,
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
    Mutant("number of rows in the readme", folder.rows_in_the_readme, published.assert_files_follow_from_noisy_values),
    Mutant(
        "thresholds stated one higher",
        folder.thresholds_stated_one_higher,
        published.split_views_are_those_of_the_file,
    ),
    Mutant("no noise for ranks", folder.ranks_without_noise, published.split_views_are_those_of_the_file),
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
    # Where noise comes from, and how often it is drawn.
    Mutant(
        "seeded noise when the system gives none",
        draws.seeded_when_there_are_no_bytes,
        streams.noise_is_the_operating_system_s,
    ),
    Mutant("a key of two random bytes", draws.key_of_two_bytes, streams.noise_is_the_operating_system_s),
    Mutant("a key of a general generator", draws.key_of_a_general_generator, streams.noise_is_the_operating_system_s),
    Mutant("keys of a pool, by the bytes", draws.keys_of_a_pool, streams.noise_is_the_operating_system_s),
    Mutant("keys of a pool, by two processes", draws.keys_of_a_pool, streams.processes_share_no_noise),
    Mutant("candidates share noise, by streams", draws.candidates_with_one_noise, streams.streams_are_asked_for_once),
    Mutant("candidates share noise, by values", draws.candidates_with_one_noise, streams.candidates_are_told_apart),
    Mutant("candidates claim privacy", draws.candidates_that_claim_privacy, streams.claims_are_those_of_the_source),
    Mutant(
        "totals with the noise of counts", draws.totals_with_the_noise_of_counts, streams.streams_are_asked_for_once
    ),
    Mutant("measured until plausible", draws.measured_until_plausible, streams.streams_are_asked_for_once),
    Mutant("drawn until plausible", draws.drawn_until_plausible, streams.noise_is_the_draws_of_its_stream),
    Mutant(
        "the last of many regions exact", draws.last_of_many_regions_exact, streams.many_regions_draw_their_own_noise
    ),
    Mutant(
        "the last of many regions exact, sizes per level",
        draws.last_of_many_regions_exact_by_level,
        streams.many_regions_draw_their_own_noise,
    ),
    Mutant("blocks of a level without noise", leveled.blocks_after_the_first_exact, levels.every_block_gets_noise),
    Mutant(
        "the law of the level above",
        leveled.law_of_the_level_above,
        levels.a_nation_in_parts_has_the_law_of_each_level,
    ),
    Mutant(
        "a root of many sizes nearer to the truth",
        leveled.root_nearer_to_the_truth,
        streams.noise_is_the_draws_of_its_stream,
    ),
    Mutant(
        "a root of many sizes without negative values",
        leveled.root_without_negative_values,
        published.noisy_values_are_published_as_drawn,
    ),
    Mutant("a choice without noise", draws.choice_without_noise, streams.noise_is_the_draws_of_its_stream),
    Mutant("secure streams remembered", draws.streams_remembered, checks.r5_secure_is_secure),
    Mutant("secure streams remembered, by two releases", draws.streams_remembered, published.noise_is_secure_and_fresh),
    # Charging.
    Mutant("noisy totals for nothing", draws.totals_for_nothing, checks.ledger_is_charged_first),
    Mutant("choices charged after drawing", draws.choices_charged_afterwards, checks.ledger_is_charged_first),
    # The law.
    Mutant("noise clipped at zero", draws.noise_clipped_at_zero, checks.r3_law_of_measurements),
    Mutant("noise clipped at zero, by draws", draws.noise_clipped_at_zero, streams.noise_is_the_draws_of_its_stream),
    Mutant("negative values clipped", draws.negative_values_clipped, streams.noise_is_the_draws_of_its_stream),
    Mutant("tails cut off", draws.tails_cut_off, checks.r2_ties),
    Mutant("thresholds cut at 2^20 sizes", draws.thresholds_cut_at_2_to_the_20, checks.r1_thresholds_of_large_scales),
    Mutant("scale from the data, by losses", draws.scale_from_the_data, checks.r6_losses),
    Mutant("scale from the data, by any data", draws.scale_from_the_data, blind.measurements_are_blind),
    Mutant("scale from the vector", draws.scale_from_the_vector, streams.noise_is_the_draws_of_its_stream),
    Mutant("a level's share in floats", draws.level_in_floats, checks.r6_losses),
    Mutant(
        "epsilon of totals on every level, by losses",
        draws.totals_epsilon_on_every_level,
        laws.check_values_lose_no_more_beside_noisy_totals,
    ),
    Mutant(
        "epsilon of totals on every level, by likelihood",
        draws.totals_epsilon_on_every_level,
        checks.r7_likelihood_with_noisy_totals,
    ),
    Mutant(
        "epsilon of totals on every level, by the law",
        draws.numbers_epsilon_on_every_level,
        laws.check_noisy_totals_lose_their_epsilon,
    ),
    Mutant(
        "all of epsilon beside noisy totals",
        draws.values_epsilon_not_reduced,
        laws.check_values_lose_no_more_beside_noisy_totals,
    ),
    Mutant(
        "true totals beside noisy ones",
        draws.totals_ignored_by_vectors,
        laws.check_values_lose_no_more_beside_noisy_totals,
    ),
    Mutant("an entity's quantity ignored, by likelihood", leaks.quantities_ignored, checks.r7_likelihood_of_quantities),
    Mutant(
        "an entity's quantity ignored, by scales",
        leaks.quantities_ignored,
        left_behind.scales_are_those_that_are_published,
    ),
    # What is measured, and what is public.
    Mutant("K from a quantile, by any data", draws.largest_size_by_quantile, blind.measurements_are_blind),
    Mutant("K from a quantile, by the mechanism", draws.largest_size_by_quantile, blind.mechanisms_are_blind),
    Mutant(
        "K of the tables from a quantile", traces.largest_size_by_quantile, left_behind.a_release_leaves_the_same_traces
    ),
    Mutant(
        "K of the tables from the data",
        traces.sizes_up_to_the_largest_filled,
        left_behind.every_public_size_is_measured,
    ),
    Mutant(
        "K of the tables from the data, sizes per level",
        traces.sizes_up_to_the_largest_filled_by_level,
        left_behind.every_public_size_is_measured,
    ),
    Mutant("a dull level skipped", draws.dull_level_skipped, blind.measurements_are_blind),
    Mutant("unmeasured levels exact", draws.unmeasured_levels_exact, blind.measurements_are_blind),
    Mutant("exact totals of regions", draws.totals_of_regions_exact, blind.measurements_are_blind),
    Mutant("regions sorted by true size", traces.regions_sorted_by_size, left_behind.a_release_leaves_the_same_traces),
    Mutant("small regions emptied", traces.small_regions_emptied, left_behind.neighbouring_tables_change_one_cell),
    Mutant("outliers made usual", traces.outliers_made_usual, left_behind.neighbouring_tables_change_one_cell),
    Mutant("ties of the matching broken by the truth", draws.ties_broken_by_the_truth, blind.mechanisms_are_blind),
    Mutant("true error in the reason", draws.error_in_the_reason, blind.mechanisms_are_blind),
    # What a release leaves behind.
    Mutant("rows on standard output", traces.rows_on_standard_output, left_behind.a_release_leaves_the_same_traces),
    Mutant("rows on standard error", traces.rows_on_standard_error, left_behind.a_release_leaves_the_same_traces),
    Mutant("rows written below Python", traces.rows_below_python, left_behind.a_release_leaves_the_same_traces),
    Mutant("rows in a warning", traces.rows_in_a_warning, left_behind.a_release_leaves_the_same_traces),
    Mutant(
        "rows told to whoever listens", traces.rows_to_whoever_listens, left_behind.a_release_leaves_the_same_traces
    ),
    Mutant("a warning of large groups", traces.warning_of_large_groups, left_behind.a_release_leaves_the_same_traces),
    Mutant("rows in the exit code", traces.rows_in_the_exit_code, left_behind.a_release_leaves_the_same_traces),
    Mutant(
        "an exit code for few rows",
        traces.exit_code_if_there_are_few_rows,
        left_behind.a_release_leaves_the_same_traces,
    ),
    Mutant(
        "rows in the hidden folder's name",
        traces.rows_in_the_hidden_folder_s_name,
        left_behind.a_release_leaves_the_same_traces,
    ),
    Mutant("rows in a file name", traces.rows_in_a_file_name, left_behind.a_release_leaves_the_same_traces),
    Mutant("a table left behind", traces.table_left_behind, left_behind.a_release_leaves_the_same_traces),
    Mutant("rows as modification time", traces.rows_as_modification_time, left_behind.a_release_leaves_the_same_traces),
    Mutant("rows in permissions", traces.rows_in_permissions, left_behind.a_release_leaves_the_same_traces),
    Mutant(
        "rows as size of row groups", traces.rows_as_size_of_row_groups, left_behind.a_release_leaves_the_same_traces
    ),
    Mutant("rows in created_by", traces.rows_in_created_by, left_behind.a_release_leaves_the_same_traces),
    Mutant(
        "compressed by the number of rows",
        traces.compressed_by_the_number_of_rows,
        left_behind.a_release_leaves_the_same_traces,
    ),
    Mutant(
        "rows between columns of a Parquet file",
        traces.rows_between_columns,
        left_behind.a_release_leaves_the_same_traces,
    ),
    Mutant(
        "bytes between columns not looked at",
        traces.columns_not_looked_between,
        published.nothing_hides_in_parquet_files,
    ),
    Mutant("bytes after pages not looked at", traces.pages_not_looked_at, published.nothing_hides_in_parquet_files),
    Mutant(
        "memory by the filled cells", traces.memory_by_the_filled_cells, apart.memory_is_asked_for_by_public_numbers
    ),
    Mutant("rows of zeros decided by the truth", traces.rows_of_zeros_by_the_truth, apart.releases_do_not_interfere),
    Mutant("a release charged although refused", traces.charged_although_refused, published.refusals_cost_nothing),
    Mutant(
        "drawn with more than is charged",
        traces.drawn_with_more_than_charged,
        left_behind.scales_are_those_that_are_published,
    ),
    # Adaptive fits.
    Mutant("a fit stopped by the truth", fits.stopped_by_the_truth, synthesis.fits_are_blind),
    Mutant("selections for nothing", fits.selections_for_nothing, synthesis.fits_are_blind),
    Mutant("a fit charged at the end", fits.charged_at_the_end, synthesis.rounds_are_charged_first),
    Mutant("half the sensitivity of a fit", fits.half_the_sensitivity, synthesis.rounds_cost_what_is_charged),
    Mutant("no noise for empty cells of a fit", fits.no_noise_for_empty_cells, synthesis.fits_are_blind),
    Mutant("the true number of persons", fits.true_number_of_persons, synthesis.fits_are_blind),
    Mutant("the worst query by the truth", fits.best_query_by_the_truth, synthesis.fits_are_blind),
    # What noise costs.
    Mutant("rho of Laplace noise", amounts.rho_of_laplace_noise, accounts.rho_is_exact_and_rounded_up),
    Mutant("rho of Laplace noise, by likelihood", amounts.rho_of_laplace_noise, accounts.likelihoods_keep_every_budget),
    Mutant("rho = epsilon^2 / 2", amounts.rho_of_pure_epsilon, accounts.rho_is_exact_and_rounded_up),
    Mutant("rho of one cell", amounts.rho_of_one_cell, accounts.rho_is_exact_and_rounded_up),
    Mutant("rho rounded down", amounts.rho_rounded_down, accounts.rho_is_exact_and_rounded_up),
    Mutant("Gaussian rho of the L1 norm", amounts.gaussian_rho_of_the_l1_norm, accounts.rho_is_exact_and_rounded_up),
    Mutant(
        "epsilon of a rho rounded up", amounts.epsilon_of_rho_rounded_up, accounts.the_largest_epsilon_of_a_rho_fits
    ),
    Mutant("chances of losses rounded down", amounts.chances_rounded_down, accounts.bounds_of_delta_enclose_it),
    Mutant("delta rounded down", amounts.delta_rounded_down, accounts.bounds_of_delta_enclose_it),
    Mutant("epsilon rounded down", amounts.epsilon_of_delta_rounded_down, accounts.deltas_are_exact_and_rounded_up),
    Mutant("losses moved down", amounts.losses_moved_down, accounts.bounds_of_delta_enclose_it),
    Mutant("a level left out of delta", amounts.a_level_left_out, accounts.deltas_are_exact_and_rounded_up),
    Mutant("a level left out of the choice", amounts.a_level_left_out, accounts.chosen_noise_keeps_the_budget),
    Mutant(
        "half the sensitivity of geometric noise",
        amounts.half_the_sensitivity_of_geometric_noise,
        accounts.likelihoods_keep_every_budget,
    ),
    Mutant(
        "half the sensitivity of Gaussian noise",
        amounts.half_the_sensitivity_of_gaussian_noise,
        accounts.likelihoods_keep_every_budget,
    ),
    Mutant(
        "half the sensitivity of counts", amounts.half_the_sensitivity_of_counts, accounts.chosen_noise_keeps_the_budget
    ),
    Mutant(
        "larger changes taken for changes by one",
        amounts.larger_changes_taken_for_changes_by_one,
        accounts.deltas_are_exact_and_rounded_up,
    ),
    Mutant(
        "the least of several changes", amounts.the_least_of_several_changes, accounts.deltas_are_exact_and_rounded_up
    ),
    Mutant("Gaussian sigma + 1 %", amounts.sigma_times(Fraction(101, 100)), checks.r3_gaussian_law_of_measurements),
    Mutant("Gaussian sigma - 1 %", amounts.sigma_times(Fraction(99, 100)), checks.r3_gaussian_law_of_measurements),
    Mutant("sigma for sigma^2, by the law", amounts.sigma_for_its_square, checks.r3_gaussian_law_of_measurements),
    Mutant("sigma for sigma^2, by likelihood", amounts.sigma_for_its_square, accounts.likelihoods_keep_every_budget),
    Mutant(
        "half the sensitivity of Gaussian noise, by the law",
        amounts.half_the_sensitivity_of_gaussian_noise,
        checks.r3_gaussian_law_of_measurements,
    ),
    Mutant(
        "the first of several changes", amounts.the_first_of_several_changes, accounts.likelihoods_keep_every_budget
    ),
]
"""All of them. A bug that several checks should catch stands here once for each."""
