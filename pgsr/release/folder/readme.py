"""The file README.txt: a release in plain words, from its manifest alone."""

import textwrap
from typing import Any

from pgsr.release.folder import artefact, words
from pgsr.release.folder.columns import Column, counts_columns, measurement_columns, regions_columns
from pgsr.release.folder.manifest import plan_of
from pgsr.release.publishing import digests


def readme(manifest: dict[str, Any]) -> str:
    """Write the text of README.txt; the manifest determines it, so that a check can write it again."""
    plan, _ = plan_of(manifest)
    by_size = "size_class" if "max_size" in manifest["levels"][0] else "group_size"
    groups = plan.terms.publication.group_name
    tables = (
        (f"{artefact.COUNTS}, {artefact.COUNTS_CSV}", "the released counts", counts_columns(plan)),
        (artefact.REGIONS, "the regions", regions_columns(plan)),
        (artefact.MEASUREMENT, "the noisy values that the counts were computed from", measurement_columns(plan)),
    )
    used = ", ".join(f"{name} {value}" for name, value in manifest["versions"].items())
    parts, intervals = [words.title(manifest)], words.interval_sentence(manifest)
    if words.is_rehearsed(manifest):
        parts.append(_filled(words.REHEARSAL_WARNING))
    parts += [
        "WHAT THIS IS\n" + "\n".join(map(_filled, (_what(manifest), *words.publisher_sentences(manifest)))),
        *(["HOW FAR IT MAY BE FROM THE TRUTH\n" + _filled(intervals)] if intervals else []),
        "HOW TO ADD UP\n"
        + _filled(
            f"Regions of all levels are in one table, so the sum over all rows counts all {groups} once per level. "
            "Keep the rows with is_leaf = true, or those of one level, by level_name. In pandas:"
        )
        + "\n\n    counts = pandas.read_parquet('counts.parquet')\n"
        f"    counts[counts.is_leaf].groupby('{by_size}').n_groups.sum()",
        "THE TABLES\n" + "\n\n".join(_table(*table) for table in tables),
        "WHAT IS PROTECTED\n"
        + "\n".join(map(_filled, words.protection_sentences(manifest)))
        + "\n"
        + "\n".join(map(_level, manifest["levels"])),
        "PUBLISHED EXACTLY, WITHOUT NOISE\n" + "\n".join(f"  - {fact}" for fact in manifest["invariants"]),
        "HOW IT WAS MADE\n"
        + _filled(
            f"Mechanism {manifest['mechanism']}: {words.mechanism_phrase(manifest)}. Computed by "
            f"{manifest['method']} from the noisy values in {artefact.MEASUREMENT} and public "
            f"facts alone. Status {manifest['status']}: {words.status_sentence(manifest['status'])}"
        )
        + "\n"
        + _filled(f"Computed with {used}."),
        "THE OTHER FILES\n"
        + "\n".join(
            _filled(line, "  ", "    ")
            for line in (
                f"{artefact.SUMMARY}: this release on one page, with plots.",
                f"{artefact.PACKAGE}: the tables and columns for programs (Frictionless Data Package).",
                f"{artefact.MANIFEST}: budget, noise, method, certificate and digests, for programs.",
                f"{digests.SUMS}: digests of all files; `sha256sum -c {digests.SUMS}` checks them.",
                f"{digests.SIGNATURE}, if present: the publisher's signature of {digests.SUMS}.",
            )
        ),
        "HOW TO CHECK IT\n"
        + _filled(
            "`pgsr check FOLDER` verifies all of it, and computes the counts again from the noisy values. A folder "
            "that somebody made up as a whole looks fine, too: compare the digest that the check prints with the one "
            "that "
            "the publisher announced elsewhere, or give the publisher's public key, `pgsr check FOLDER --key KEY.pub`."
        ),
    ]
    return "\n\n".join(parts) + "\n"


def _what(manifest: dict[str, Any]) -> str:
    groups, members = (manifest["publication"][name] for name in ("group_name", "entity_name"))
    if "max_size" in manifest["levels"][0]:
        return (
            f"For every region an estimate of the number of {groups} by their number of {members}: "
            f"{words.sizes_phrase(manifest)}. The numbers are whole, not negative, and in every class of a level they "
            "add up to what the region above has in the sizes of this class."
        )
    least = manifest.get("min_size", 0)
    return (
        f"For every region and every size from {least} to {manifest['max_size']} an estimate of the number of {groups} "
        f"with that many {members}; larger {groups} count as {manifest['max_size']}. The numbers are whole, not "
        "negative, and those of the regions below add up to the region's."
    )


def _level(level: dict[str, Any]) -> str:
    return f"  level {level['level']} ({level['name']}): {level['regions']:,} regions, {words.noise_phrase(level)}"


def _table(files: str, what: str, columns: list[Column]) -> str:
    described = (f"{column.name} ({column.kind}): {column.description}" for column in columns)
    return "\n".join([f"{files}: {what}", *(_filled(line, "  ", "      ") for line in described)])


def _filled(text: str, first: str = "", others: str = "") -> str:
    """Fill lines, of which the first and the others begin with these indents."""
    return textwrap.fill(
        text, 116, initial_indent=first, subsequent_indent=others, break_long_words=False, break_on_hyphens=False
    )
