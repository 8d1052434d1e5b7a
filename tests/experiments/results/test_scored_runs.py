"""Metrics of users: functions of files and entry points, on stored runs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from boostsample.errors import DataError, SettingError
from boostsample.experiments.data.datasets import load_dataset
from boostsample.experiments.metrics import (
    METRICS,
    add_metric,
    declare_metric,
    log_loss,
    metric_named,
    own_score,
    probabilities,
)
from boostsample.experiments.results.read_folder import read_results, read_runs
from boostsample.experiments.results.scored_runs import read_model, read_scored
from boostsample.experiments.run.comparison import compare
from boostsample.experiments.tables.score_tables import result_table
from boostsample.labels import error_percent
from tests.experiments.conftest import CommandLine
from tests.experiments.pages import Page
from tests.experiments.small_runs import with_entry_points

CHESS = "chess(d=3,J=3,L=3,n=200)"
FILE = """
import numpy as np
from boostsample.experiments.metrics import declare_metric

@declare_metric("errors in percent", better=-1, decimals=2, of="classes")
def wrong(y, predicted):
    return 100 * (predicted != y).mean()

@declare_metric("largest score", better=1, of="scores")
def largest(y, scores):
    return scores.max()

def log_loss(y, p):
    return -np.log(p[np.arange(len(y)), y]).mean()

def my_log_loss(y, p):
    return -np.log(p[np.arange(len(y)), y]).mean()

def fails(y, p):
    return p[len(y)]
"""


@pytest.fixture(autouse=True)
def _metrics() -> Iterator[None]:
    before = dict(METRICS)
    yield
    METRICS.clear()
    METRICS.update(before)


def compared(cli: CommandLine, data: str = "digits", *more: str) -> None:
    Path("m.py").write_text(FILE, "utf-8")
    args = ["--data", data, "--strategies", "uniform-naive,laminating", "--rounds", "2,9"]
    cli("compare", *args, "--repeats", "2", "--results", "new", "--quiet", *more)


@pytest.mark.parametrize("more", [(), ("--code", "dense:10")])
def test_stored_runs_are_scored_as_in_training(cli: CommandLine, more: tuple[str, ...]) -> None:
    compared(cli, "digits", *more)
    for name, column in (("wrong", "test_error"), ("my_log_loss", "log_loss")):
        table = read_scored("new", metric_named(f"m.py:{name}")).table
        np.testing.assert_allclose(table[name], table[column], rtol=1e-12)
        assert table.drop(columns=name).equals(read_results("new").table)


def test_a_run_becomes_a_model(cli: CommandLine) -> None:
    compared(cli)
    model, run = read_model("new", "laminating", 1), read_runs("new")["digits"][3]
    assert (run.variant.label, run.repetition) == ("laminating", 1)
    data = load_dataset("digits")
    _, test = data.split(1, 0)
    for stumps in (2, 9):
        scores = model.decision_function(data.X[test], stumps)
        assert error_percent(scores, data.y[test]) == run.cell.errors[stumps]
    with pytest.raises(SettingError, match="unknown run of these results 'full, repetition 1'"):
        read_model("new", "full", 1)


def test_tables_and_pictures_show_them(cli: CommandLine) -> None:
    compared(cli, "chess(d=3,n=200)", "--tune")
    assert "errors in percent" in cli("table new --metric m.py:wrong")
    error = cli("table new --metric error").splitlines()[1:]
    assert cli("table new --metric m.py:wrong").splitlines()[1:] == error
    cli("plot new --metric m.py:largest -o largest.svg")
    assert Path("largest.svg").is_file()


def test_compare_keeps_the_values_with_the_folder(cli: CommandLine) -> None:
    """The second command trains nothing; tables, pictures and reports then need no file."""
    compared(cli, "chess(d=3,n=200)")
    plain = read_results("new")
    stamps = {path: path.stat().st_mtime_ns for path in Path("new/cells").iterdir()}
    compared(cli, "chess(d=3,n=200)", "--metric", "m.py:wrong", "--metric", "m.py:largest")
    assert {path: path.stat().st_mtime_ns for path in Path("new/cells").iterdir()} == stamps
    Path("m.py").unlink()
    for name in ("wrong", "largest"):
        del METRICS[name]
    scored = read_results("new")
    assert scored.settings["complete"]
    assert METRICS["largest"].stored
    assert (METRICS["largest"].title, METRICS["largest"].better) == ("largest score", 1)
    assert scored.table.drop(columns=["wrong", "largest"]).equals(plain.table)
    np.testing.assert_allclose(scored.table["wrong"], scored.table["test_error"], rtol=1e-12)
    del METRICS["wrong"]
    assert cli("table new --metric wrong").startswith(f"{CHESS}: errors in percent, mean")
    cli("plot new --metric largest -o largest.svg")
    compared(cli, "chess(d=3,n=200)")
    with pytest.raises(
        DataError, match=r"J=3.* have no wrong; run boostsample compare with --metric"
    ):
        result_table([read_results("new")], "wrong")


def test_the_report_shows_areas_and_metrics_of_the_user(
    cli: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    from boostsample.experiments.plots import curves
    from boostsample.experiments.report import html_report

    drawn: list[tuple[str, ...]] = []
    ranked: list[str] = []

    def seen(results: Any, axis: str, metrics: Any, **settings: Any) -> Any:
        drawn.append((axis, *metrics))
        return curves.curves_figure(results, axis, metrics, **settings)

    def ranks(results: Any, metric: str) -> Any:
        ranked.append(metric)
        return curves.curves_figure(results)

    empty = b'<svg xmlns="http://www.w3.org/2000/svg"/>'
    monkeypatch.setattr(html_report, "curves_figure", seen)
    monkeypatch.setattr(html_report, "picture_bytes", lambda *_: empty)
    monkeypatch.setattr(html_report, "ranks_figure", ranks)
    compared(cli, CHESS, "--data", "digits", "--metric", "m.py:largest")
    page = Page(html_report.make_report(["new"]))
    assert page.faults == []
    for chapter in ("digits", CHESS):
        tables = [t.caption for t in page.tables if t.chapter == chapter]
        assert sum(caption.startswith("Largest score") for caption in tables) == 4  # one an axis
        assert sum(caption.startswith("Area under log10 loss") for caption in tables) == 4
    heads = [head for head, _ in page.table("Summary", "The best strategies").rows[0]]
    assert heads[2:] == [
        "lowest log10 loss",
        "lowest test error in percent",
        "highest largest score",
        "lowest area under log10 loss (mean over the logarithm of the axis)",
    ]
    assert drawn[:2] == [
        ("stumps", "loss", "error", "largest"),
        ("looks", "loss", "error", "largest"),
    ]
    assert ranked == ["loss", "error", "largest", "loss-area"]


def test_functions_are_metrics_of_a_comparison_in_python(tmp_path: Path) -> None:
    settings: dict[str, Any] = {"strategies": ["uniform-naive"], "rounds": [2, 5], "repeats": 1}
    axes: dict[str, Any] = {"budget": ["1N", "3N"], "results": tmp_path / "F"}
    results = compare("chess(d=3,n=60)", metrics=[spread], **settings, **axes)
    assert results.table["spread"].gt(0).all()
    assert read_results(tmp_path / "F").table.equals(results.table)
    with pytest.raises(SettingError, match=r"must be functions of files.* got error; leave"):
        compare("chess(d=3,n=60)", metrics=["error"], **settings)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("m.py:none", r"unknown metric in m.py 'none'.*; known: wrong, largest"),
        ("m.py:log_loss", "the name of the metric 'log_loss' is taken; rename the function"),
        ("m.py:fails", r"the metric 'fails' fails: IndexError: .*m.py', line 20"),
        ("accuracy", "unknown metric 'accuracy'"),
    ],
)
def test_faults(cli: CommandLine, name: str, message: str) -> None:
    compared(cli, "chess(d=3,n=60)")
    with pytest.raises(SettingError, match=message):
        read_scored("new", metric_named(name))


def test_a_metric_of_another_distribution(monkeypatch: pytest.MonkeyPatch) -> None:
    with_entry_points(monkeypatch, {"boostsample.metrics": {"spread": f"{__name__}:spread"}})
    metric = metric_named("spread")
    assert (metric.title, metric.better, metric.decimals) == ("spread of scores", 0, 1)
    assert own_score(metric, np.array([0, 1]), np.array([[1.0], [4.0]])) == 3.0
    with pytest.raises(SettingError, match=r"unknown metric 'spred' .*spread"):
        metric_named("spred")


@declare_metric("spread of scores", better=0, decimals=1, of="scores")
def spread(y: Any, scores: Any) -> float:
    return float(np.ptp(scores))


@pytest.mark.parametrize("n_labels", [1, 4])
def test_probabilities_are_those_of_the_log_loss(n_labels: int) -> None:
    rng = np.random.default_rng(0)
    scores, y = rng.normal(size=(50, n_labels)), rng.integers(0, max(n_labels, 2), 50)
    p = probabilities(scores)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    assert -np.log(p[np.arange(50), y]).mean() == pytest.approx(log_loss(scores, y))
    labels = rng.integers(0, 2, (50, n_labels))
    q = probabilities(scores, multilabel=True)
    losses = -np.log(np.where(labels == 1, q, 1 - q))
    assert losses.mean() == pytest.approx(log_loss(scores, labels))


def test_declarations_are_checked() -> None:
    with pytest.raises(SettingError, match="unknown argument of a metric 'votes'"):
        declare_metric("x", of="votes")
    with pytest.raises(SettingError, match="better must be -1, 0 or 1, got 2"):
        declare_metric("x", better=2)


@pytest.mark.parametrize("name", ["stumps", "loss", "error", "log10_loss", "bank", "budget"])
def test_a_metric_of_the_user_takes_no_name_of_ours(name: str) -> None:
    before = dict(METRICS)
    with pytest.raises(SettingError, match="is taken"):
        add_metric(name, spread)
    assert before == METRICS


@pytest.mark.parametrize("value", ["0.3", None, True, 1j, np.ones(1), [0.3]])
def test_a_metric_returns_a_number(value: Any) -> None:
    metric = add_metric("odd", lambda y, p: value)
    with pytest.raises(SettingError, match="the metric 'odd' must return a number, got"):
        own_score(metric, np.array([0, 1]), np.zeros((2, 1)))


@pytest.mark.parametrize("of", ["probabilities", "scores", "classes"])
def test_a_metric_cannot_change_what_others_read(of: str) -> None:
    @declare_metric("changes its arguments", of=of)
    def changes(y: Any, read: Any) -> float:
        y[:], read[:] = 0, 0
        return 0.0

    y, scores = np.array([0, 1]), np.array([[1.0], [2.0]])
    assert own_score(add_metric("changes", changes), y, scores) == 0.0
    assert (y.tolist(), scores.tolist()) == ([0, 1], [[1.0], [2.0]])
