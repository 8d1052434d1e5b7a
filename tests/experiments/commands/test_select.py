"""The command `select`: the features of `selected_features`, printed and as a table."""

from __future__ import annotations

import numpy as np
import pandas
import pytest

from boostsample import BoostSampleClassifier
from tests.experiments.conftest import CommandLine

FEW = ("--pairs", "4", "--chosen", "5")


@pytest.fixture
def frame() -> pandas.DataFrame:
    """60 columns of noise, of which two make the class, and a copy of one of these."""
    X = np.random.default_rng(0).normal(size=(160, 60))
    table = pandas.DataFrame(X, columns=["=x", *(f"g{at}" for at in range(1, 60))])
    table["copy"] = table["=x"] + 0.01 * table["g5"]
    table["y"] = np.where(table["=x"] + table["g9"] > 0, "yes", "no")
    table.to_csv("t.csv", index=False)
    return table


def test_features_are_those_of_the_classifier(cli: CommandLine, frame: pandas.DataFrame) -> None:
    given = ("select", "t.csv", "--target", "y", *FEW)
    out = cli(*given, "--seed", "3", "--drop", "g7", "-o", "s.csv")
    model = BoostSampleClassifier(random_state=3)
    result = model.selected_features(
        frame.drop(columns=["y", "g7"]), frame["y"], n_pairs=4, n_chosen=5
    )
    assert {"g9"} < {*result.names} <= {"g9", "=x", "copy"}
    assert str(result) in out
    written = pandas.read_csv("s.csv")
    np.testing.assert_array_equal(written["share"], result.to_frame()["share"])
    assert written["name"].str.lstrip("'").tolist() == result.to_frame()["name"].tolist()
    assert not written["name"].str.startswith("=").any()
    assert out.endswith(f"features: s.csv, {len(written)} candidates\n")
    alone = cli(*given, "--correlated", "none")
    assert "correlated: " in out
    assert "correlated: " not in alone


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ("", "t.csv needs the column of the classes; add --target"),
        ("--target y --pairs 1", "'--pairs': 1 is not in the range x>=2"),
        ("--target y --correlated much", "--correlated must be a number or none, got 'much'"),
        ("--target y --bound best", "unknown bound 'best'; known: worst-case, r-concave"),
        ("--target y --overwrite", "--overwrite needs a file to replace"),
        ("--target y -o s.txt", "s.txt"),
    ],
)
@pytest.mark.usefixtures("frame")
def test_refusals(cli: CommandLine, options: str, says: str) -> None:
    assert says in cli.refused("select", "t.csv", *options.split(), silent=False)
