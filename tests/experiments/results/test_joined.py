"""Results folders of different learners in one table: labels and words tell them apart."""

from __future__ import annotations

from typing import Any

import pytest

from boostsample.errors import SettingError
from boostsample.experiments.results.joined import joined_results
from boostsample.experiments.results.read_folder import Results
from boostsample.experiments.results.titles import label_of, learner_label
from boostsample.experiments.tables.score_tables import chosen_strategies, result_table
from tests.experiments.fake_results import curve, results

TREE = "tree:n_leaves=8"


def folder(learner: str, **facts: Any) -> Results:
    """Two strategies; trees lose 1 more of log10 loss than stumps."""
    shift = 0.0 if learner == "stump" else -1.0
    curves = [
        [{**row, "learner": learner} for row in curve(name, repetition, shift=shift)]
        for name in ("full", "laminating")
        for repetition in (0, 1)
    ]
    return results(curves, **facts)


def test_one_learner_leaves_results_as_they_are() -> None:
    one = folder("stump")
    assert joined_results([one]) == [one]


def test_two_learners_make_one_table_whose_labels_name_them() -> None:
    (table,) = result_table(joined_results([folder("stump"), folder(TREE)]), "loss")
    names = ("full", "laminating")
    assert table.header == (
        "rounds",
        *(f"{name} ({learner})" for learner in ("stump", TREE) for name in names),
    )
    assert table.title.startswith("made: ")
    assert [row[0] for row in table.rows] == ["10", "100"]


@pytest.mark.parametrize(
    ("learner", "unit", "title"),
    [("stump", "stumps", "made: log10"), (TREE, "rounds", f"made, learner {TREE}: log10 loss")],
)
def test_a_folder_of_trees_counts_rounds_and_names_the_learner(
    learner: str, unit: str, title: str
) -> None:
    one = folder(learner)
    (table,) = result_table([one], "loss")
    assert table.header[0] == unit
    assert table.title.startswith(title)
    assert table.transposed().header[1] == f"10 {unit}"


def test_step_sizes_make_other_learners() -> None:
    small = learner_label({"learner": "stump", "learning_rate": 0.1, "smoothing": 0.01})
    assert small == "stump:learning_rate=0.1:smoothing=0.01"
    (table,) = result_table(joined_results([folder("stump"), folder(small)]), "loss")
    assert table.header[:2] == ("stumps", "full (stump)")
    assert table.header[-1] == f"laminating ({small})"
    (table,) = result_table([folder(small)], "loss")
    assert table.title.startswith(f"made, learner {small}: log10 loss")


def test_the_same_learner_twice_is_refused() -> None:
    with pytest.raises(SettingError, match="the data set 'made' is in two of the results folders"):
        joined_results([folder("stump"), folder(TREE), folder(TREE)])


def test_another_seed_is_refused() -> None:
    with pytest.raises(SettingError, match="must have the same seed"):
        joined_results([folder("stump"), folder(TREE, seed=7)])


@pytest.mark.parametrize("key", ["sha256", "families", "n_train"])
def test_other_examples_are_refused(key: str) -> None:
    with pytest.raises(SettingError, match="must have the same "):
        joined_results([folder("stump"), folder(TREE, facts={key: [61]})])


def test_strategies_are_chosen_with_and_without_their_learner() -> None:
    labels = dict.fromkeys(
        label_of(row) for one in joined_results([folder("stump"), folder(TREE)]) for row in one.rows
    )
    both = ("full (stump)", f"full ({TREE})")
    assert chosen_strategies(["full"], labels) == both
    assert chosen_strategies([both[1]], labels) == both[1:]
