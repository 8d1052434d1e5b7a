"""The command `boostsample list`: lists and describes names, and draws members of families."""

from __future__ import annotations

import ast
import inspect
import itertools
import re
import sys
import textwrap
import tomllib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from boostsample.errors import SettingError, one_line, unknown
from boostsample.experiments.commands.shared import options
from boostsample.experiments.commands.shared.printing import print_line, print_table
from boostsample.registry import (
    FAMILIES,
    LEARNERS,
    OBJECTIVES,
    STRATEGIES,
    default_families,
    describe_foreign,
    entries_of_group,
    foreign_entries,
    make_strategy,
    registered_class,
    registered_names,
)

if TYPE_CHECKING:
    from boostsample.family import Family

DESCRIBED = {
    "strategy": "strategies",
    "family": "families",
    "learner": "learners",
    "objective": "objectives",
}
"""What can be described by name, with the list that has the names."""
PAPERS = {
    "DF11": "C. Dubout and F. Fleuret, Boosting with Maximum Adaptive Sampling, NIPS 2011.",
    "BK10": "R. Busa-Fekete and B. Kégl, Fast boosting using adversarial bandits, ICML 2010.",
    "BK09": "R. Busa-Fekete and B. Kégl, Accelerating AdaBoost using UCB, KDD Cup 2009, JMLR W&CP "
    "7.",
    "SS99": "R. Schapire and Y. Singer, Improved boosting algorithms using confidence-rated "
    "predictions, Machine Learning 37, 1999.",
}
"""The papers that docstrings cite as [DF11]."""


_WIDTH = 100
_HEADING = re.compile(r"^(\S.*)\n-{3,}\n", re.MULTILINE)
_EXAMPLE_SHAPES = ((28, 28), (28, 28, 3), (3,))
"""Shapes of examples whose default families show what a data set decides."""


@click.command("list", context_settings={"show_default": True})
@click.argument(
    "kind",
    required=False,
    metavar="[strategies|families|learners|objectives|data|grids|strategy|family|learner|objective]",
)
@click.argument("name", required=False, metavar="[NAME]")
@click.option(
    "--settings",
    "with_settings",
    is_flag=True,
    help="List the settings of strategies, families, learners or objectives, defaults, and the "
    "values that compare --tune tries.",
)
@click.option(
    "--picture",
    metavar="FILE",
    help="With families: draw members of image families over an image, to an .svg, .png or .pdf.",
)
@options.overwrite_option
@options.families_option
@options.data_option
@options.data_dir_option
@click.option("--example", default=0, metavar="I", help="Which image, from 0.")
@click.option(
    "--image-shape", metavar="HxW|HxWxC", help="Stretch the image to this shape.  [default: as is]"
)
@options.seed_option
@click.pass_context
def list_names(
    context: click.Context,
    /,
    kind: str | None,
    name: str | None,
    with_settings: bool,
    picture: str | None,
    overwrite: bool,
    **settings: Any,
) -> None:
    """List strategies, families, learners, objectives, data sets or grids, or describe one.

    "list strategy ucb" prints the description of ucb, its settings with their defaults and the
    values that compare --tune tries, and the paper; "list family haar-like" does so for a family.
    With families, --picture FILE also draws members of the image families over an image.
    """
    kinds = {
        "strategies": STRATEGIES,
        "families": FAMILIES,
        "learners": LEARNERS,
        "objectives": OBJECTIVES,
    }
    lists = (*kinds, "data", "grids")
    if kind is not None and kind not in (*lists, *DESCRIBED):
        raise unknown("kind of list", kind, (*lists, *DESCRIBED))
    if picture is not None and kind != "families":
        raise SettingError(f"--picture needs list families, got list {kind or ''}".rstrip())
    for option in settings if picture is None else ():
        if options.given_options(context, option):
            raise SettingError(
                f"--{option.replace('_', '-')} needs --picture FILE of list families"
            )
    if kind in DESCRIBED or name is not None:
        _print_description(kind, name)
        return
    if picture is not None:
        _draw(picture, overwrite, settings)
    if with_settings:
        _print_settings(kind)
    else:
        for number, listed in enumerate(lists if kind is None else [kind]):
            entries = _data() if listed == "data" else _grids()
            for thing, plural in DESCRIBED.items():
                if plural == listed:
                    entries = [*map(_first_line, kinds[listed].items()), *_foreign(thing)]
            if kind is None:
                print_line(f"{chr(10) if number else ''}{listed}:")
            width = max(len(entry) for entry, _ in entries)
            for entry, text in entries:
                print_line(f"{'' if kind else '  '}{entry.ljust(width)}  {text}".rstrip())
    if picture is not None:
        print_line(f"\npicture: {picture}")


def _draw(picture: str, overwrite: bool, settings: Mapping[str, Any]) -> None:
    from boostsample.experiments.data.datasets import load_dataset
    from boostsample.experiments.plan.variants import parse_names
    from boostsample.experiments.plots import family_members
    from boostsample.experiments.plots.drawing import check_picture, save_picture

    seed, example, image_shape = (settings[name] for name in ("seed", "example", "image_shape"))
    path = check_picture(picture, overwrite=overwrite)
    families = parse_names(settings["families"]) if settings["families"] else ()
    wanted = {family.name: family.settings for family in families} or None
    if wanted and len(wanted) < len(families):
        raise SettingError(f"--families must differ, got {', '.join(settings['families'])}")
    shape = None if image_shape is None else family_members.parse_member_shape(image_shape)
    data = load_dataset(settings["data"], data_dir=settings["data_dir"], seed=seed)
    image, low, high = family_members.image_for_members(data, example, shape)
    figure = family_members.members_figure(
        family_members.families_for_members(image.shape, wanted, seed),
        image,
        low=low,
        high=high,
        title=f"Members of feature families: {data.name}, example {example}",
        seed=seed,
    )
    save_picture(figure, path)


def _first_line(entry: tuple[str, str]) -> tuple[str, str]:
    """Name and first line of the docstring; parsed, because importing the modules takes seconds.

    The docstring is that of the module, or of the class if the module has several of them.
    """
    name, place = entry
    module, _, kind = place.partition(":")
    path = Path(__file__).parents[2].joinpath(*module.split(".")[1:]).with_suffix(".py")
    text = ""
    with suppress(OSError, SyntaxError):
        parsed = ast.parse(path.read_text("utf-8"))
        own = [node for node in parsed.body if isinstance(node, ast.ClassDef) and node.name == kind]
        several = place in OBJECTIVES.values()
        text = ast.get_docstring(own[0] if several and own else parsed) or ""
    return name, text.partition("\n")[0].rstrip(".")


def _foreign(kind: str) -> list[tuple[str, str]]:
    """Names of other distributions, each with its distribution and first sentence or fault."""
    return [
        (entry.name, f"[{entry.distribution}] {describe_foreign(kind, entry)}")
        for entry in foreign_entries(kind)
    ]


def _data() -> list[tuple[str, str]]:
    from boostsample.experiments.data.datasets import DATASETS, shown_name
    from boostsample.experiments.data.function_sets import GROUP, describe_function_set

    entries = [
        (shown_name(name, known.settings), known.description) for name, known in DATASETS.items()
    ]
    for entry in entries_of_group(GROUP):
        about, settings = describe_function_set(entry.name)
        if entry.name in DATASETS:
            about, settings = "broken: the name is taken by boostsample; rename its entry point", {}
        entries.append((shown_name(entry.name, settings), f"[{entry.distribution}] {about}"))
    return entries


def _grids() -> list[tuple[str, str]]:
    """Names and titles; parsed, because `read_grid_file` imports the strategies."""
    folder = Path(__file__).parents[1] / "plan" / "grids"
    return [
        (path.stem, str(tomllib.loads(path.read_text("utf-8")).get("title", "")))
        for path in sorted(folder.glob("*.toml"))
    ]


def _print_description(kind: str | None, name: str | None) -> None:
    if kind not in DESCRIBED:
        raise SettingError(
            f"list {kind} takes no name, got {name!r}; describe one with list strategy NAME or "
            "list family NAME"
        )
    if name is None:
        raise SettingError(
            f"list {kind} needs a name; boostsample list {DESCRIBED[kind]} lists them"
        )
    entry = describe(kind, name)
    print_line(f"{entry.name}: {entry.place}\n\n{entry.text}\n")
    print_line("settings:" if entry.settings else "settings: none")
    for setting in entry.settings:
        print_line(f"  {setting.name} = {setting.default}")
        about = [": ".join(filter(None, (setting.type, setting.text)))]
        if setting.tried:
            about.append(f"--tune tries {_values(setting.tried)}")
        for text in filter(None, about):
            print_line(_filled(text, " " * 6, " " * 6))
    if entry.papers:
        print_line("\npapers:")
        for paper in entry.papers:
            print_line(_filled(paper, "  ", "    "))


def _filled(text: str, first: str, rest: str) -> str:
    return textwrap.fill(text, _WIDTH, initial_indent=first, subsequent_indent=rest)


def _print_settings(kind: str | None) -> None:
    from boostsample.experiments.tables.tables import Table

    if kind not in (None, *DESCRIBED.values()):
        raise SettingError(
            f"--settings needs list {', list '.join(DESCRIBED.values())}, got list {kind}"
        )
    for thing, plural in DESCRIBED.items():
        if kind in (None, plural):
            rows, broken = list[tuple[str, ...]](), []
            for name in registered_names(thing):
                try:
                    settings = describe(thing, name).settings
                except SettingError as error:  # a fault of another distribution
                    broken.append(f"broken: {error}")
                    continue
                rows += [(name, s.name, s.default, _values(s.tried) or "-") for s in settings]
            columns = 4 if thing == "strategy" else 3  # nothing else is tuned
            header = (thing, "setting", "default", "--tune tries")[:columns]
            print_table(
                Table(f"settings of {plural}", header, tuple(row[:columns] for row in rows))
            )
            print_line(
                "\n".join([*broken, f"boostsample list {thing} NAME describes each setting.\n"])
            )


def _values(tried: Sequence[Any]) -> str:
    return ", ".join(map(str, tried))


# ------------------------------------------------------------------------- descriptions of classes


class Setting(NamedTuple):
    """A parameter or attribute of a class, as its docstring describes it."""

    name: str
    type: str  # may be empty
    text: str  # one line
    default: str = ""  # as the command line reads it, or a remark if there is none
    tried: tuple[Any, ...] = ()  # by --tune


@dataclass(frozen=True)
class Description:
    """A strategy, a family or a learner."""

    name: str
    place: str  # the import path of its class
    text: str  # paragraphs: the docstrings of module and class, without sections
    settings: list[Setting]
    papers: list[str]


def describe(kind: str, name: str) -> Description:
    """Describe a registered class; `kind` is a key of `DESCRIBED`.

    Any family whose name ends in ``-opponent`` is the family `opponent`. SettingError if the name
    is unknown or its class cannot be loaded.
    """
    is_opponent = (
        kind == "family" and name not in registered_names(kind) and name.endswith("-opponent")
    )
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
    entries = class_entries(described, "Parameters")
    settings = []
    for key, parameter in inspect.signature(described).parameters.items():
        if parameter.kind is parameter.VAR_KEYWORD:
            continue
        default = usual.get(key, "none, must be given")
        if parameter.default is not parameter.empty:
            default = str(parameter.default)
        entry = entries.get(key, Setting(key, "", ""))
        kind_of_value = entry.type.partition(", default")[0]
        values = tuple(tried.get(key, ()))
        settings.append(Setting(key, kind_of_value, entry.text, default, values))
    docstrings = inspect.getdoc(sys.modules[described.__module__]), inspect.getdoc(described)
    text = "\n\n".join(docstring_sections(docstring)[""] for docstring in docstrings if docstring)
    papers = [f"[{tag}] {paper}" for tag, paper in PAPERS.items() if f"[{tag}]" in text]
    place = f"{described.__module__}.{described.__qualname__}"
    return Description(name, place, text, settings, papers)


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


def docstring_sections(docstring: str | None) -> dict[str, str]:
    """The sections by title; the text before the first one has the title ""."""
    sections = {}
    parts = _HEADING.split(inspect.cleandoc(docstring or ""))
    for title, text in zip(["", *parts[1::2]], parts[::2], strict=True):
        sections[title] = text.strip()
    return sections


def docstring_entries(section: str) -> list[Setting]:
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
        entries += [Setting(name.strip(), kind, text) for name in names.split(",")]
    return entries


def class_entries(kind: type, section: str) -> dict[str, Setting]:
    """The entries of a class by name; those that say "See `Base`" are replaced by the base's."""
    entries: dict[str, Setting] = {}
    for base in kind.__mro__:
        for entry in docstring_entries(docstring_sections(base.__doc__).get(section, "")):
            if entry.name not in entries or entries[entry.name].text.startswith("See `"):
                entries[entry.name] = entry
    return entries
