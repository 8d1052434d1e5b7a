"""The package offers its public names without importing the engine until one is used."""

from __future__ import annotations

import subprocess
import sys

from boostsample.experiments import plan
from boostsample.experiments.plan import Plan, parse_names, prepare, prepared, variants
from boostsample.experiments.plan import plan as plan_module
from tests.paths import ROOT


def test_public_names_are_those_of_the_modules() -> None:
    names = set(plan.__all__)
    for module in (plan_module, prepared, variants):
        for name in names & set(vars(module)):
            assert getattr(plan, name) is getattr(module, name)
    assert (Plan, parse_names, prepare) == (
        plan_module.Plan,
        variants.parse_names,
        prepared.prepare,
    )


def test_there_are_no_other_names() -> None:
    assert not hasattr(plan, "Plann")


def test_tables_can_read_names_without_the_engine() -> None:
    code = (
        "import sys, boostsample.experiments.plan.variants\n"
        "assert not {'numba', 'sklearn', 'scipy'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)
