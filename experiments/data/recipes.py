"""The recipes of the files of real data: what each is, where it comes from, under what licence, and how it is made.

Addresses and layouts are those that the publishers' pages, their documentation and public programs that read the files
name; `unchecked` says what nobody here could try, for want of a connection to the internet or of the file.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from pgsr.datasets.census_figures import states
from pgsr.errors import DataError
from pgsr.experiments.data import nhts2001
from pgsr.experiments.data.census2000 import COUNTIES, TRACTS
from pgsr.experiments.data.census2000_race import FILE as BLOCK_GROUPS
from pgsr.experiments.data.census2010_race import FILE as BLOCKS
from pgsr.experiments.data.files import DataFile
from pgsr.experiments.data.kuo_hawaiian import FILE as HAWAIIAN
from pgsr.experiments.data.kuo_taxi import FILE as TAXI
from pgsr.experiments.data.raw import kuo2018, summary_file_1
from pgsr.experiments.data.raw import nhts2001 as survey

Converter = Callable[[Sequence[Path], Path], Path]
"""A function that takes raw files (files, zip archives, folders) and the folder to write to, and returns the file."""


@dataclass(frozen=True)
class Recipe:
    """How a file of real data is made.

    Attributes:
        data: the file.
        what: what it holds.
        needed_by: what is run or read with it.
        source: the publisher, the product, its tables, and where they lie on the publisher's site.
        licence: under what terms.
        convert: what makes it of the raw files.
        raw: the raw files that `convert` takes.
        downloads: public addresses of them; the last part of an address is the file's name.
        unchecked: what could not be tried; of addresses it goes without saying.
    """

    data: DataFile
    what: str
    needed_by: str
    source: str
    licence: str
    convert: Converter
    raw: str
    downloads: tuple[str, ...]
    unchecked: str = ""

    def describe(self) -> str:
        """Write all that is known of the file, a line per item.

        Example:
            >>> print(recipe_of("census2000_county_hhsize").describe().splitlines()[0])
            file       census2000_county_hhsize.csv.gz
        """
        data = self.data
        totals = "; ".join(f"{total.what} {total.value:,}" for total in data.totals)
        more = len(self.downloads) - 2
        shown = [*self.downloads[:2], *([f"and {more} more of this form"] if more > 0 else [])]
        items = [
            ("file", data.file),
            ("what", self.what),
            ("needed by", self.needed_by),
            ("source", self.source),
            ("licence", self.licence),
            ("download", ", ".join(shown)),
            ("convert", f"python -m pgsr.experiments data convert {data.name} RAW... --out FOLDER; RAW: {self.raw}"),
            ("columns", ", ".join(data.columns)),
            ("totals", totals or "none are known"),
            ("content", data.content or "not known, nobody here has had the file"),
            ("unchecked", "; ".join(filter(None, [self.unchecked, "no address was tried"]))),
        ]
        return "\n".join(f"{name:<11}{text}" for name, text in items if text)


def recipe_of(name: str) -> Recipe:
    """Find the recipe of a file by its name, with or without its endings.

    Raises:
        DataError: no file is called so.

    Example:
        >>> recipe_of("nhts2001_persons.parquet").data.name
        'nhts2001_persons'
    """
    for recipe in RECIPES:
        if name in (recipe.data.name, recipe.data.file):
            return recipe
    raise DataError(f"no file is called {name!r}; use {', '.join(recipe.data.name for recipe in RECIPES)}")


_PUBLIC_DOMAIN = "public domain, a work of the government of the United States"
_SF1_2000 = "https://www2.census.gov/census_2000/datasets/Summary_File_1"
_SF1_2010 = "https://www2.census.gov/census_2010/04-Summary_File_1"
_COCO = "https://raw.githubusercontent.com/yzk5145/coco"
_WATER = (
    "tracts numbered 000000, a county's part of a great lake or of the sea, are left out but for that of county 36013; "
    "our file shows that it has no others, not that this rule is the whole difference to the file of the Bureau"
)
_NO_LICENCE = "none was published with it: it may be used here and may not be passed on"


def _places() -> list[tuple[str, str]]:
    """List the states' folders and their two letters, as the Bureau writes them."""
    return [(state.name.replace(" ", "_"), state.abbreviation.lower()) for state in states()]


def _archives_2000(segment: int) -> tuple[str, ...]:
    parts = ("geo", f"{segment:05}")
    return tuple(f"{_SF1_2000}/{name}/{two}{part}_uf1.zip" for name, two in _places() for part in parts)


def _archives_2010() -> tuple[str, ...]:
    places = [*_places(), ("Puerto_Rico", "pr")]
    return tuple(f"{_SF1_2010}/{name}/{two}2010.sf1.zip" for name, two in places)


RECIPES = (
    Recipe(
        data=TAXI,
        what="pickups of taxis in Manhattan, 2013, by taxi and neighbourhood: Taxi of Kuo et al. 2018",
        needed_by="K1 to K5, K7 to K10, PG3, PG4, X1, X2; instances of PGSR-LIB; make compare DATA=taxi",
        source="Kuo, Chiu, Kifer, Hay, Machanavajjhala 2018, the data beside their code: github.com/yzk5145/coco, "
        "data/taxi_level3.npy; counted by them from trip records of the New York City Taxi and Limousine Commission",
        licence=_NO_LICENCE,
        convert=kuo2018.taxi,
        raw="taxi_level3.npy",
        downloads=(f"{_COCO}/f9d345400b91176e10324d124598fd7145a2caab/data/taxi_level3.npy",),
        unchecked="that the arrays of taxi_level3.npy come in the order of our areas. The trips themselves do not give "
        "this file: the authors say neither which they left out (their text has 143,540,889, the data 130,962,398) nor "
        "which neighbourhoods their 28 areas are",
    ),
    Recipe(
        data=HAWAIIAN,
        what="census blocks of 2010 by native Hawaiians in them, the nation alone: Hawaiian of Kuo et al. 2018",
        needed_by="K1 to K4, K9",
        source="Kuo, Chiu, Kifer, Hay, Machanavajjhala 2018: github.com/yzk5145/coco, data/Hawaiian_nation_H.npy; "
        "counted by them from the U.S. Census Bureau's 2010 Census Summary File 1",
        licence=f"the counts are of the {_PUBLIC_DOMAIN}; the authors' file has no licence",
        convert=kuo2018.hawaiian,
        raw="Hawaiian_nation_H.npy",
        downloads=(f"{_COCO}/5e102e7ed53b319cd6f71ac112c0e82c849dce19/data/Hawaiian_nation_H.npy",),
    ),
    Recipe(
        data=BLOCK_GROUPS,
        what="people by race of every block group, in California of every tract, 2000; for blocks of 2010",
        needed_by="K1 to K10, X2",
        source="U.S. Census Bureau, Census 2000 Summary File 1, table P7: geographic header (summary levels 150 and "
        f"140) and segment 2 of every state, {_SF1_2000}",
        licence=_PUBLIC_DOMAIN,
        convert=summary_file_1.block_groups_2000,
        raw="SSgeo_uf1.zip and SS00002_uf1.zip for the two letters SS of 51 states, or the folder that holds them",
        downloads=_archives_2000(2),
        unchecked=_WATER,
    ),
    Recipe(
        data=COUNTIES,
        what="households by size, 1 to 6 and 7 or more, of every county, 2000",
        needed_by="K1, X1; make compare DATA=census2000",
        source="U.S. Census Bureau, Census 2000 Summary File 1, table H13: geographic header (summary level 050) and "
        f"segment 37 of every state, {_SF1_2000}",
        licence=_PUBLIC_DOMAIN,
        convert=summary_file_1.counties_2000,
        raw="SSgeo_uf1.zip and SS00037_uf1.zip for the two letters SS of 51 states, or the folder that holds them",
        downloads=_archives_2000(37),
    ),
    Recipe(
        data=TRACTS,
        what="households by size, 1 to 6 and 7 or more, of every tract, 2000",
        needed_by="make compare DATA=census2000 SIZE=full",
        source="U.S. Census Bureau, Census 2000 Summary File 1, table H13: geographic header (summary level 140) and "
        f"segment 37 of every state, {_SF1_2000}",
        licence=_PUBLIC_DOMAIN,
        convert=summary_file_1.tracts_2000,
        raw="SSgeo_uf1.zip and SS00037_uf1.zip for the two letters SS of 51 states, or the folder that holds them",
        downloads=_archives_2000(37),
        unchecked=_WATER,
    ),
    Recipe(
        data=nhts2001.HOUSEHOLDS,
        what="households of the National Household Travel Survey of 2001 whose members all answered",
        needed_by="HP1 to HP3b",
        source="U.S. Department of Transportation, Federal Highway Administration, 2001 National Household Travel "
        "Survey, public use files in CSV (Ascii.zip: HHPUB.csv, PERPUB.csv), nhts.ornl.gov",
        licence=_PUBLIC_DOMAIN,
        convert=survey.households,
        raw="Ascii.zip, or HHPUB.csv and PERPUB.csv",
        downloads=("https://nhts.ornl.gov/2001/download/Ascii.zip",),
        unchecked="names and codes of columns, and the selection (EXPFLLHH is given), are those of the package "
        "VE2001NHTS of VisionEval, which counts the same households and persons; the public files were not at hand",
    ),
    Recipe(
        data=nhts2001.PERSONS,
        what="persons of these households",
        needed_by="HP1 to HP3b",
        source="as nhts2001_households",
        licence=_PUBLIC_DOMAIN,
        convert=survey.persons,
        raw="Ascii.zip, or HHPUB.csv and PERPUB.csv",
        downloads=("https://nhts.ornl.gov/2001/download/Ascii.zip",),
        unchecked="as of nhts2001_households",
    ),
    Recipe(
        data=BLOCKS,
        what="census blocks of 2010 counted by county, race and people: White and Hawaiian of Kuo et al. 2018",
        needed_by="no published result, in which block groups of 2000 stand in; K1 to K10 take it where it is there",
        source="U.S. Census Bureau, 2010 Census Summary File 1, table P3: geographic header (summary level 101) and "
        f"segment 3 of every state and Puerto Rico, {_SF1_2010}",
        licence=_PUBLIC_DOMAIN,
        convert=summary_file_1.blocks_2010,
        raw="SS2010.sf1.zip for the two letters SS of 52 states, or the folder that holds them",
        downloads=_archives_2010(),
        unchecked="nobody here has converted the Bureau's files; the totals are those that Kuo et al. 2018 print",
    ),
)
"""All files, those of published results first."""
