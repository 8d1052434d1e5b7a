"""Every module lies in a layer of the import contracts, and none imports from a layer above it.

`lint-imports` checks the same and more; these tests name the line of `pyproject.toml` to change.
"""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.paths import ROOT

CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]
LAYERED: dict[str, dict[str, Any]] = {
    contract["containers"][0]: contract
    for contract in CONTRACTS["contracts"]
    if contract["type"] == "layers"
}
FOLDERS = {"boostsample": ROOT / "boostsample", "boostsample.experiments": ROOT / "experiments"}


def layer_of(container: str) -> dict[str, int]:
    """The layer of each module or folder that a contract names; 0 is the top one."""
    layers = LAYERED[container]["layers"]
    return {name: at for at, layer in enumerate(layers) for name in layer.split(" | ")}


def children(container: str) -> dict[str, Path]:
    """Modules and packages of a container."""
    modules = {path.stem: path for path in FOLDERS[container].glob("*.py")}
    modules |= {path.parent.name: path.parent for path in FOLDERS[container].glob("*/__init__.py")}
    del modules["__init__"]
    return modules


def imported(path: Path) -> Iterator[tuple[int, str]]:
    """Line and dotted name of each import of a file, those within functions included."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)


def test_there_are_two_layered_containers() -> None:
    assert set(LAYERED) == set(FOLDERS)
    assert all(contract["exhaustive"] for contract in LAYERED.values())


@pytest.mark.parametrize("container", FOLDERS)
def test_every_module_and_folder_is_named_in_a_layer(container: str) -> None:
    named = set(layer_of(container))
    there = set(children(container)) - set(LAYERED[container].get("exhaustive_ignores", ()))
    place = f"'layers' of the contract for {container} in pyproject.toml"
    assert there - named == set(), f"name them in the {place}"
    assert named - there == set(), f"remove them from the {place}"


@pytest.mark.parametrize("container", FOLDERS)
def test_no_module_imports_from_a_layer_above(container: str) -> None:
    layer, depth = layer_of(container), container.count(".") + 1
    faults = []
    for child, place in children(container).items():
        for path in [place] if place.is_file() else sorted(place.rglob("*.py")):
            for line, name in imported(path):
                parts = name.split(".")
                other = parts[depth] if len(parts) > depth and name.startswith(container) else ""
                if layer.get(other, len(layer)) < layer.get(child, 0):
                    faults.append(f"{path.relative_to(ROOT)}:{line} imports {name}")
    assert faults == []
