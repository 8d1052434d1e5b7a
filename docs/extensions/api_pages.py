"""What the reference describes: each name once, in the first module that has it; our members only.

Members that a class inherits from scikit-learn or Python are left out. The class of a strategy also
has the text of its file.
"""

from __future__ import annotations

import importlib
import inspect
import sys
from typing import Any

MODULES = (
    "boostsample",
    "boostsample.strategies",
    "boostsample.families",
    "boostsample.learners",
    "boostsample.bandits",
    "boostsample.planning.expected_edge",
    "boostsample.planning.mixture",
    "boostsample.testing",
)
"""In the order of docs/api.md; a test compares them."""


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


def _with_its_file(
    app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]
) -> None:
    """Put what the file of a strategy says, its cost and its paper, after the summary of the class.

    Such a file has one class, and its text is the description that ``boostsample list strategy``
    prints.
    """
    if what == "class" and str(obj.__module__).startswith("boostsample.strategies."):
        text = inspect.getdoc(sys.modules[obj.__module__]) or ""
        at = lines.index("") if "" in lines else len(lines)
        lines[at:at] = ["", *text.splitlines(), ""]


def setup(app: Any) -> dict[str, bool]:
    """Choose members; `conf.py` gives the other functions to the templates of autosummary."""
    app.connect("autodoc-skip-member", _skip)
    app.connect("autodoc-process-docstring", _with_its_file)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
