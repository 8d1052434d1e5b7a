"""`import boostsample` is light, and its names are there when they are asked for."""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import subprocess
import sys

import pytest

import boostsample
from tests.paths import ROOT

HEAVY = {"joblib", "matplotlib", "numba", "numpy", "pandas", "pywt", "scipy", "sklearn"}


def measure(statement: str) -> tuple[float, set[str]]:
    """Seconds that a statement takes in a fresh interpreter, and the packages that it imports."""
    code = (
        "import sys, time, json\n"
        "before = set(sys.modules)\n"
        "start = time.perf_counter()\n"
        f"{statement}\n"
        "seconds = time.perf_counter() - start\n"
        "packages = sorted({name.partition('.')[0] for name in set(sys.modules) - before})\n"
        "print(json.dumps([seconds, packages]))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    seconds, packages = json.loads(done.stdout)
    return seconds, set(packages)


def test_import_takes_a_blink() -> None:
    # The best of several: other processes can only make it slower.
    assert min(measure("import boostsample")[0] for _ in range(5)) < 0.05


@pytest.mark.parametrize(
    "statement",
    [
        "import boostsample",
        "import boostsample.errors",
        "import boostsample; boostsample.DataError",
    ],
)
def test_import_brings_nothing_heavy(statement: str) -> None:
    assert measure(statement)[1] & HEAVY == set()


def test_the_command_line_imports_no_scikit_learn() -> None:
    packages = measure("import boostsample.experiments.commands.cli")[1]
    assert packages & {"matplotlib", "numba", "pandas", "sklearn"} == set()


@pytest.mark.parametrize("name", [name for name in boostsample.__all__ if name != "__version__"])
def test_every_public_name_is_found(name: str) -> None:
    module = importlib.import_module(f"boostsample.{boostsample._MODULE_OF[name]}")
    assert getattr(boostsample, name) is getattr(module, name)


def test_the_three_lists_of_names_agree() -> None:
    tree = ast.parse(inspect.getsource(boostsample))
    block = next(
        node
        for node in tree.body
        if isinstance(node, ast.If)
        and isinstance(node.test, ast.Name)
        and node.test.id == "TYPE_CHECKING"
    )
    typed = {
        alias.name: node.module
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert typed == {name: f"boostsample.{at}" for name, at in boostsample._MODULE_OF.items()}
    assert set(boostsample.__all__) == {*boostsample._MODULE_OF, "__version__"}


def test_dir_lists_names_that_were_not_asked_for_yet() -> None:
    code = "import boostsample; assert set(boostsample.__all__) <= set(dir(boostsample))"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


def test_an_unknown_name_is_an_attribute_error() -> None:
    name = "Bosster"
    with pytest.raises(AttributeError, match="module 'boostsample' has no attribute 'Bosster'"):
        _ = getattr(boostsample, name)
