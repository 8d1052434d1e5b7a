"""The commands of the page of questions run in its order."""

from __future__ import annotations

from boostsample.experiments.results.read_folder import read_results
from tests.documents.pages import DOCS, commands
from tests.experiments.conftest import CommandLine


def test_the_page_of_questions(cli: CommandLine) -> None:
    printed = []
    written = [words[1:] for words in commands(DOCS / "questions.md") if len(words) > 2]
    for command in written:  # a name in a sentence has two words
        small = ["--repeats", "2", "--quiet"] if command[0] == "compare" else []
        printed.append(cli(*command, *small))
    _, budgets, picture, _, variants, _, learners, spent, levels, areas = printed[:10]
    _, costs, picture_of_costs = printed[10:]
    assert "digits: log10 loss after 30 stumps, mean (std) of 2 repetitions" in budgets
    heads = [line.split() for line in budgets.splitlines()]
    assert heads[1] == ["budget", "full", "uniform-naive", "laminating"]
    assert [row[0] for row in heads[3:8]] == ["1N", "3N", "10N", "30N", "100N"]
    assert len({tuple(row[1:3]) for row in heads[3:8]}) == 1  # `full` is the same in each
    assert picture == "plot: budgets.svg\n"
    assert "laminating (learning_rate=0.1)" in variants
    assert [line.split()[0] for line in variants.splitlines()[3:6]] == ["mh", "real-mh", "gentle"]
    assert "product:n_terms=3" in learners
    assert [line.split()[0] for line in learners.splitlines()[3:5]] == [
        "uniform-naive",
        "laminating",
    ]
    assert "(max_looks=1,000,000 is reached); later rows repeat the last state" in spent
    spent_by = read_results("spent").table.groupby("budget")["looks"].max()
    assert 1e6 <= spent_by["10N"] < 1.02e6
    assert "mean (std) of 2 repetitions" in levels
    assert "area under log10 loss (mean over the logarithm of the axis)" in areas
    assert costs.splitlines()[1].split() == ["cost", "uniform-naive", "laminating"]
    assert picture_of_costs == "plot: on-demand.svg\n"
