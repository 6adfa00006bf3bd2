"""Figures as small SVG files, which the repository keeps beside its pages: the same to the byte from run to run.

Matplotlib writes every style out at every mark and six digits of every place. Here equal styles share a class, places
have a tenth of a point, and what says nothing is left out: a third of the size. Words stay words.
"""

import re
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_SVG = "http://www.w3.org/2000/svg"
_GROUP, _PATH, _TEXT, _USE = (f"{{{_SVG}}}{name}" for name in ("g", "path", "text", "use"))
_HREF = "{http://www.w3.org/1999/xlink}href"
_NUMBER = re.compile(r"-?\d+\.\d{2,}(?:e-?\d+)?")
_PLACES = ("d", "x", "y", "width", "height", "transform", "points")
"""Attributes that hold places."""
_BLANKS = re.compile(r"\s*([A-Za-z(]|\s)\s*")
"""Blanks beside letters, which say nothing, and several in a row."""
_NOT_TURNED = re.compile(r"rotate\(-?0 [^)]*\)")


def write_svg(figure: "Figure", path: Path) -> None:
    """Write a figure as SVG."""
    import matplotlib as mpl

    written = StringIO()
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "pgsr"}):
        figure.savefig(written, format="svg", metadata={"Date": None})
    path.write_text(smaller(written.getvalue()), encoding="utf-8")


def smaller(svg: str) -> str:
    """Write a picture of Matplotlib's in fewer characters.

    Example:
        >>> square = '<path d="M 0 0.123456 L 1 1" style="fill: none"/>'
        >>> print(smaller(f'<svg xmlns="http://www.w3.org/2000/svg"><defs/><g id="a">{square}{square}</g></svg>'))
        <svg xmlns="http://www.w3.org/2000/svg">
        <defs>
        <style>.s0{fill: none}</style>
        </defs>
        <path d="M0 0.1L1 1M0 0.1L1 1" class="s0"/>
        </svg>
        <BLANKLINE>
    """
    ElementTree.register_namespace("", _SVG)
    root = ElementTree.fromstring(svg)
    for metadata in root.findall(f"{{{_SVG}}}metadata"):
        root.remove(metadata)
    _rename(root)
    for element in root.iter():
        for name in _PLACES:
            if name in element.attrib:
                element.set(name, _BLANKS.sub(r"\1", _NUMBER.sub(_tenth, element.attrib[name]).strip()))
        if _NOT_TURNED.fullmatch(element.get("transform", "")):
            del element.attrib["transform"]
    _join(root)
    _share_styles(root)
    for element in root.iter():
        if element.tag != _TEXT and len(element):
            element.text = "\n"
    return ElementTree.tostring(root, encoding="unicode").replace(" />", "/>") + "\n"


def _tenth(number: re.Match[str]) -> str:
    return f"{round(float(number[0]), 1) + 0.0:g}"  # + 0.0, or there would be places at -0


def _rename(root: Element) -> None:
    """Give what is referred to a short name, and nothing else a name."""
    text = ElementTree.tostring(root, encoding="unicode")
    used = dict.fromkeys(re.findall(r'="(?:url\()?#(\w+)\)?"', text))
    names = {name: f"a{number}" for number, name in enumerate(used)}
    for element in root.iter():
        name = element.attrib.pop("id", None)
        if name in names:
            element.set("id", names[name])
        if _HREF in element.attrib:
            element.set("href", f"#{names[element.attrib.pop(_HREF)[1:]]}")
        clip = element.get("clip-path", "")
        if clip.startswith("url(#"):
            element.set("clip-path", f"url(#{names[clip[5:-1]]})")


def _join(parent: Element) -> None:
    """Dissolve groups that say nothing, and make one path of lines in a row that look the same."""
    children: list[Element] = []
    for child in parent:
        if child.tag == _TEXT:
            children.append(child)
            continue
        _join(child)
        if child.tag == _GROUP and not child.attrib:
            children += child
        elif child.tag != _PATH or child.get("d"):  # a line that lies outside its panel has no places
            children.append(child)
    parent[:] = []
    for child in children:
        child.tail = "\n"
        if len(parent) and "fill: none" in child.get("style", "") and _same(child, parent[-1]):
            parent[-1].set("d", parent[-1].attrib["d"] + child.attrib["d"])
        else:
            parent.append(child)
    styles = {child.get("style", "") for child in parent}
    if parent.tag == _GROUP and len(styles) == 1 and {child.tag for child in parent} == {_USE}:
        parent.set("style", styles.pop())
        for child in parent:
            child.attrib.pop("style", None)


def _same(one: Element, other: Element) -> bool:
    """Tell whether two paths differ by their places alone."""
    return "d" in one.attrib and {**one.attrib, "d": ""} == {**other.attrib, "d": ""}


def _share_styles(root: Element) -> None:
    """Write every style once, as a class."""
    classes: dict[str, str] = {}
    for element in root.iter():
        style = element.attrib.pop("style", None)
        if style is not None:
            element.set("class", classes.setdefault(style, f"s{len(classes)}"))
    definitions = root.find(f"{{{_SVG}}}defs")
    assert definitions is not None, "Matplotlib writes some"
    sheet = definitions.find(f"{{{_SVG}}}style")
    if sheet is None:
        sheet = ElementTree.SubElement(definitions, f"{{{_SVG}}}style")
    rules = [f".{name}{{{style}}}" for style, name in classes.items()]
    sheet.text, sheet.tail = "\n".join([*filter(None, [sheet.text]), *rules]), "\n"
