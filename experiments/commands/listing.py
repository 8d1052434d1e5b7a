"""`boostsample list`: the strategies, feature families, data sets and grids; a picture."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import click

from boostsample.errors import SettingError, unknown
from boostsample.experiments.commands.output import say

__all__ = ["list_names"]


@click.command("list")
@click.argument("kind", required=False, metavar="[strategies|families|data|grids]")
@click.option(
    "--picture",
    metavar="FILE",
    help="With families: draw what members of image families look at, into an .svg, .png or .pdf.",
)
@click.option(
    "--families",
    multiple=True,
    metavar="A,B:SETTING=VALUE",
    help="Families in the picture.  [default: all that fit the image]",
)
@click.option(
    "--data",
    metavar="NAME|PATH",
    help="Data set whose image the picture shows.  [default: digits]",
)
@click.option("--data-dir", metavar="DIR", help="Folder of original data files.")
@click.option("--example", type=int, metavar="I", help="Which image, from 0.  [default: 0]")
@click.option(
    "--image-shape", metavar="HxW|HxWxC", help="Stretch the image to this shape.  [default: as is]"
)
@click.option("--seed", type=int, metavar="N", help="Seed of what is drawn.  [default: 0]")
def list_names(
    kind: str | None,
    picture: str | None,
    families: tuple[str, ...],
    data: str | None,
    data_dir: str | None,
    example: int | None,
    image_shape: str | None,
    seed: int | None,
) -> None:
    """List the strategies, feature families, data sets or grids that compare knows.

    boostsample list families --picture FILE also draws members of each image family over an image.
    """
    kinds = {"strategies": _strategies, "families": _families, "data": _data, "grids": _grids}
    if kind is not None and kind not in kinds:
        raise unknown("kind of list", kind, kinds)
    if picture is None:
        given = {"families": families, "data": data, "data-dir": data_dir, "example": example}
        given |= {"image-shape": image_shape, "seed": seed}
        for option, value in given.items():
            if value not in (None, ()):
                raise SettingError(f"--{option} needs --picture FILE, for it is of the picture")
    elif kind != "families":
        raise SettingError(f"--picture goes with list families, got list {kind or ''}".rstrip())
    else:
        _draw(picture, families, data or "digits", data_dir, example or 0, image_shape, seed or 0)
    for number, name in enumerate(kinds if kind is None else [kind]):
        entries = kinds[name]()
        if kind is None:
            say(f"{chr(10) if number else ''}{name}:")
        width = max(len(entry) for entry, _ in entries)
        for entry, description in entries:
            say(f"{'' if kind else '  '}{entry.ljust(width)}  {description}".rstrip())
    if picture is not None:
        say(f"\npicture: {picture}")


def _draw(
    picture: str,
    families: tuple[str, ...],
    data: str,
    data_dir: str | None,
    example: int,
    image_shape: str | None,
    seed: int,
) -> None:
    from boostsample.experiments.data.datasets import load_dataset
    from boostsample.experiments.plan.plan import parse_names
    from boostsample.experiments.plots.members import (
        example_image,
        families_by_name,
        members_figure,
        parse_shape,
    )
    from boostsample.experiments.plots.pictures import check_picture, save_picture

    path = check_picture(picture)
    wanted = {one.name: one.settings for one in parse_names(families)} if families else None
    shape = None if image_shape is None else parse_shape(image_shape)
    found = load_dataset(data, data_dir=data_dir, seed=seed)
    image, low, high = example_image(found, example, shape)
    figure = members_figure(
        families_by_name(image.shape, wanted, seed),
        image,
        low=low,
        high=high,
        title=f"What members of the families look at: {found.name}, example {example}",
        seed=seed,
    )
    save_picture(figure, path)


def _strategies() -> list[tuple[str, str]]:
    """Names and first lines, read from the files: importing them would take seconds."""
    import ast

    from boostsample.registry import STRATEGIES, strategy_names

    entries = []
    for name in strategy_names():
        text = "from another distribution"
        if name in STRATEGIES:
            module = STRATEGIES[name].partition(":")[0]
            path = Path(__file__).parents[2].joinpath(*module.split(".")[1:]).with_suffix(".py")
            text = ""
            with suppress(OSError, SyntaxError):
                text = ast.get_docstring(ast.parse(path.read_text("utf-8"))) or ""
        entries.append((name, text.partition("\n")[0].rstrip(".")))
    return entries


def _families() -> list[tuple[str, str]]:
    import inspect

    from boostsample import families

    entries = []
    for name in families.__all__:
        member = getattr(families, name)
        if not inspect.isclass(member) or inspect.isabstract(member):
            continue
        parameter = inspect.signature(member).parameters.get("name")
        module = inspect.getdoc(inspect.getmodule(member)) or ""
        if parameter is not None:
            entries.append((str(parameter.default), module.partition("\n")[0].rstrip(".")))
    return entries


def _data() -> list[tuple[str, str]]:
    from boostsample.experiments.data.datasets import DATASETS

    return [
        (
            name
            + (f"({','.join(f'{k}={v}' for k, v in known.settings.items())})").replace("()", ""),
            known.description,
        )
        for name, known in DATASETS.items()
    ]


def _grids() -> list[tuple[str, str]]:
    """Names and titles, read from the files: checking them would import the strategies."""
    import tomllib

    folder = Path(__file__).parents[1] / "plan" / "grids"
    return [
        (path.stem, str(tomllib.loads(path.read_text("utf-8")).get("title", "")))
        for path in sorted(folder.glob("*.toml"))
    ]
