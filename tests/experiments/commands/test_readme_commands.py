"""README and docs show what their commands on digits print, to the letter."""

from __future__ import annotations

import re

from boostsample.experiments.results.read_folder import read_results
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
