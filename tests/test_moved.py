"""Former import paths of public modules keep working."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

from boostsample._moved import MOVED
from tests.paths import ROOT

FACADES = {
    "boostsample.testing": ("check_strategy", "check_family", "STRATEGY_CHECKS"),
    "boostsample.learners": ("LEARNERS", "Learner", "Stump", "Term", "make_learner"),
    "boostsample.strategy": ("FamilyInfo", "Outcome", "Pool", "Sample", "Stump", "Stumps"),
    "boostsample.experiments.plan": ("Plan", "parse_names", "prepare"),
    "boostsample.experiments.results": ("read_results", "read_runs"),
    "boostsample.experiments.tables": ("Table", "score_table", "to_text"),
    "boostsample.experiments.plots": ("comparison_figure", "save_picture"),
    "boostsample.experiments.cells": ("Cell",),
}


@pytest.mark.parametrize("path", MOVED)
def test_a_former_path_is_the_same_module(path: str) -> None:
    former = importlib.import_module(f"boostsample.{path}")
    present = importlib.import_module(f"boostsample.{MOVED[path]}")
    assert former is present
    assert former.__spec__ is not None
    assert former.__name__ == former.__spec__.name == f"boostsample.{MOVED[path]}"


@pytest.mark.parametrize("package", FACADES)
def test_a_folder_offers_the_names_of_the_former_module(package: str) -> None:
    module = importlib.import_module(package)
    assert [name for name in FACADES[package] if not hasattr(module, name)] == []


def test_a_former_path_comes_first_in_a_fresh_interpreter() -> None:
    code = "from boostsample.mixture import fit_mixture; from boostsample.planning import mixture; "
    code += "assert mixture.fit_mixture is fit_mixture"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


def test_an_unknown_path_is_refused() -> None:
    with pytest.raises(ModuleNotFoundError, match=r"boostsample\.bosster"):
        importlib.import_module("boostsample.bosster")
