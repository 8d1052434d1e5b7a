"""Describes strategies, families and learners: docstrings, settings, values to tune, papers."""

from __future__ import annotations

import inspect
import itertools
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from boostsample.errors import SettingError, one_line
from boostsample.registry import (
    default_families,
    make_strategy,
    registered_class,
    registered_names,
)

if TYPE_CHECKING:
    from boostsample.family import Family

PAPERS = {
    "DF11": "C. Dubout and F. Fleuret, Boosting with Maximum Adaptive Sampling, NIPS 2011.",
    "BK10": "R. Busa-Fekete and B. Kégl, Fast boosting using adversarial bandits, ICML 2010.",
    "BK09": "R. Busa-Fekete and B. Kégl, Accelerating AdaBoost using UCB, KDD Cup 2009, JMLR W&CP "
    "7.",
    "SS99": "R. Schapire and Y. Singer, Improved boosting algorithms using confidence-rated "
    "predictions, Machine Learning 37, 1999.",
}
"""The papers that docstrings cite as [DF11]."""

_HEADING = re.compile(r"^(\S.*)\n-{3,}\n", re.MULTILINE)
_EXAMPLE_SHAPES = ((28, 28), (28, 28, 3), (3,))
"""Shapes of examples whose default families show what a data set decides."""


@dataclass(frozen=True)
class Setting:
    """A setting of a strategy, family or learner."""

    name: str
    default: str  # as the command line reads it, or a remark if there is none
    type: str  # as its docstring gives it
    text: str
    tried: tuple[Any, ...] = ()  # by --tune


@dataclass(frozen=True)
class Description:
    """A strategy, a family or a learner."""

    name: str
    place: str  # the import path of its class
    text: str  # paragraphs: the docstrings of module and class, without sections
    settings: tuple[Setting, ...]
    papers: tuple[str, ...]


def describe(kind: str, name: str) -> Description:
    """Describe a registered class; `kind` is "strategy", "family" or "learner".

    Any family whose name ends in ``-opponent`` is the family `opponent`. SettingError if the name
    is unknown or its class cannot be loaded.
    """
    known = registered_names(kind)
    is_opponent = kind == "family" and name not in known and name.endswith("-opponent")
    described = registered_class(kind, "opponent" if is_opponent else name)
    tried: Mapping[str, Sequence[Any]] = {}
    if kind == "strategy":
        try:
            tried = make_strategy(name).tuning_grid()
        except SettingError:  # a setting without a default has no grid
            pass
        except Exception as error:  # a foreign class may raise anything
            raise SettingError(
                f"tuning_grid() of the strategy {name!r} fails ({type(error).__name__}: "
                f"{one_line(error)}); correct it"
            ) from error
    usual = _usual_settings(described) if kind == "family" else {}
    return _description(name, described, usual, tried)


def _usual_settings(kind: type[Family]) -> dict[str, str]:
    """The settings of a family in the default sets, in words; empty if it is in none."""
    for shape in _EXAMPLE_SHAPES:
        for family in default_families(shape):
            if type(family) is kind:
                size = " x ".join(map(str, shape))
                return {
                    key: "from the data" if isinstance(value, list) else f"{value} for {size}"
                    for key, value in family.settings().items()
                    if isinstance(value, int | list)
                }
    return {}


def _description(
    name: str, kind: type[Any], usual: Mapping[str, str], tried: Mapping[str, Sequence[Any]]
) -> Description:
    """Describe a class; `usual` has remarks on settings without a default."""
    entries = class_entries(kind, "Parameters")
    settings = []
    for key, parameter in inspect.signature(kind).parameters.items():
        if parameter.kind is parameter.VAR_KEYWORD:
            continue
        default = usual.get(key, "none, must be given")
        if parameter.default is not parameter.empty:
            default = str(parameter.default)
        entry = entries.get(key, DocEntry(key, "", ""))
        about = entry.type.partition(", default")[0], entry.text
        settings.append(Setting(key, default, *about, tuple(tried.get(key, ()))))
    docstrings = inspect.getdoc(sys.modules[kind.__module__]), inspect.getdoc(kind)
    text = "\n\n".join(docstring_sections(docstring)[""] for docstring in docstrings if docstring)
    papers = [f"[{tag}] {paper}" for tag, paper in PAPERS.items() if f"[{tag}]" in text]
    place = f"{kind.__module__}.{kind.__qualname__}"
    return Description(name, place, text, tuple(settings), tuple(papers))


# ---------------------------------------------------------------- docstrings in numpydoc's style


@dataclass(frozen=True)
class DocEntry:
    """A parameter or attribute: its name, its type (may be empty), and a text of one line."""

    name: str
    type: str
    text: str


def docstring_sections(docstring: str | None) -> dict[str, str]:
    """The sections by title; the text before the first one has the title ""."""
    sections = {}
    parts = _HEADING.split(inspect.cleandoc(docstring or ""))
    for title, text in zip(["", *parts[1::2]], parts[::2], strict=True):
        sections[title] = text.strip()
    return sections


def docstring_entries(section: str) -> list[DocEntry]:
    """The entries of a section; names that share an entry have one each.

    >>> [entry.name for entry in docstring_entries("low, high : int")]
    ['low', 'high']
    """
    entries = []
    lines = [line for line in section.splitlines() if line]
    starts = [at for at, line in enumerate(lines) if not line.startswith(" ")]
    for start, end in itertools.pairwise([*starts, len(lines)]):
        names, _, kind = lines[start].partition(" : ")
        text = " ".join(line.strip() for line in lines[start + 1 : end])
        entries += [DocEntry(name.strip(), kind, text) for name in names.split(",")]
    return entries


def class_entries(kind: type, section: str) -> dict[str, DocEntry]:
    """The entries of a class by name; those that say "See `Base`" are replaced by the base's."""
    entries: dict[str, DocEntry] = {}
    for base in kind.__mro__:
        for entry in docstring_entries(docstring_sections(base.__doc__).get(section, "")):
            if entry.name not in entries or entries[entry.name].text.startswith("See `"):
                entries[entry.name] = entry
    return entries
