"""The command `boostsample list`: lists and describes names, and draws members of families."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from boostsample.errors import SettingError, unknown
from boostsample.experiments.commands.shared import options
from boostsample.experiments.commands.shared.printing import print_line, print_table

if TYPE_CHECKING:
    from boostsample.experiments.plan.descriptions import Description

DESCRIBED = {"strategy": "strategies", "family": "families", "learner": "learners"}
"""What can be described by name, with the list that has the names."""

_WIDTH = 100


@click.command("list", context_settings={"show_default": True})
@click.argument(
    "kind",
    required=False,
    metavar="[strategies|families|learners|data|grids|strategy|family|learner]",
)
@click.argument("name", required=False, metavar="[NAME]")
@click.option(
    "--settings",
    "with_settings",
    is_flag=True,
    help="List the settings of strategies, families or learners, defaults, and the values that "
    "compare --tune tries.",
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
    """List strategies, families, learners, data sets or grids, or describe one of the first three.

    "list strategy ucb" prints the description of ucb, its settings with their defaults and the
    values that compare --tune tries, and the paper; "list family haar-like" does so for a family.
    With families, --picture FILE also draws members of the image families over an image.
    """
    kinds = {
        "strategies": _strategies,
        "families": _families,
        "learners": _learners,
        "data": _data,
        "grids": _grids,
    }
    if kind is not None and kind not in (*kinds, *DESCRIBED):
        raise unknown("kind of list", kind, (*kinds, *DESCRIBED))
    if picture is not None and kind != "families":
        raise SettingError(f"--picture needs list families, got list {kind or ''}".rstrip())
    for option in (*settings, "overwrite") if picture is None else ():
        if options.given_options(context, option):
            raise SettingError(
                f"--{option.replace('_', '-')} needs --picture FILE of list families"
            )
    if kind in DESCRIBED or name is not None:
        print_description(kind, name)
        return
    if picture is not None:
        _draw(picture, overwrite, settings)
    if with_settings:
        print_settings(kind)
    else:
        for number, listed in enumerate(kinds if kind is None else [kind]):
            entries = kinds[listed]()
            if kind is None:
                print_line(f"{chr(10) if number else ''}{listed}:")
            width = max(len(entry) for entry, _ in entries)
            for entry, description in entries:
                print_line(f"{'' if kind else '  '}{entry.ljust(width)}  {description}".rstrip())
    if picture is not None:
        print_line(f"\npicture: {picture}")


def _draw(picture: str, overwrite: bool, settings: Mapping[str, Any]) -> None:
    """Draw members of image families over an image."""
    from boostsample.experiments.data.datasets import load_dataset
    from boostsample.experiments.plan.variants import parse_names
    from boostsample.experiments.plots import family_members
    from boostsample.experiments.plots.drawing.picture_files import check_picture, save_picture

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


def _strategies() -> list[tuple[str, str]]:
    from boostsample.registry import STRATEGIES

    return [*map(_described, STRATEGIES.items()), *_foreign("strategy")]


def _learners() -> list[tuple[str, str]]:
    from boostsample.registry import LEARNERS

    return [*map(_described, LEARNERS.items()), *_foreign("learner")]


def _described(entry: tuple[str, str]) -> tuple[str, str]:
    """Name and first line of the docstring; parsed, because importing the modules takes seconds."""
    import ast

    name, place = entry
    module = place.partition(":")[0]
    path = Path(__file__).parents[2].joinpath(*module.split(".")[1:]).with_suffix(".py")
    text = ""
    with suppress(OSError, SyntaxError):
        text = ast.get_docstring(ast.parse(path.read_text("utf-8"))) or ""
    return name, text.partition("\n")[0].rstrip(".")


def _foreign(kind: str) -> list[tuple[str, str]]:
    """Names of other distributions, each with its distribution and first sentence or fault."""
    from boostsample.registry import describe_foreign, foreign_entries

    return [
        (entry.name, f"[{entry.distribution}] {describe_foreign(kind, entry)}")
        for entry in foreign_entries(kind)
    ]


def _families() -> list[tuple[str, str]]:
    from boostsample.registry import FAMILIES

    return [*map(_described, FAMILIES.items()), *_foreign("family")]


def _data() -> list[tuple[str, str]]:
    from boostsample.experiments.data.datasets import DATASETS

    entries = []
    for name, known in DATASETS.items():
        settings = ",".join(f"{key}={value}" for key, value in known.settings.items())
        entries.append((f"{name}({settings})" if settings else name, known.description))
    return entries


def _grids() -> list[tuple[str, str]]:
    """Names and titles; parsed, because `read_grid_file` imports the strategies."""
    import tomllib

    folder = Path(__file__).parents[1] / "plan" / "grids"
    return [
        (path.stem, str(tomllib.loads(path.read_text("utf-8")).get("title", "")))
        for path in sorted(folder.glob("*.toml"))
    ]


def print_description(kind: str | None, name: str | None) -> None:
    """Print the description of one strategy, family or learner (`kind`)."""
    from boostsample.experiments.plan.descriptions import describe

    if kind not in DESCRIBED:
        raise SettingError(
            f"list {kind} takes no name, got {name!r}; describe one with list strategy NAME or "
            "list family NAME"
        )
    if name is None:
        raise SettingError(
            f"list {kind} needs a name; boostsample list {DESCRIBED[kind]} lists them"
        )
    print_line("\n".join(_description(describe(kind, name))))


def _description(entry: Description) -> Iterator[str]:
    yield f"{entry.name}: {entry.place}\n"
    yield f"{entry.text}\n"
    yield "settings:" if entry.settings else "settings: none"
    for setting in entry.settings:
        yield f"  {setting.name} = {setting.default}"
        about = [": ".join(filter(None, (setting.type, setting.text)))]
        if setting.tried:
            about.append(f"--tune tries {_values(setting.tried)}")
        for text in filter(None, about):
            yield textwrap.fill(text, _WIDTH, initial_indent=" " * 6, subsequent_indent=" " * 6)
    if entry.papers:
        yield "\npapers:"
        yield from (
            textwrap.fill(paper, _WIDTH, initial_indent="  ", subsequent_indent="    ")
            for paper in entry.papers
        )


def print_settings(kind: str | None) -> None:
    """Print the settings of all strategies, families or learners; None prints all of them."""
    from boostsample.experiments.plan.descriptions import describe
    from boostsample.experiments.tables.tables import Table
    from boostsample.registry import registered_names

    if kind not in (None, *DESCRIBED.values()):
        raise SettingError(
            f"--settings needs list {', list '.join(DESCRIBED.values())}, got list {kind}"
        )
    for thing, plural in DESCRIBED.items():
        if kind in (None, plural):
            rows, broken = list[tuple[str, ...]](), []
            for name in registered_names(thing):
                try:
                    description = describe(thing, name)
                except SettingError as error:  # a fault of another distribution
                    broken.append(f"broken: {error}")
                    continue
                rows += [
                    (name, setting.name, setting.default, _values(setting.tried) or "-")
                    for setting in description.settings
                ]
            columns = 4 if thing == "strategy" else 3  # nothing else is tuned
            header = (thing, "setting", "default", "--tune tries")[:columns]
            shown = tuple(row[:columns] for row in rows)
            print_table(Table(f"settings of {plural}", header, shown))
            print_line(
                "\n".join([*broken, f"boostsample list {thing} NAME describes each setting.\n"])
            )


def _values(tried: Sequence[Any]) -> str:
    return ", ".join(map(str, tried))
