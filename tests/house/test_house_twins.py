"""Every compiled loop that is called from outside its file is compared with a slow, obvious twin."""

import ast
import re

import naive
import pytest
from parsed import ROOT, core
from test_house_names import functions

M_C_DUAL = "test_m_c_dual::test_value_and_gradient_are_those_of_the_definition"
M_C_SUMS = "test_m_c_dual::test_nodes_against_the_sums_of_the_leaves"
ROUNDED = "test_m_c_integers::test_the_gradient_is_what_regions_take_softly_rounded"
DIAGONAL = "test_m_c_preconditioner::test_the_tree_diagonal_is_what_it_says"
FACTORS = "test_m_h_flow_network::test_factors_are_exact_on_a_tree_and_keep_the_sums_of_rows_or_the_diagonal"
AGGREGATES = "test_m_h_flow_network::test_the_preconditioner_adds_up_vertices_and_whole_aggregates"
TREE_PRICES = "test_nearest_tree::test_prices_are_those_at_which_regions_take_what_their_children_take"
BOUNDED_PRICES = "test_nearest_tree_bounds::test_prices_are_those_at_which_regions_take_what_their_children_take"
LEARNED = "test_posterior_learned::test_derivatives_are_those_of_the_definition"
FLOWS = "test_m_h_flow_network::test_any_prices_and_flows_to_start_from_give_an_optimum"

TWINS = {
    "engines.isotonic_kernel": {
        "isotonic_l2_rows": ("naive.isotonic_l2", "test_isotonic::test_equals_exact_fractions"),
        "l2_blocks": "test_isotonic::test_runs_equal_the_rows",
        "l2_min_max": ("naive.isotonic_l2", "test_isotonic::test_min_max_equals_exact_fractions"),
        "l2_blocks_within": "test_isotonic::test_bounds_of_cells_equal_brute_force",
        "l1_smallest": "test_isotonic::test_l1_equals_brute_force",
        "l1_middle_rows": "test_isotonic::test_middles_of_rows_are_those_of_vectors",
    },
    "reconciling.messages_kernel": {
        "upward downward describe": "test_reconciling_posterior::test_equals_enumeration",
        "draw": "test_reconciling_posterior::test_draws_have_the_law_of_whole_tables",
    },
    "algorithms.m_h_flow.selection_kernel": {
        "keep_large": "test_m_h_flow_network::test_rows_keep_what_is_above_their_threshold",
        "offer": "test_m_h_flow_network::test_cells_are_added_where_one_unit_pays",
    },
    "estimators.matching.kernel": {
        "match_runs": ("naive.matched_runs", "test_matching::test_runs_equal_fractions_group_size_by_group_size"),
    },
    "estimators.posterior.chain_kernel": {
        "forward_backward": "test_posterior_chain::test_equals_brute_force",
        "draw": "test_posterior_chain::test_draws_have_the_posterior_law",
    },
    "estimators.posterior.dispersion_kernel": {
        "derivatives": "test_posterior_dispersion::test_the_slope_is_that_of_the_evidence",
    },
    "estimators.posterior.elementary_kernel": {"exp log log_mass": "test_posterior_learned::test_elementary_functions"},
    "estimators.posterior.prior_fit_kernel": {
        "derivatives": ("naive.covariances_of_counts", LEARNED),
        "complete_information of_softmax add_information prior_means": LEARNED,
    },
    "estimators.posterior.elimination_kernel": {
        "family_eliminated": "test_posterior_learned::test_a_step_is_that_of_one_dense_system",
        "factorised inverse_of with_covariance": "test_posterior_learned::test_an_inverse_is_one",
    },
    "estimators.posterior.prior_error_kernel": {
        "mean_errors": "test_posterior_draws::test_errors_of_means_are_those_of_matrices",
    },
    "algorithms.tree_rounding.kernel": {"share": "test_tree_rounding::test_equals_interpolation_and_sorting"},
    "algorithms.m_c.integers_kernel": {
        "fit_leaves fit_nodes": ("naive.cumulative_dual", ROUNDED),
        "fit_bounded_leaves": "test_m_c_integers::test_soft_fits_within_bounds_are_the_real_ones_rounded",
        "settle": "test_m_c_integers::test_a_leaf_settles_where_all_vectors_say",
        "tail_costs": "test_m_c_integers::test_tails_against_every_start",
    },
    "algorithms.m_c.moves_kernel": {"group_moves": "test_m_c_integers::test_moves_are_all_that_cost_little"},
    "algorithms.m_c.squares_kernel": {
        "fit_leaves fit_nodes": ("naive.cumulative_dual", M_C_DUAL),
        "fit_bounded_leaves": (
            "naive.bounded_chain_minimum_l2",
            "test_m_c_dual::test_leaves_with_bounds_of_cells_are_the_definitions",
        ),
        "push push_within": "test_m_c_integers::test_a_leaf_settles_where_all_vectors_say",
        "node_costs": ("naive.CellCosts", M_C_SUMS),
    },
    "algorithms.m_c.tree_kernel": {
        "gradient expand": ("naive.cumulative_dual", M_C_DUAL),
        "sums_beyond": ("naive.cumulative_dual", M_C_SUMS),
        "multiply": ("naive.curvature", "test_m_c_dual::test_products_with_the_hessian"),
        "diagonal eliminate advance carry_up carry_down": ("naive.curvature", DIAGONAL),
    },
    "bounds.boxes_kernel": {
        "best_boxes": ("naive.best_chain_of_boxes", "test_bounds_lower_bound::test_chains_are_the_best_of_all"),
    },
    "certificates.chain_kernel": {
        "chain_closes": "test_certificates_regions_alone::test_chain_equals_brute_force",
        "chain_multipliers": ("naive.isotonic_l2", "test_certificates_regions_alone::test_any_estimate_gives_a_bound"),
    },
    "certificates.potentials_kernel": {
        "settle": ("naive.has_negative_cycle", "test_certificates_lagrangian::test_potentials_equal_brute_force"),
    },
    "certificates.priced_chain_kernel": {
        "bound_l2_rows": (
            "naive.priced_chain_minimum_l2",
            "test_certificates_lagrangian::test_priced_squares_of_a_chain",
        ),
        "fit_l1_rows": (
            "naive.priced_chain_minimum",
            "test_certificates_lagrangian::test_priced_absolute_values_of_a_chain",
        ),
    },
    "privacy.laws.inversion_kernel": {
        "add_noise": "test_laws_double_geometric::test_ordinary_words_equal_the_exact_law",
        "add_in_strips": "test_laws_discrete_gaussian::test_forced_words_of_wide_laws_equal_the_exact_law",
    },
    "engines.nearest_tree.kernel": {
        "find_prices continuous_point": ("naive.taken_at", TREE_PRICES),
        "merge_steps distribute": "test_m_h_projection::test_equals_brute_force",
    },
    "engines.nearest_tree.bounded_kernel": {
        "tighten": "test_nearest_tree_bounds::test_intervals_equal_brute_force",
        "merge_breakpoints find_prices": BOUNDED_PRICES,
    },
    "engines.convex_flow.kernel": {
        "balance": "test_engines_convex_flow::test_equals_exhaustive_search_and_proves_itself",
    },
    "engines.quadratic_flow.balance_kernel": {
        "balance": "test_m_h_flow_balance::test_every_set_is_moved_to_where_it_is_balanced",
    },
    "engines.quadratic_flow.exchange_kernel": {
        "take search neighbours neighbour length_of longer push pop": FLOWS,
    },
    "engines.quadratic_flow.newton_kernel": {
        "demand": "test_m_h_flow_network::test_relaxed_prices_balance_every_vertex",
        "factorise": FACTORS,
        "multiply advance": AGGREGATES,
    },
    "engines.quadratic_flow.phase_kernel": {
        "phase": FLOWS,
    },
    "synthesis.queries.answers_kernel": {
        "count": "test_synthesis_queries::test_counts_equal_loops_over_groups_persons_and_relatives",
    },
    "tables.csv_records_kernel": {
        "scan_records": "test_tables_csv_files::test_csv_rows_are_those_of_pythons_csv_module",
    },
}
"""Module and kernels -> the test that compares them with their twin, and its name where it is in `naive`."""


def test_every_kernel_has_a_twin():
    called = kernels_called_elsewhere()
    assert sum(map(len, called.values())) > 40
    assert {module: set(" ".join(twins).split()) for module, twins in TWINS.items()} == called


@pytest.mark.parametrize("module", TWINS)
def test_every_twin_and_its_test_exist(module):
    for kernel, told in TWINS[module].items():
        twin, shown = ("", told) if isinstance(told, str) else told
        file, function = shown.split("::")
        assert function in (functions(file) or ()), f"{module}.{kernel}: no test {shown}"
        if twin:
            assert hasattr(naive, twin.removeprefix("naive.")), f"{module}.{kernel}: no {twin}"
            source = next((ROOT / "tests").glob(f"*/{file}.py")).read_text()
            assert f"{twin}(" in source, f"{shown} does not use {twin}"


def kernels_called_elsewhere() -> dict[str, set[str]]:
    """The compiled functions of every `*kernel.py` of pgsr that another file names."""
    compiled = {dotted(file): names for file, tree in core().items() if (names := compiled_functions(tree))}
    called: dict[str, set[str]] = {}
    for file, tree in core().items():
        modules: dict[str, set[str]] = {}  # alias -> what it may stand for somewhere in this file
        nodes = list(ast.walk(tree))
        for node in nodes:
            if isinstance(node, ast.ImportFrom) and node.module:
                assert node.level == 0, f"{file} imports relatively"
                for name in node.names:
                    if name.name in compiled.get(node.module, ()):
                        called.setdefault(node.module, set()).add(name.name)
                    modules.setdefault(name.asname or name.name, set()).add(f"{node.module}.{name.name}")
        for node in nodes:
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                for module in modules.get(node.value.id, set()) & set(compiled):
                    if node.attr in compiled[module]:
                        called.setdefault(module, set()).add(node.attr)
    return {module.removeprefix("pgsr."): names for module, names in called.items()}


def compiled_functions(tree: ast.Module) -> set[str]:
    functions = (node for node in tree.body if isinstance(node, ast.FunctionDef))
    return {
        f.name
        for f in functions
        if re.search("compiled|inlined|uncounted", " ".join(map(ast.unparse, f.decorator_list)))
    }


def dotted(file: str) -> str:
    return file.removesuffix(".py").replace("/", ".")
