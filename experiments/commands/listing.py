"""The command `boostsample list`: lists names, and draws members of image families."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from boostsample.errors import SettingError, unknown
from boostsample.experiments.commands.shared import options
from boostsample.experiments.commands.shared.describing import (
    DESCRIBED,
    print_description,
    print_settings,
)
from boostsample.experiments.commands.shared.printing import print_line


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
    wanted = {one.name: one.settings for one in families} or None
    if wanted and len(wanted) < len(families):
        raise SettingError(f"--families must differ, got {', '.join(settings['families'])}")
    shape = None if image_shape is None else family_members.parse_member_shape(image_shape)
    found = load_dataset(settings["data"], data_dir=settings["data_dir"], seed=seed)
    image, low, high = family_members.image_for_members(found, example, shape)
    figure = family_members.members_figure(
        family_members.families_for_members(image.shape, wanted, seed),
        image,
        low=low,
        high=high,
        title=f"Members of feature families: {found.name}, example {example}",
        seed=seed,
    )
    save_picture(figure, path)


def _strategies() -> list[tuple[str, str]]:
    from boostsample.registry import STRATEGIES

    return [*map(_own, STRATEGIES.items()), *_foreign("strategy")]


def _learners() -> list[tuple[str, str]]:
    from boostsample.registry import LEARNERS

    return [*map(_own, LEARNERS.items()), *_foreign("learner")]


def _own(entry: tuple[str, str]) -> tuple[str, str]:
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
        (one.name, f"[{one.distribution}] {describe_foreign(kind, one)}")
        for one in foreign_entries(kind)
    ]


def _families() -> list[tuple[str, str]]:
    from boostsample.registry import FAMILIES

    return [*map(_own, FAMILIES.items()), *_foreign("family")]


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
