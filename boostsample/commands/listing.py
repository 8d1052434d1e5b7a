"""`boostsample list`: the strategies, feature families and data sets there are."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import click

from boostsample.commands.output import say
from boostsample.errors import unknown

__all__ = ["list_names"]


@click.command("list")
@click.argument("kind", required=False, metavar="[strategies|families|data]")
def list_names(kind: str | None) -> None:
    """List the strategies, feature families or data sets that compare knows."""
    kinds = {"strategies": _strategies, "families": _families, "data": _data}
    if kind is not None and kind not in kinds:
        raise unknown("kind of list", kind, kinds)
    for number, name in enumerate(kinds if kind is None else [kind]):
        entries = kinds[name]()
        if kind is None:
            say(f"{chr(10) if number else ''}{name}:")
        width = max(len(entry) for entry, _ in entries)
        for entry, description in entries:
            say(f"{'' if kind else '  '}{entry.ljust(width)}  {description}".rstrip())


def _strategies() -> list[tuple[str, str]]:
    """Names and first lines, read from the files: importing them would take seconds."""
    import ast

    from boostsample.registry import STRATEGIES, strategy_names

    entries = []
    for name in strategy_names():
        text = "from another distribution"
        if name in STRATEGIES:
            module = STRATEGIES[name].partition(":")[0]
            path = Path(__file__).parents[1].joinpath(*module.split(".")[1:]).with_suffix(".py")
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
    from boostsample.experiments.datasets import DATASETS

    return [
        (
            name
            + (f"({','.join(f'{k}={v}' for k, v in known.settings.items())})").replace("()", ""),
            known.description,
        )
        for name, known in DATASETS.items()
    ]
