"""The planted privacy bugs, each with the check that has to fail on it.

To add one: a function that takes pytest's MonkeyPatch and plants the bug, and its name in `MUTANTS` beside a check that
raises AssertionError. No check is made for one bug: each states what has to hold of any code. Bugs and checks come by
what they are about:

    budget, bytes, law: planted_bugs            truth that leaks: planted_leaks        small_checks, law_checks
    sources, numbers of draws: planted_draws    stream_checks, blind_checks
    levels at once, many sizes: planted_levels  level_checks, stream_checks, release_checks
    files of a release: planted_publications    release_checks
    whatever else it leaves: planted_traces     trace_checks, interference_checks
    adaptive fits: planted_fits                 synthesis_checks
    what noise costs: planted_amounts           accounting_checks, small_checks
"""

from collections.abc import Callable
from fractions import Fraction

import accounting_checks as accounts
import blind_checks as blind
import interference_checks as apart
import law_checks as laws
import ledger_checks as ledgers
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

Plant = Callable[[MonkeyPatch], object]

MUTANTS: dict[Callable[[], object], list[Plant]] = {
    checks.r6_levels_add_up: [bugs.float_split],
    checks.bad_epsilons_are_refused: [bugs.float_by_its_bits, bugs.infinite_epsilon],
    checks.r6_losses: [
        bugs.whole_epsilon_on_every_level, leaks.sensitivity_1_of_counts, leaks.without_size_0,
        leaks.clipped_at_the_mean_of_the_data, leaks.group_in_two_leaves, leaks.sizes_up_to_the_largest_that_occurs,
        draws.scale_from_the_data, draws.level_in_floats,
    ],
    checks.ledger_is_exact: [bugs.ledger_in_floats],
    checks.ledger_is_charged_first: [
        bugs.charged_after_drawing, bugs.charged_before_refusing, draws.totals_for_nothing,
        draws.choices_charged_afterwards,
    ],
    checks.choices_are_paid_for: [bugs.best_of_two_at_the_price_of_one, bugs.statistic_for_nothing],
    checks.r5_noise_is_used_once: [
        bugs.one_seed_for_all_regions, bugs.one_seed_from_the_fourth_level_down, bugs.one_seed_for_all_views,
        bugs.one_seed_for_all_data_sets,
        bugs.one_seed_for_all_replicates, bugs.one_draw_per_region,
    ],
    checks.r5_secure_is_secure: [bugs.secure_with_a_seed, bugs.seeded_that_claims_privacy, draws.streams_remembered],
    checks.r3_law_of_measurements: [
        bugs.scale_times(Fraction(101, 100)), bugs.scale_times(Fraction(99, 100)), bugs.zero_twice,
        bugs.rounded_laplace, bugs.noise_of_one_sign, leaks.sensitivity_1_of_counts, draws.noise_clipped_at_zero,
    ],
    checks.r1_thresholds: [bugs.thresholds_of_another_scale],
    checks.r2_ties: [bugs.ties_without_more_bits, draws.tails_cut_off],
    checks.r7_likelihood: [leaks.sensitivity_1_of_counts, leaks.without_size_0],
    checks.r6_losses_of_quantities: [leaks.quantities_ignored],
    checks.r6_integers: [leaks.vector_in(np.int32), leaks.vector_in(np.float64)],
    checks.r6_every_cell_is_noised: [leaks.nothing_for_empty_cells, leaks.nothing_for_empty_regions],
    checks.r6_split_views_are_boxes: [leaks.nothing_for_equal_cells, leaks.rows_from_one_size_lower],
    checks.r6_losses_of_split_views: [
        leaks.rows_from_one_size_lower, leaks.columns_to_one_size_higher, leaks.whole_sizes_as_rows,
        leaks.rows_of_groups_that_are_larger, leaks.quantities_ignored_by_split_views,
    ],
    checks.r6_views_hang_on_public_facts: [leaks.views_by_true_sizes],
    checks.r6_shares_hang_on_the_noisy_root: [
        leaks.shares_by_the_true_root, bugs.second_step_of_twice_what_is_left, draws.root_drawn_anew,
    ],
    checks.r6_public_facts_only: [leaks.totals_of_regions_for_the_root],
    checks.r7_likelihood_with_noisy_totals: [leaks.exact_totals_for_noisy_ones, draws.totals_epsilon_on_every_level],
    checks.ranked_needs_public_totals: [leaks.ranked_without_public_totals],
    checks.r8_replay: [
        leaks.true_smallest_size, leaks.peeking(leaks.empty_where_the_truth_is), leaks.peeking(leaks.warm_start),
        leaks.kept_truth,
    ],
    checks.r1_thresholds_of_large_scales: [draws.thresholds_cut_at_2_to_the_20],
    checks.r7_likelihood_of_quantities: [leaks.quantities_ignored],
    checks.r3_gaussian_law_of_measurements: [
        amounts.sigma_times(Fraction(101, 100)), amounts.sigma_times(Fraction(99, 100)), amounts.sigma_for_its_square,
        amounts.half_the_sensitivity_of_gaussian_noise,
    ],
    laws.check_values_lose_no_more_beside_noisy_totals: [
        draws.totals_epsilon_on_every_level, draws.values_epsilon_not_reduced, draws.totals_ignored_by_vectors,
    ],
    laws.check_noisy_totals_lose_their_epsilon: [draws.numbers_epsilon_on_every_level],
    blind.measurements_are_blind: [
        draws.scale_from_the_data, draws.largest_size_by_quantile, draws.dull_level_skipped,
        draws.unmeasured_levels_exact, draws.totals_of_regions_exact,
    ],
    blind.mechanisms_are_blind: [
        draws.largest_size_by_quantile, draws.ties_broken_by_the_truth, draws.error_in_the_reason,
    ],
    streams.noise_is_the_operating_system_s: [
        draws.seeded_when_there_are_no_bytes, draws.key_of_two_bytes, draws.key_of_a_general_generator,
        draws.keys_of_a_pool,
    ],
    streams.processes_share_no_noise: [draws.keys_of_a_pool],
    streams.streams_are_asked_for_once: [
        draws.candidates_with_one_noise, draws.totals_with_the_noise_of_counts, draws.measured_until_plausible,
    ],
    streams.candidates_are_told_apart: [draws.candidates_with_one_noise],
    streams.claims_are_those_of_the_source: [draws.candidates_that_claim_privacy],
    streams.noise_is_the_draws_of_its_stream: [
        draws.drawn_until_plausible, leveled.root_nearer_to_the_truth, draws.choice_without_noise,
        draws.noise_clipped_at_zero, draws.negative_values_clipped, draws.scale_from_the_vector,
    ],
    streams.many_regions_draw_their_own_noise: [
        draws.last_of_many_regions_exact, draws.last_of_many_regions_exact_by_level, draws.last_of_many_cells_exact,
        draws.one_stream_of_many_cells,
    ],
    streams.levels_have_the_laws_of_their_own_sizes: [draws.law_of_the_last_level_s_sizes],
    ledgers.charges_are_on_the_disk: [folder.lines_not_put_on_the_disk],
    levels.every_block_gets_noise: [leveled.blocks_after_the_first_exact],
    levels.a_nation_in_parts_has_the_law_of_each_level: [leveled.law_of_the_level_above],
    published.assert_files_follow_from_noisy_values: [
        folder.hash_of_the_input, folder.true_error, folder.number_of_rows, folder.number_of_clipped_groups,
        folder.rows_in_the_readme,
    ],
    published.fields_are_those_that_may_be_published: [
        folder.largest_true_size, folder.seed, folder.timings_per_region,
    ],
    published.noise_is_secure_and_fresh: [
        folder.seed, folder.released_with_the_rehearsal_s_noise, draws.streams_remembered,
    ],
    published.split_views_are_those_of_the_file: [folder.thresholds_stated_one_higher, folder.ranks_without_noise],
    published.epsilon_is_charged_before_noise: [
        folder.charged_after_drawing, folder.charged_per_level, folder.given_back_after_a_failure,
    ],
    published.refusals_cost_nothing: [folder.charged_before_refusing, traces.charged_although_refused],
    published.rehearsals_say_so: [
        folder.rehearsal_marked_private, folder.tables_of_a_rehearsal_marked_private,
        folder.rehearsal_under_the_release_s_name,
    ],
    published.noisy_values_are_published_as_drawn: [
        folder.clipped_at_zero, folder.mean_of_two_draws, folder.best_of_two_draws,
        leveled.root_without_negative_values,
    ],
    published.nothing_hides_in_parquet_files: [traces.columns_not_looked_between, traces.pages_not_looked_at],
    left_behind.scales_are_those_that_are_published: [leaks.quantities_ignored, traces.drawn_with_more_than_charged],
    left_behind.a_release_leaves_the_same_traces: [
        traces.largest_size_by_quantile, traces.regions_sorted_by_size, traces.rows_on_standard_output,
        traces.rows_on_standard_error, traces.rows_below_python, traces.rows_in_a_warning,
        traces.rows_to_whoever_listens, traces.warning_of_large_groups, traces.rows_in_the_exit_code,
        traces.exit_code_if_there_are_few_rows, traces.rows_in_the_hidden_folder_s_name, traces.rows_in_a_file_name,
        traces.table_left_behind, traces.rows_as_modification_time, traces.rows_in_permissions,
        traces.rows_as_size_of_row_groups, traces.rows_in_created_by, traces.compressed_by_the_number_of_rows,
        traces.rows_between_columns,
    ],
    left_behind.every_public_size_is_measured: [
        traces.sizes_up_to_the_largest_filled, traces.sizes_up_to_the_largest_filled_by_level,
    ],
    left_behind.neighbouring_tables_change_one_cell: [traces.small_regions_emptied, traces.outliers_made_usual],
    apart.memory_is_asked_for_by_public_numbers: [traces.memory_by_the_filled_cells],
    apart.releases_do_not_interfere: [traces.rows_of_zeros_by_the_truth],
    synthesis.fits_are_blind: [
        fits.stopped_by_the_truth, fits.selections_for_nothing, fits.no_noise_for_empty_cells,
        fits.true_number_of_persons, fits.best_query_by_the_truth,
    ],
    synthesis.rounds_are_charged_first: [fits.charged_at_the_end],
    synthesis.rounds_cost_what_is_charged: [fits.half_the_sensitivity],
    accounts.rho_is_exact_and_rounded_up: [
        amounts.rho_of_laplace_noise, amounts.rho_of_pure_epsilon, amounts.rho_of_one_cell, amounts.rho_rounded_down,
        amounts.gaussian_rho_of_the_l1_norm,
    ],
    accounts.likelihoods_keep_every_budget: [
        amounts.rho_of_laplace_noise, amounts.half_the_sensitivity_of_geometric_noise,
        amounts.half_the_sensitivity_of_gaussian_noise, amounts.sigma_for_its_square,
        amounts.the_first_of_several_changes,
    ],
    accounts.the_largest_epsilon_of_a_rho_fits: [amounts.epsilon_of_rho_rounded_up],
    accounts.bounds_of_delta_enclose_it: [
        amounts.chances_rounded_down, amounts.delta_rounded_down, amounts.losses_moved_down,
    ],
    accounts.deltas_are_exact_and_rounded_up: [
        amounts.epsilon_of_delta_rounded_down, amounts.a_level_left_out,
        amounts.larger_changes_taken_for_changes_by_one, amounts.the_least_of_several_changes,
    ],
    accounts.chosen_noise_keeps_the_budget: [amounts.a_level_left_out, amounts.half_the_sensitivity_of_counts],
}  # fmt: skip
"""The bugs that each check finds. A bug that several checks should find stands once at each of them."""
