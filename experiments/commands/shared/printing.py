"""Prints results and tables to standard output, and tells its failures from other errors."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from boostsample.experiments.tables.tables import Table

__all__ = ["GuardedStream", "OutputFailed", "print_line", "print_note", "print_table"]


class OutputFailed(OSError):
    """Standard output or standard error could not be written."""


class GuardedStream:
    """A text stream that raises OutputFailed instead of other OSErrors."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write a text."""
        try:
            return self._stream.write(text)
        except OSError as error:
            raise OutputFailed(error.errno, error.strerror or str(error)) from error

    def flush(self) -> None:
        """Write what is buffered."""
        try:
            self._stream.flush()
        except OSError as error:
            raise OutputFailed(error.errno, error.strerror or str(error)) from error


def print_line(text: str) -> None:
    """Print a line; click.echo would write UTF-8 even to terminals of another encoding."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


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

    console = Console(file=sys.stdout)
    for part in to_rich(table, console.width):
        console.print(part)
