"""Counts, budgets and environments that can only be mistakes are refused before any work."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from boostsample import SettingError, jit
from boostsample.checks import budget_looks
from tests.experiments.conftest import CommandLine

HUGE = "1" + "0" * 24
DATA = ("--data", "t.csv:label=y", "--quiet")
FIT = ("fit", "t.csv", "--target", "y", "-o", "m.bsm", "--rounds", "2", "--quiet")
COMPARE = ("compare", *DATA, "--strategies", "uniform-naive", "--rounds", "2", "--repeats", "1")
CALIBRATE = ("calibrate", *DATA, "--rounds", "2")

#: Options that count, with the commands that take them.
COUNTS: dict[str, tuple[tuple[str, ...], ...]] = {
    "--jobs": (FIT, COMPARE, (*COMPARE, "--backend", "loky")),
    "--rounds": (FIT, COMPARE, CALIBRATE),
    "--repeats": (COMPARE, CALIBRATE),
    "--draws": ((*COMPARE, "--strategies", "ucb", "--tune"),),
    "--shard": ((*COMPARE, "--results", "r"),),
    "--dpi": ((*COMPARE, "--plot", "p.png"),),
    "--font-size": ((*COMPARE, "--plot", "p.png"),),
    "--size": ((*COMPARE, "--plot", "p.png"),),
    "--example": (("list", "families", "--picture", "f.png"),),
    "--image-shape": (("list", "families", "--picture", "f.png"),),
}


@pytest.fixture(autouse=True)
def _with_a_table() -> None:
    rows = [f"{at % 7},{at % 5},{at % 7 * (at % 5) > 4}" for at in range(60)]
    Path("t.csv").write_text("\n".join(["a,b,y", *rows]), "utf-8")


@pytest.mark.parametrize("value", ["0", "-" + HUGE])
@pytest.mark.parametrize(
    ("option", "args"), [(option, args) for option, many in COUNTS.items() for args in many]
)
def test_counts_out_of_range_are_refused(
    option: str, args: tuple[str, ...], value: str, cli: CommandLine
) -> None:
    if option == "--example" and value == "0":
        pytest.skip("the first example is 0")
    given_value = {"--shard": f"1/{value}", "--image-shape": f"{value}x8"}.get(option, value)
    line = cli.refused(*args, option, given_value, silent=False)
    assert option.strip("-") in line.replace("_", "-")
    assert ("must be" in line, "bug" in line) == (True, False)
    assert {path.name for path in Path().iterdir()} == {"t.csv"}


@pytest.mark.parametrize(
    ("option", "rule"),
    [
        ("--score-every", "score_every must be a percentage from 0.01 to 100, got nan"),
        ("--max-looks", "max_looks must be a whole number as in 1e9, got nan"),
        ("--max-seconds", "max_seconds must be above 0 and finite, got nan"),
        ("--max-cost", "max_cost must be above 0 and finite, got nan"),
        ("--learning-rate", "learning_rate must be above 0 and at most 1, got nan"),
        ("--smoothing", "smoothing must be at least 0 and finite, got nan"),
    ],
)
def test_no_number_is_refused_by_the_rule(option: str, rule: str, cli: CommandLine) -> None:
    assert rule in cli.refused(*COMPARE, option, "nan", silent=False)


def test_a_budget_without_n_is_at_least_n(cli: CommandLine) -> None:
    budget = "44"
    Path("grid.toml").write_text(f"budget = {budget}", "utf-8")
    grid = ("compare", "--grid", "grid.toml", *DATA, "--strategies", "uniform-naive")
    for args in (FIT, (*FIT, "--dry-run"), COMPARE, CALIBRATE, grid):
        option = () if args is grid else ("--budget", budget)
        line = cli.refused(*args, *option, silent=False)
        n = 60 if args[0] == "fit" else 45
        rule = f"budget must be at least one look for each of the N = {n} training examples"
        assert f"{rule}, got {budget}; write {budget}N for {budget} times N" in line


@given(st.integers(1, 10**6), st.integers(1, 10**6))
def test_budgets_mean_looks_as_numbers_and_with_n(budget: int, n: int) -> None:
    assert budget_looks(budget, n) == budget
    assert budget_looks(f"{budget}N", n) == budget * n
    if budget >= n:
        assert budget_looks(str(budget), n) == budget
        return
    with pytest.raises(SettingError, match=f"{budget}N for {budget} times N"):
        budget_looks(str(budget), n)


def test_budgets_beyond_64_bits_are_refused() -> None:
    assert budget_looks(10**18 - 1, 7) == 10**18 - 1
    with pytest.raises(SettingError, match=r"at most 1,152,921,504,606,846,976 looks, got 9+N,"):
        budget_looks("999999999999999999N", 7)


def test_variables_of_the_environment_are_named(
    monkeypatch: pytest.MonkeyPatch, cli: CommandLine
) -> None:
    monkeypatch.setenv("NUMBA_NUM_THREADS", "2")
    runpy.run_path(str(jit.__file__))
    monkeypatch.setenv("NUMBA_NUM_THREADS", "0")
    with pytest.raises(SettingError, match=r"NUMBA_NUM_THREADS must be .*, got '0'; correct it"):
        runpy.run_path(str(jit.__file__))
    monkeypatch.delenv("NUMBA_NUM_THREADS")
    monkeypatch.setenv("LOKY_MAX_CPU_COUNT", "abc")
    text = "the environment variable LOKY_MAX_CPU_COUNT must be a whole number, got 'abc'"
    line = cli.refused(*FIT, "--jobs", "-1", silent=False)
    assert line == f"{text}; correct it, or unset it"
