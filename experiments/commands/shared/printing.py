"""Prints results, tables and data to standard output, and notes to standard error."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

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
    """Print a table, if there is one: with rules on a terminal, as plain text elsewhere."""
    from boostsample.experiments.tables.formats import to_rich, to_text

    if table is None:
        return
    if not sys.stdout.isatty():
        print_line(to_text(table) + "\n")
        return
    from rich.console import Console

    console = Console(file=unescaped(sys.stdout))
    for part in to_rich(table, console.width):
        console.print(part)
