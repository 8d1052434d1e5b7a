"""What the reference describes: each name once, in the first module that has it; our members only.

Members that a class inherits from scikit-learn or Python are left out. The class of a strategy also
has the text of its file.
"""

from __future__ import annotations

import importlib
import inspect
import re
import sys
from typing import Any

MODULES = (
    "boostsample",
    "boostsample.strategies",
    "boostsample.families",
    "boostsample.learners",
    "boostsample.objectives",
    "boostsample.bandits",
    "boostsample.dask",
    "boostsample.formats.plink",
    "boostsample.column_table",
    "boostsample.planning.expected_edge",
    "boostsample.planning.mixture",
    "boostsample.testing",
)
"""In the order of docs/api.md; a test compares them."""

_LINK_OR_NAME = re.compile(r"(``.*?``|`[^`]*`)|\b(\w*[A-Za-z0-9])_(?=[,).;\s]|$)")


def listed_here(module: str, names: list[str]) -> list[str]:
    """Those of `names` that no earlier module has: the same object under the same name."""
    return [name for name in names if _home(module, name) == module]


def listed_elsewhere(module: str, names: list[str]) -> list[str]:
    """Full names of the others, where they are described."""
    homes = {name: _home(module, name) for name in names}
    return [f"{home}.{name}" for name, home in homes.items() if home != module]


def _home(module: str, name: str) -> str:
    found = getattr(importlib.import_module(module), name)
    for earlier in MODULES:
        if earlier == module:
            break
        others = importlib.import_module(earlier)
        if name in others.__all__ and getattr(others, name) is found:
            return earlier
    return module


def _skip(app: Any, what: str, name: str, member: Any, skip: bool, options: Any) -> bool | None:
    function = getattr(member, "fget", None) or getattr(member, "__func__", member)
    module = getattr(function, "__module__", None)
    foreign = callable(function) and not str(module).startswith("boostsample")
    return True if what == "class" and foreign else None


def _completed(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Put what the file of a strategy says after the summary of its class; escape names.

    The file has the cost and the paper, as ``boostsample list strategy`` prints them. A bare
    ``classes_`` in a sentence would be a link to nowhere.
    """
    if what == "class" and str(obj.__module__).startswith("boostsample.strategies."):
        text = inspect.getdoc(sys.modules[obj.__module__]) or ""
        at = lines.index("") if "" in lines else len(lines)
        lines[at:at] = ["", *text.splitlines(), ""]
    for at, line in enumerate(lines):
        if not line.lstrip().startswith((">>>", "...")):
            lines[at] = _LINK_OR_NAME.sub(lambda found: found[1] or f"{found[2]}\\_", line)


def setup(app: Any) -> dict[str, bool]:
    """Choose members; `conf.py` gives the other functions to the templates of autosummary."""
    app.connect("autodoc-skip-member", _skip)
    app.connect("autodoc-process-docstring", _completed)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
