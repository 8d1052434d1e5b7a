"""The documents and what is in them: Python blocks, commands, links and headings."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import textwrap
import types
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.paths import ROOT

DOCS = ROOT / "docs"
PAGES = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")]
PAGES += sorted(DOCS.glob("*.md"))
EXAMPLES = sorted((DOCS / "examples").glob("*.py"))

_PYTHON = re.compile(
    r"(?:<!-- (?:not run: ([^>]*?)|(new process)) -->\n+)?```python\n(.*?)```", re.DOTALL
)
_FENCED = re.compile(r"^(```+).*?^\1$", re.DOTALL | re.MULTILINE)
_INDENTED = re.compile(r"(?<=\n\n)(?: {4,}\S.*\n)+", re.MULTILINE)
_SPAN = re.compile(r"(?<![`\w])`(boostsample [^`]+)`")
_LINK = re.compile(r"(?<!`)\[(?:[^][`]|`[^`]*`|\[[^][]*\])*\]\(([^()\s]+)\)")
_HEADING = re.compile(r"^#{1,6} +(.*)$", re.MULTILINE)


class Block(NamedTuple):
    """A block of Python; why tests do not run it, or empty; whether it runs in a new process."""

    code: str
    not_run: str = ""
    new_process: bool = False


def read(page: Path) -> str:
    """The text of a page."""
    return page.read_text(encoding="utf-8")


def name_of(page: Path) -> str:
    """The page's path in the checkout."""
    return page.relative_to(ROOT).as_posix()


def python_blocks(page: Path) -> list[Block]:
    """Blocks of Python, in order.

    The comment ``not run: REASON`` or ``new process`` may stand before a block.
    """
    blocks = _PYTHON.findall(read(page))
    return [Block(code, " ".join(why.split()), bool(new)) for why, new, code in blocks]


def run_page(page: Path, monkeypatch: pytest.MonkeyPatch) -> types.ModuleType:
    """Run the blocks of a page, or an example, in order in one module; return the module."""
    blocks = [Block(read(page))] if page.suffix == ".py" else python_blocks(page)
    module = types.ModuleType(f"{page.stem}_blocks")  # importable: its classes can be pickled
    monkeypatch.setitem(sys.modules, module.__name__, module)
    for block in blocks:
        code = compile(block.code, page.name, "exec")
        if block.new_process:
            run = [sys.executable, "-W", "error", "-c", block.code]
            sys.stdout.write(subprocess.run(run, check=True, capture_output=True, text=True).stdout)
        elif not block.not_run:
            exec(code, vars(module))
    return module


def commands(page: Path) -> Iterator[list[str]]:
    """Words of the commands in indented blocks, and of `boostsample ...` in sentences."""
    text = _FENCED.sub("", read(page))
    for block in _INDENTED.findall(f"\n{text}"):
        lines = iter(textwrap.dedent(block).replace("\\\n", "").splitlines())
        for line in lines:
            while line.count("'") % 2 or line.count('"') % 2:  # an argument of several lines
                line += next(lines)
            for command in line.split(" && "):
                yield shlex.split(command, comments=True)
    for span in _SPAN.findall(_INDENTED.sub("\n", f"\n{text}")):
        if "..." not in span and "COMMAND" not in span:
            yield shlex.split(span)


def links(page: Path) -> list[tuple[str, str]]:
    """Path and anchor of each link that is not a URL; the path is empty on the same page."""
    targets = _LINK.findall(_INDENTED.sub("\n", _FENCED.sub("", read(page))))
    parts = [target.partition("#") for target in targets if "://" not in target]
    return [(path, anchor) for path, _, anchor in parts]


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings."""
    headings = _HEADING.findall(_FENCED.sub("", read(page)))
    return {
        re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings
    }
