"""The Python of all documents and the examples of the gallery run."""

from __future__ import annotations

import re
import shutil
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pyarrow import csv, parquet

from boostsample import Booster, BoostSampleClassifier, FeatureBank
from boostsample.families import Columns
from boostsample.strategies import Strategy
from tests.documents.pages import (
    DOCS,
    EXAMPLES,
    PAGES,
    name_of,
    python_blocks,
    read,
    run_page,
)
from tests.paths import RESULTS, ROOT

RUN = [page for page in PAGES if any(not block.not_run for block in python_blocks(page))]
# Dask estimates the size of columns of objects by NumPy's global random state.
DRAWS = {"cluster.md": pytest.mark.global_random}


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    "page", [pytest.param(page, id=name_of(page), marks=DRAWS.get(page.name, ())) for page in RUN]
)
def test_the_blocks_of_a_page_run_in_order(
    page: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if page.name in BEFORE:
        BEFORE[page.name]()
    module = run_page(page, monkeypatch)
    printed = capsys.readouterr().out
    assert ("print(" in "".join(block.code for block in python_blocks(page))) == bool(printed)
    if page.name in AFTER:
        AFTER[page.name](module, printed)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_a_block_that_does_not_run_has_a_reason_and_can_be_read(page: Path) -> None:
    for block in python_blocks(page):
        compile(block.code, page.name, "exec")
        if block.not_run:
            assert len(block.not_run.split()) >= 4, "say why"
            imports = re.findall(r"^(?:from|import) .*$", block.code, re.MULTILINE)
            exec("\n".join(imports), {})
    fences = re.findall(r"^```python", read(page), re.MULTILINE)
    assert len(python_blocks(page)) == len(fences)


@pytest.mark.parametrize("page", EXAMPLES, ids=name_of)
def test_examples_run(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plt = pytest.importorskip("matplotlib.pyplot", reason="pictures need the extra 'report'")
    run_page(page, monkeypatch)
    assert plt.get_fignums(), "an example draws a picture"
    plt.close("all")


def test_few_blocks_are_not_run() -> None:
    skipped = [page.name for page in PAGES for block in python_blocks(page) if block.not_run]
    assert skipped == ["BK10.md", "cluster.md", "shards.md", "shards.md"]  # hours, and clusters


# ------------------------------------------------------------------ files that the pages read


def _results(*folders: str) -> Callable[[], None]:
    def write() -> None:
        pytest.importorskip("matplotlib", reason="pictures need the extra 'report'")
        if not RESULTS.is_dir():
            pytest.skip("docs/results is in the repository, but not in the sdist")
        for folder in folders:
            shutil.copytree(RESULTS / "df11-mnist-noise", folder)

    return write


def _table_in_two_formats() -> None:
    (text,) = re.findall(r"```text\n(.*?)```", read(DOCS / "data.md"), flags=re.DOTALL)
    Path("x.csv").write_text(text, "utf-8")
    parquet.write_table(csv.read_csv("x.csv"), "y.parquet")


def _genotypes_and_cells() -> None:
    shutil.copy(ROOT / "tests/formats/files/dense.h5ad", "cells.h5ad")
    for suffix in ("bed", "bim", "fam"):
        for name in ("study", "part"):
            shutil.copy(ROOT / f"tests/formats/files/{name}.{suffix}", f"{name}.{suffix}")
    text = re.search(r"```text\n(FID .*?)```", read(DOCS / "wide_files.md"), flags=re.DOTALL)
    assert text
    Path("study.pheno").write_text(text[1], "utf-8")


def _onnx_is_there() -> None:
    pytest.importorskip("onnx", reason="needs the extra 'onnx'")
    pytest.importorskip("onnxruntime", reason="runs the exported model")


BEFORE: dict[str, Callable[[], None]] = {
    "tutorial_classifier.md": _onnx_is_there,
    "data.md": _table_in_two_formats,
    "pictures.md": _results("RESULTS"),
    "tables.md": _results("folder"),
    "tutorial_comparison.md": _results("first"),
    "wide_files.md": _genotypes_and_cells,
}
"""What the reader of a page has when its blocks begin."""


# ------------------------------------------------------------------ what the pages promise


def _readme(module: types.ModuleType, printed: str) -> None:
    accuracy, rows = printed.split()
    assert float(accuracy) > 0.85
    assert rows == "200"


def _index(module: types.ModuleType, printed: str) -> None:
    assert float(printed) > 0.85


def _classifier(module: types.ModuleType, printed: str) -> None:
    assert module.model.score(module.X_test, module.y_test) > 0.85
    assert "300 rounds" in printed
    assert printed.endswith("the same answers\nthe same answers in onnxruntime\n")
    assert Path("tutorial.bsm").stat().st_size < 200_000


def _frames(module: types.ModuleType, printed: str) -> None:
    assert list(module.model.predict(module.frame.head(3))) == ["apple", "pear", "plum"]
    assert "colour=red" in printed


def _strategy(module: types.ModuleType, printed: str) -> None:
    assert module.Repeat().get_params() == {"n_features": 10}
    assert issubclass(module.Scaled, Strategy)


def _family(module: types.ModuleType, printed: str) -> None:
    values = module.Differences(3).compute([[1, 2, 4]], [0, 1, 2])
    np.testing.assert_array_equal(values, [[1, 3, 2]])
    assert module.Mirror((2, 4)).feature_name(3) == "row 1, column 1 minus its mirror image"
    assert sum(module.shares.values()) == pytest.approx(1)
    assert min(module.shares.values()) > 0
    assert len(module.figure.axes) >= 2 * 8


def _learner(module: types.ModuleType, printed: str) -> None:
    X = np.random.default_rng(0).random((60, 5), np.float32)
    Y = np.where(X[:, :1] + X[:, 1:2] > 1, 1, -1)
    bank = FeatureBank.build([Columns(range(5))], X)
    booster = Booster(bank, None, Y, "uniform-naive:n_features=1", module.BestOf(3), n_rounds=4)
    for _ in range(4):
        done = booster.next_round()
        best = max(done.rows, key=lambda row: row["edge"])
        assert [row["term"] for row in done.rows].count(-1) == 2
        assert best["term"] == 0
        assert done.edge == pytest.approx(best["edge"], abs=1e-12)
    fork = Booster(bank, None, Y, "full", module.Fork(), n_rounds=4).next_round()
    assert [(term.parent, term.side) for term in fork.terms] == [(-1, 0), (0, -1), (0, 1)]


def _objective(module: types.ModuleType, printed: str) -> None:
    X = np.random.default_rng(0).random((60, 5), np.float32)
    Y = np.where(X[:, :1] + X[:, 1:2] > 1, 1, -1)
    bank = FeatureBank.build([Columns(range(5))], X)
    (term,) = Booster(bank, None, Y, "full", objective=module.Clipped(0.1)).next_round().terms
    assert term.votes == pytest.approx(0.1)
    assert term.below == pytest.approx(-0.1)


def _data(module: types.ModuleType, printed: str) -> None:
    X = np.array([[0.5, 2], [np.nan, 3], [1.5, np.nan], [0.1, 7]], dtype=np.float32)
    for data in (module.data, module.same):
        assert data.columns == ("width", "height")
        np.testing.assert_array_equal(data.X, X)


def _models(module: types.ModuleType, printed: str) -> None:
    settings: dict[str, Any] = {"n_rounds": 3, "learning_rate": 1.0, "random_state": 0}
    full_steps = BoostSampleClassifier("uniform-naive", "stump", **settings)
    full_steps.fit(module.X[:300], module.y[:300]).save("full_steps.bsm")
    stumps, trees = (set(np.load(name).files) for name in ("full_steps.bsm", "trees.bsm"))
    table = read(DOCS / "models.md").split("| entry |")[1].split("\n\n")[0]
    named = re.findall(r"^\| (`.*?`) \|", table, re.MULTILINE)
    assert set(re.findall(r"`(\w+)`", " ".join(named))) == stumps | trees
    assert "reads" in stumps - trees


def _pictures(module: types.ModuleType, printed: str) -> None:
    assert Path("loss.pdf").read_bytes().startswith(b"%PDF")


def _probabilities(module: types.ModuleType, printed: str) -> None:
    table = re.findall(r"^\| `.*$", read(DOCS / "probabilities.md"), re.MULTILINE)
    uncalibrated, by_rule, held = (line.split(" | ") for line in table[-3:])
    means, errors = re.findall(r"\[([\d. ]+)\] \[([\d. ]+)\]", printed.split("None ")[1])[0]
    shown = [
        f"{float(m):.3f} ± {float(e):.3f}"
        for m, e in zip(means.split(), errors.split(), strict=True)
    ]
    assert uncalibrated[1:3] == shown[:2]
    assert float(means.split()[1]) < float(means.split()[0]) - 0.01, "rows of probability 1 tie"
    for calibrated in (by_rule, held):
        assert calibrated[1] == calibrated[2], "no row has a probability of 1"


AFTER: dict[str, Callable[[types.ModuleType, str], None]] = {
    "README.md": _readme,
    "index.md": _index,
    "tutorial_classifier.md": _classifier,
    "frames.md": _frames,
    "adding_a_strategy.md": _strategy,
    "adding_a_family.md": _family,
    "adding_a_learner.md": _learner,
    "adding_an_objective.md": _objective,
    "data.md": _data,
    "models.md": _models,
    "pictures.md": _pictures,
    "probabilities.md": _probabilities,
}
"""What is true after the blocks of a page."""


def test_pages_of_both_tables_have_blocks() -> None:
    names = {page.name for page in RUN}
    assert names >= {*BEFORE, *AFTER}
    assert (ROOT / "README.md") in RUN
