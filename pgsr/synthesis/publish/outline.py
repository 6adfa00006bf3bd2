"""Tell what a configuration would synthesise, before a private table is opened and without a charge."""

from os import PathLike

from pgsr.release.ledger import LedgerFile
from pgsr.release.publishing.configuration.sources import is_there, name_of
from pgsr.synthesis.publish import folder as files
from pgsr.synthesis.publish.config import SynthesisConfig
from pgsr.synthesis.publish.given_sizes import GivenSizes
from pgsr.synthesis.publish.preflight import require_makeable, sizes_of
from pgsr.synthesis.queries.transcript import IN_WORDS, IN_WORDS_OF_GROUPS
from pgsr.synthesis.queries.workload import Level


def outline(config: SynthesisConfig, sizes: str | PathLike[str] | None = None) -> list[tuple[str, str]]:
    """Outline what would be synthesised: pairs of a thing and what there is to say of it, in order.

    All is refused that `synthesize` refuses before it opens a private table, a ledger that is not there yet excepted.
    Nothing is opened but public tables, and nothing is charged or written.

    Args:
        config: the configuration.
        sizes: release folder or table of counts, as `synthesize` takes it.

    Raises:
        PgsrError: the synthesis would be refused; the error lists all that was found.

    Shown by `tests/test_synthesis_charge.py`.
    """
    given = sizes_of(config, sizes)
    there_is = config.ledger is not None and config.ledger.exists()
    require_makeable(config, given, ledger=there_is)
    domain, budget = config.domain, config.budget
    words = IN_WORDS_OF_GROUPS if config.unit.is_group else IN_WORDS
    roles = ", ".join(f"{role.least} to {role.most} {role.name}" for role in domain.roles)
    return [
        ("data set", config.data_set),
        ("method", f"{files.METHOD}: {_measured(config)}"),
        ("households", _attributes(config, "group")),
        ("persons", _attributes(config, "individual")),
        ("sizes", f"{domain.min_size} to {domain.max_size} persons: {roles}"),
        ("budget", f"epsilon {budget.epsilon} and delta {budget.delta}, which are rho {float(budget.rho):.6g}"),
        ("neighbours", words[config.neighbours]),
        ("exact", "published without noise: the number of households"),
        *([("", config.published_exactly)] if config.published_exactly else []),
        ("reads", f"{name_of(config.households)} ({_private(config.households)})"),
        ("", f"{name_of(config.persons)} ({_private(config.persons)})"),
        *([("", f"{sizes} (public)")] if sizes is not None else []),
        ("samples", _sample(config, given)),
        ("writes", f"{config.output}: {', '.join(files.FILES)}"),
        ("ledger", _UNPAID if config.ledger is None else LedgerFile(config.ledger).rest),
        ("signed with", str(config.sign) if config.sign else "nothing"),
    ]


_UNPAID = "none is named, and only a rehearsal goes without"


def _measured(config: SynthesisConfig) -> str:
    """Say what gets noise."""
    method, domain = config.method(), config.domain
    single, candidates = method.marginals(domain, config.neighbours)
    of_groups = sum(m.level is Level.GROUP for m in single)
    return (
        f"all {len(single)} marginals of one attribute ({of_groups} of households, {len(single) - of_groups} of "
        f"persons) are measured for {method.first} of rho, then the worst of {len(candidates):,} marginals of up to "
        f"{config.k}, {method.batch} at a time"
    )


def _attributes(config: SynthesisConfig, of: str) -> str:
    listed = getattr(config.domain, of)
    return ", ".join(f"{attribute.name} ({len(attribute)} values)" for attribute in listed) or "no attributes"


def _private(table: object) -> str:
    return f"private, not opened here{'' if is_there(table) else '; NOT THERE'}"


def _sample(config: SynthesisConfig, given: GivenSizes | None) -> str:
    if given is not None:
        return f"{int(given.counts.totals[0]):,} households, by region and size those of the sizes"
    return "as many households as there are" if config.groups is None else f"{config.groups:,} households"
