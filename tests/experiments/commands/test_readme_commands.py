"""README and docs show what their commands on digits print; those of the page of questions run."""

from __future__ import annotations

import re

from boostsample.experiments.results.read_folder import read_results
from tests.documents.pages import DOCS, commands
from tests.experiments.conftest import CommandLine
from tests.paths import ROOT


def test_the_main_job_without_any_option(cli: CommandLine) -> None:
    tables = cli("compare").split("\n\n")
    assert re.match(r"digits: 1,347 training and 450 test examples, 10 classes", tables[0])
    header = r"stumps +full +uniform-naive +uniform-1q +uniform-q1 +laminating\n"
    cell = r" +-?\d+\.\d\d \(\d+\.\d\d\)"
    for title, table in zip(("log10 loss", "test error in percent"), tables[1:3], strict=True):
        lines = rf"{title}, mean \(std\) of 3 repetitions\n{header}[- ]+"
        assert re.fullmatch(rf"{lines}\n( +(10|100|300)({cell}){{5}}\n?){{3}}", table), table
    readme = (ROOT / "README.md").read_text("utf-8")
    for table in tables[:3]:
        assert f"\n{table}\n" in readme
    tutorial = (ROOT / "docs" / "tutorial_comparison.md").read_text("utf-8")
    for table in (*tables[:3], tables[4]):
        assert f"\n{table}\n" in tutorial
    assert re.search(r"\nlaminating +13,4\d\d +13,\d\d\d +0 +1,34\d +\d+\.\d\d$", tables[3], re.M)
    assert tables[4].splitlines()[:2] == ["settings in use", "full"]
    assert tables[4].endswith(
        "\nuniform-q1:n_features=10:scheme=iid\nlaminating:n_features=32:scheme=iid"
    )
    folder = tables[5].strip().removeprefix("results: ")
    assert len(read_results(folder).rows) == 5 * 3 * 3
    assert "boostsample: boosting" in cli.err


def test_the_tuning_of_the_page_on_comparing(cli: CommandLine) -> None:
    page = (ROOT / "docs" / "comparing.md").read_text("utf-8")
    (command,) = re.findall(r"\n    boostsample compare --tune \\\n +--strategies '(.*)'\n", page)
    tables = cli("compare", "--quiet", "--tune", "--strategies", command).split("\n\n")
    for table in (tables[1], tables[4]):
        assert f"\n{table}\n" in page


# ---------------------------------------------------------------------------------------- questions


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
