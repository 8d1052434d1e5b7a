"""Prints results, tables and data to standard output, and notes to standard error."""

from __future__ import annotations

import sys
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

from boostsample.errors import SettingError, unknown
from boostsample.experiments.common.streams import unescaped

if TYPE_CHECKING:
    from boostsample.experiments.tables.tables import Table


def print_line(text: str) -> None:
    """Print a line; click.echo would write UTF-8 even to terminals of another encoding."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def print_data(text: str) -> None:
    """Print text for other programs as it is; on a terminal with escapes, as everything else."""
    stream = sys.stdout if sys.stdout.isatty() else unescaped(sys.stdout)
    stream.write(text)
    stream.flush()


def print_note(text: str) -> None:
    """Print a note on standard error."""
    sys.stderr.write(f"note: {text}\n")


def print_table(table: Table | None) -> None:
    """Print a table, if there is one; on a terminal cut to its width, with the best in bold."""
    from boostsample.experiments.tables.formats import to_terminal, to_text

    if table is None:
        return
    if not sys.stdout.isatty():
        print_line(to_text(table) + "\n")
        return
    from rich.console import Console

    console = Console(file=unescaped(sys.stdout), highlight=False)
    console.print(to_terminal(table, console.width), "", sep="\n")


def table_file(
    form: str | None, file: str | None, what: str, known: Collection[str], *, overwrite: bool
) -> tuple[str, Path | None]:
    """The format of tables, one of the `known` ones, and the path of the file to write them to.

    The format is by default that of the ending of `file`, which may be None, for text on standard
    output. SettingError or DataError if the file cannot be written, or is there and not to
    `overwrite`.
    """
    from boostsample.experiments.tables.formats import FORMATS
    from boostsample.files.atomic import check_writable_file

    endings = {FORMATS[name].ending: name for name in known}
    ending = ".txt" if file is None else Path(file).suffix.lower()
    if not form and ending not in endings:
        raise SettingError(
            f"the file of tables must end in one of {', '.join(endings)}, got '{file}'"
        )
    name = form or endings[ending]
    if name not in known:
        raise unknown("format", name, known)
    if file is None:
        return name, None
    return name, check_writable_file(file, FORMATS[name].ending, what, overwrite=overwrite)


def deliver(text: str, path: Path | None, what: str) -> None:
    """Write a text to a file and print its path after `what`, or print the text."""
    from boostsample.files.atomic import write_file

    if path is None:
        print_data(f"{text}\n")
        return
    write_file(path, f"{text}\n", what)
    print_line(f"{what.removeprefix('the ')}: {path}")
