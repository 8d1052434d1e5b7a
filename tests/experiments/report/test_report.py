"""The report: a page that is valid, needs nothing else, and says what the results say."""

from __future__ import annotations

import json
import re
import shutil
import statistics
from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote

import pytest

from boostsample.errors import DataError, SettingError
from boostsample.experiments.commands.cli import main
from boostsample.experiments.report import html_report
from boostsample.experiments.report.html_report import check_report, make_report
from boostsample.experiments.results.read_folder import read_results, read_runs
from boostsample.experiments.tables.score_tables import result_table
from boostsample.files.atomic import slug
from tests.experiments.fake_results import curve, results
from tests.experiments.pages import Page
from tests.experiments.small_runs import make_incomplete
from tests.paths import needs_results

CHESS = "chess(d=5,J=3,L=3,n=200)"
GRID = f"""\
title = "Two & <more>"
data = ["{CHESS}", "digits"]
strategies = [
  "uniform-naive",
  "laminating:scheme=distinct",
  {{ name = "ucb", exploration = [2, 0.02], reward_scale = [1, 30] }},
  "mas-1q",
]
rounds = [2, 8, 20]
repeats = 3
"""
IN_CELLS = ("Families that the stumps come from", "Edges: expected", "Margins")


def train(folder: Path, text: str) -> Path:
    grid = folder / "grid.toml"
    grid.write_text(text, encoding="utf-8")
    results = folder / "results"
    assert main(["compare", "--grid", str(grid), "--results", str(results), "--quiet"]) == 0
    return results


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return train(tmp_path_factory.mktemp("two"), GRID)


@pytest.fixture(scope="module")
def small(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same without cells."""
    small = tmp_path_factory.mktemp("small")
    for name in ("table.csv", "plan.json"):
        shutil.copy(folder / name, small)
    return small


@pytest.fixture
def blank(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pictures are empty, for tests that are not about them: drawing takes most of the time."""
    empty = b'<svg xmlns="http://www.w3.org/2000/svg"/>'
    monkeypatch.setattr(
        "boostsample.experiments.report.html_report.picture_bytes", lambda figure, kind: empty
    )


@pytest.fixture(scope="module")
def html(folder: Path) -> str:
    return make_report([folder])


@pytest.fixture(scope="module")
def page(html: str) -> Page:
    return Page(html)


def chapters(page: Page) -> list[str]:
    return [text for level, text in page.headings if level == 2]


def parts(page: Page) -> list[str]:
    return [text for level, text in page.headings if level == 3]


def test_the_page_is_valid_and_needs_nothing_else(html: str, page: Page) -> None:
    assert page.faults == []
    assert len(html.encode()) < 5_000_000
    assert 'name="viewport" content="width=device-width' in html
    assert "prefers-color-scheme: dark" in html
    assert "@media print" in html


def test_the_contents_lead_to_every_chapter_and_part(page: Page) -> None:
    expected = ["Summary", "What was compared", CHESS, "digits", "To repeat it", "Notes"]
    assert chapters(page) == expected
    targets = [target for target, _ in page.links if re.match("#(?!note-)", target)]
    assert len(targets) == len(expected) + len(parts(page))
    assert len(set(targets)) == len(targets)
    assert page.text.count("the best is compared with each other strategy") == 1  # notes once


def test_the_reader_of_pages_sees_faults(html: str) -> None:
    damages = {
        "<main>": "<main><p>",
        'lang="en"': "",
        'scope="col"': "",
        "</h1>": "</h2>",
        'href="#repeat"': 'href="#nowhere"',
        'id="notes"': 'id="summary"',
        "<h2 ": '<img src="https://example.org/x.png" alt="a picture of some length"><h2 ',
        "<header>": "<header><script></script>",
        "&amp; ": "& ",
        'alt="': 'title="',
        "color-scheme: light dark;": "background: url(x.png);",
    }
    for before, after in damages.items():
        assert before in html
        damaged = re.sub(f"(?<!xmlns=){re.escape(before)}", after, html, count=1)
        assert Page(damaged).faults, before


@pytest.mark.parametrize(
    ("caption", "column"), [("Log10 loss", "log10_loss"), ("Test error", "test_error")]
)
def test_tables_have_the_means_of_the_rows(
    page: Page, folder: Path, caption: str, column: str
) -> None:
    rows = [row for row in read_results(folder).rows if row["data"] == "digits"]
    table = page.table("digits", caption)
    for label in ("uniform-naive", "ucb*", "ucb* charged"):
        cells = table.column(label)
        assert list(cells) == ["2", "8", "20"]
        values = [row[column] for row in rows if row["strategy"] == label and row["stumps"] == 20]
        expected = f"{statistics.fmean(values):.2f} ({statistics.stdev(values):.2f})"
        assert cells["20"][0].rstrip("=") == expected
    means = {
        label: statistics.fmean(
            row[column] for row in rows if row["stumps"] == 20 and row["strategy"] == label
        )
        for label in ("uniform-naive", "laminating", "ucb*", "mas-1q")
    }
    best = min(means, key=means.__getitem__)
    shown = {"laminating": "laminating:scheme=distinct"}.get(best, best)
    assert table.column(shown)["20"][1] == "best"


def test_each_axis_has_tables_and_curves(page: Page) -> None:
    headings = parts(page)
    for axis in ("looks", "cost", "seconds"):
        assert headings.count(f"At equal {axis}") == 2
    assert headings.count("After equally many stumps") == 2
    for metric in ("Log10 loss", "Test error"):
        axes = [
            table.rows[0][0][0]
            for table in page.tables
            if table.chapter == "digits" and table.caption.startswith(metric)
        ]
        assert axes == ["stumps", "looks", "cost", "seconds"]
    for caption in ("Area under", "Looks so far", "Seconds of training", "Features", "Examples"):
        page.table(CHESS, caption)
    # Four curves, Q and T, edges, margins; families where there are several.
    assert len(page.pictures) == 7 + 8
    assert all("digits" in one["alt"] or "chess" in one["alt"] for one in page.pictures)


def test_what_was_compared_is_told(page: Page, folder: Path) -> None:
    data = page.table("What was compared", "Data sets")
    assert data.column("training examples")["digits"][0] == "1,347 or 1,3488 x 8 pixels"
    strategies = page.table("What was compared", "Strategies")
    tuned = strategies.column("tuned over")["ucb*"][0]
    assert tuned == "4 settings:exploration = 2, 0.02reward_scale = 1, 30"
    assert (
        "keep the better half" in strategies.column("what it does")["laminating:scheme=distinct"][0]
    )
    kept = page.table("digits", "Settings kept")
    assert sum(int(row[3][0]) for row in kept.rows[1:]) == 3
    looks = page.table("digits", "Looks per round").column("search")
    runs = [run for run in read_runs(folder)["digits"] if run.variant.name == "laminating"]
    spent = sum(run.total.search for run in runs) / sum(run.n_rounds for run in runs)
    assert looks["laminating:scheme=distinct"][0] == f"{spent:,.0f}"


@needs_results
def test_the_grid_can_be_saved_and_trains_nothing_new(
    page: Page, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ((target, link),) = [(t, link) for t, link in page.links if "download" in link]
    assert link["download"] == "chess-digits.json"
    text = unquote(target.partition(",")[2])
    assert text in page.codes
    assert json.loads(text)["entries"]["title"] == "Two & <more>"
    grid, again = tmp_path / link["download"], tmp_path / "again"
    grid.write_text(text, encoding="utf-8")
    shutil.copytree(folder, again)
    before = {path: path.read_bytes() for path in again.rglob("*") if path.is_file()}
    times = {path: path.stat().st_mtime_ns for path in before}
    assert main(["compare", "--grid", str(grid), "--results", str(again), "--quiet"]) == 0
    assert "results: " in capsys.readouterr().out
    after = {path: path.read_bytes() for path in again.rglob("*") if path.is_file()}
    assert after == before
    assert {path: path.stat().st_mtime_ns for path in after} == times


def test_a_small_folder_has_no_pictures_of_cells(small: Path) -> None:
    page = Page(make_report([small]))
    assert page.faults == []
    assert "these pictures are left out" in page.text
    assert not [text for text in parts(page) if text.startswith(IN_CELLS)]
    assert len(page.pictures) == 2 * 5
    assert page.table("digits", "Settings kept").rows[1:]
    assert page.table(CHESS, "Log10 loss").column("mas-1q")["20"][0]


@pytest.mark.usefixtures("blank")
def test_an_incomplete_folder_goes_as_far_as_it_can(
    folder: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    part = tmp_path / "part"
    shutil.copytree(folder, part)
    make_incomplete(part)
    for path in (part / "cells").glob("digits-mas-1q-r[12]*"):
        path.unlink()
    with caplog.at_level("INFO", logger="boostsample"):
        page = Page(make_report([part]))
    assert [record.getMessage() for record in caplog.records if "2 runs" in record.getMessage()]
    assert page.faults == []
    assert "2 runs are missing" in page.text
    assert chapters(page) == [
        "Summary",
        "What was compared",
        CHESS,
        "digits",
        "To repeat it",
        "Notes",
    ]
    assert [text for text in parts(page) if text.startswith(IN_CELLS)]


@pytest.mark.usefixtures("blank")
def test_lost_cells_of_a_complete_folder_are_told(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The tables are whole; pictures of cells leave out what is lost."""
    part = tmp_path / "part"
    shutil.copytree(folder, part)
    first, second, *_ = sorted((part / "cells").glob("digits-mas-1q-r*"))
    first.unlink()
    second.write_bytes(second.read_bytes()[:-100])
    text = Page(make_report([part])).text
    assert "The cells of 2 runs of" in text
    assert "runs are missing" not in text
    picture = str(tmp_path / "x.svg")
    assert main(["plot", str(part), "--what", "edges", "--data", "digits", "-o", picture]) == 0
    assert "the cells of 2 runs are missing or cannot be used; the" in capsys.readouterr().err


def test_names_are_text_and_the_same_results_make_the_same_bytes(tmp_path: Path) -> None:
    name = "a <i>b</i> & \"c\" 'd' #"
    lines = [f"{at % 7},{at % 5},{at % 2}" for at in range(40)]
    (tmp_path / "x.csv").write_text("\n".join(["a,b,label", *lines]) + "\n", encoding="utf-8")
    odd = tmp_path / "odd"
    odd.mkdir()
    path = shutil.copy(tmp_path / "x.csv", odd / "a <i>b<.csv")
    results = str(tmp_path / "results")
    command = ["compare", "--data", str(path), "--strategies", "full", "--rounds", "1,2"]
    assert main([*command, "--repeats", "1", "--quiet", "--results", results]) == 0
    html = make_report([results], name)
    page = Page(html)
    assert page.faults == []
    assert page.title == name
    assert "<i>" not in html
    assert "a <i>b<" in chapters(page)
    assert make_report([shutil.copytree(results, tmp_path / "another name")], name) == html


@pytest.mark.usefixtures("blank")
def test_several_folders_make_one_report(
    small: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    grid = re.sub(r"(?m)^(title|data) = .*$", "", GRID).replace("repeats = 3", "repeats = 2")
    other = train(tmp_path_factory.mktemp("one"), f'data = ["diagonal(d=4,n=80)"]\n{grid}')
    shutil.rmtree(other / "cells")  # whose pictures take most of the time
    page = Page(make_report([small, other], "Three"))
    assert page.faults == []
    assert chapters(page)[2:5] == [CHESS, "digits", "diagonal(d=4,J=4,q=0.1,n=80)"]
    assert page.title == "Three"
    assert "2 or 3 repetitions" in page.text
    assert [link["download"] for _, link in page.links if "download" in link] == [
        "chess-digits.json",
        "diagonal.json",
    ]
    with pytest.raises(SettingError, match=r"chess.* is in two of the results folders"):
        make_report([small, small])


def test_no_results_no_report(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"has no results: plan.json is missing; name a folder"):
        make_report([tmp_path])


def test_a_missing_extra_is_told_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    want = r"need jinja2 and matplotlib, which are not .* pip install 'boostsample\[report\]'$"
    with pytest.raises(SettingError, match=want):
        check_report(tmp_path / "x.html")


def test_the_summary_names_few_of_many() -> None:
    made = results([curve(f"s{at}", r) for at in range(9) for r in range(2)])
    (table,) = result_table([made], "loss")
    flags = ("", "best", *["tied"] * 7, "")
    assert html_report._winner(replace(table, flags=(flags,) * len(table.rows))).endswith(
        "\nnot told apart: s1, s2, s3, s4, and 3 of 8 others"
    )


def test_slugs() -> None:
    assert [slug(text) for text in ("Ab c--", "ü", "x" * 99)] == ["ab-c", "data", "x" * 60]
