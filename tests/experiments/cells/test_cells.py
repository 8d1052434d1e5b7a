"""A cell's file gives back every bit and tells damage; scores agree with their definitions."""

from __future__ import annotations

import io
import itertools
import zipfile
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from boostsample.banks.bank import FeatureBank
from boostsample.errors import SettingError
from boostsample.experiments.cells import training
from boostsample.experiments.cells.cell_file import LOOKS, Cell, DamagedCell
from boostsample.experiments.cells.tasks import cell_key, task_groups
from boostsample.experiments.cells.training import (
    MARGIN_BINS,
    Scores,
    TrainingSplit,
    TrainingWatch,
    area_under_roc,
    evaluate_margins,
    train_cell,
)
from boostsample.experiments.data.dataset import Dataset
from boostsample.experiments.data.datasets import load_dataset
from boostsample.experiments.plan.plan import Plan
from boostsample.experiments.plan.prepared import prepare
from boostsample.experiments.plan.variants import Variant
from boostsample.families import Columns
from boostsample.labels import encode, error_percent
from boostsample.loop.booster import Booster
from boostsample.loop.run_file import FORMAT
from boostsample.models.model import Model
from boostsample.records import Term
from tests.experiments.small_runs import prepared, thirds
from tests.naive_objectives import hamming_decoding, loss_based_decoding


@pytest.fixture(scope="module")
def data() -> Dataset:
    return thirds(n_features=5, n_train=120)


def trained(
    data: Dataset, strategy: str = "mas-naive", **settings: Any
) -> tuple[TrainingSplit, Cell]:
    usual: dict[str, Any] = {"marks": (3, 20), "repeats": 1, "history": True}
    split = TrainingSplit(prepared(data, strategy, **{**usual, **settings}), 0)
    ((task,),) = task_groups(split.prepared)
    return split, train_cell(split, task, TrainingWatch())


@pytest.fixture(scope="module")
def cell(data: Dataset) -> Cell:
    return trained(data)[1]


def test_what_is_read_is_what_was_written(cell: Cell) -> None:
    read = Cell.from_bytes(cell.to_bytes())
    assert (read.facts, read.about, read.history) == (cell.facts, cell.about, cell.history)
    assert read.arrays.keys() == cell.arrays.keys()
    for name, array in cell.arrays.items():
        assert read.arrays[name].dtype == array.dtype
        np.testing.assert_array_equal(read.arrays[name], array)
    assert read.to_bytes() == cell.to_bytes()
    assert read.key == cell.key == cell_key(cell.facts)


def test_it_holds_what_the_rounds_told(data: Dataset, cell: Cell) -> None:
    rows = cell.history
    assert rows is not None
    assert cell.n_rounds == len(rows) == 20
    assert cell.loss.tolist() == [row["log10_loss"] for row in rows]
    assert cell.loss_at == {at: cell.loss[at - 1] for at in cell.loss_at}
    for name in ("feature", "n_features", "n_examples", "edge"):
        assert cell.arrays[name].tolist() == [row[name] for row in rows], name
    assert cell.round.tolist() == [row["round"] for row in rows]
    thresholds = np.array([row["threshold"] for row in rows], np.float32)
    np.testing.assert_array_equal(cell.arrays["threshold"], thresholds)
    estimated = np.array([row["edge_estimated"] for row in rows])
    np.testing.assert_allclose(cell.edge_estimated, estimated, atol=5e-4)
    seconds = np.cumsum([row["seconds"] for row in rows])
    np.testing.assert_allclose(cell.seconds, seconds, atol=20e-6)
    for purpose in LOOKS:
        spent = np.cumsum([row[f"looks_{purpose}"] for row in rows])
        assert cell.looks(purpose).tolist() == spent.tolist()
    expected_edges = [row.get("expected_edge") for row in rows]
    assert cell.arrays["expected_edge"][-1] == np.float16(expected_edges[-1])


@pytest.mark.parametrize("learner", ["stump", "product:n_terms=3", "tree:n_leaves=5"])
def test_stumps_products_and_trees_come_back_from_the_file(data: Dataset, learner: str) -> None:
    split, cell = trained(data, learner=learner)
    booster = fresh_booster(split, data)
    rounds = [booster.next_round() for _ in range(20)]
    back = Cell.from_bytes(cell.to_bytes())
    assert_same_terms(back.terms(), [done.terms for done in rounds])
    assert back.loss.tolist() == [done.rows[-1]["log10_loss"] for done in rounds]
    assert back.arrays.get("round_edge", back.arrays["edge"]).tolist() == [
        done.edge for done in rounds
    ]
    assert back.arrays["searches"].tolist() == [len(done.rows) for done in rounds]


def assert_same_terms(rounds: Sequence[Sequence[Term]], want: Sequence[Sequence[Term]]) -> None:
    assert [len(terms) for terms in rounds] == [len(terms) for terms in want]
    for term, other in zip(itertools.chain(*rounds), itertools.chain(*want), strict=True):
        for name in ("feature", "threshold", "value", "alpha", "search", "parent", "side"):
            assert getattr(term, name) == getattr(other, name)
        np.testing.assert_array_equal(term.votes, other.votes)
        assert (term.below is None) == (other.below is None)
        if other.below is not None:
            np.testing.assert_array_equal(term.below, other.below)


def fresh_booster(split: TrainingSplit, data: Dataset) -> Booster:
    plan = split.prepared.plan
    ((task,),) = task_groups(split.prepared)
    return split.booster(task, task.variant.stream(data.name, plan.seed, 0))


@pytest.mark.parametrize("strategy", ["mas-naive", "laminating", "full"])
def test_a_cell_can_be_scored_anew_without_training(data: Dataset, strategy: str) -> None:
    split, cell = trained(data, strategy, history=False)
    ((task,),) = task_groups(split.prepared)
    wanted = replace(task, points=(5, 6, 11), marks=(5, 20))
    assert not cell.has(wanted.points, wanted.marks, history=False)
    scored = train_cell(split, wanted, TrainingWatch(), cell)
    assert scored.has(wanted.points, wanted.marks, history=False)
    asked = replace(task, points=(5, 6, 11, *cell.errors), marks=(3, 5, 20))
    straight = train_cell(split, asked, TrainingWatch())
    for name in straight.arrays.keys() - {"microseconds"}:
        np.testing.assert_array_equal(scored.arrays[name], straight.arrays[name], err_msg=name)
    assert scored.about == cell.about


def test_every_flipped_byte_is_found_out_or_without_effect(cell: Cell) -> None:
    content = cell.to_bytes()
    rng = np.random.default_rng(0)
    for at in [0, 10, len(content) - 1, *rng.integers(0, len(content), 120).tolist()]:
        damaged = bytearray(content)
        damaged[at] ^= 0x55
        try:
            read = Cell.from_bytes(bytes(damaged))
        except DamagedCell:
            continue
        assert read.to_bytes() == content  # a byte of the archive that nobody reads


@pytest.mark.parametrize(
    ("header", "why"),
    [
        (None, "checksum does not fit"),
        (b"(5912,), } 6", "damaged or half-written"),
        (b"[" * 300, "damaged or half-written"),
    ],
)
def test_a_changed_value_or_header_is_found_out(cell: Cell, header: bytes | None, why: str) -> None:
    """NumPy's parser has errors of many kinds for garbage in a header."""
    stream = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(cell.to_bytes())) as old, zipfile.ZipFile(stream, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name == "edge.npy" and header is None:
                content = content[:-1] + bytes([content[-1] ^ 1])
            elif name == "edge.npy" and header is not None:
                content = content[:8] + len(header).to_bytes(2, "little") + header + content[128:]
            new.writestr(name, content)
    with pytest.raises(DamagedCell, match=why):
        Cell.from_bytes(stream.getvalue())


def test_pickles_are_never_loaded() -> None:
    stream = io.BytesIO()
    np.savez(stream, meta=np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(DamagedCell):
        Cell.from_bytes(stream.getvalue())


@pytest.mark.parametrize("name", ["searches", "microseconds", "looks_search", "family"])
@pytest.mark.parametrize("change", ["shorter", "floats", "zero"])
def test_arrays_that_do_not_fit_are_refused(cell: Cell, name: str, change: str) -> None:
    array = cell.arrays[name]
    others = {"shorter": array[:-1], "floats": array * np.nan, "zero": np.zeros_like(array)}
    content = replace(cell, arrays={**cell.arrays, name: others[change]}).to_bytes()
    if change == "zero" and name != "searches":
        assert Cell.from_bytes(content).n_rounds == cell.n_rounds
    else:
        with pytest.raises(DamagedCell, match=f"half-written .(its array '{name}'|each round)"):
            Cell.from_bytes(content)


def test_another_format_is_refused(cell: Cell, monkeypatch: pytest.MonkeyPatch) -> None:
    content = cell.to_bytes()
    monkeypatch.setattr("boostsample.loop.run_file.FORMAT", FORMAT + 1)
    with pytest.raises(DamagedCell, match=f"format {FORMAT}, not {FORMAT + 1}"):
        Cell.from_bytes(content)


def test_the_file_stays_small() -> None:
    _, cell = trained(load_dataset("chess(d=10,n=100)"), marks=(1000,), history=False)
    assert len(cell.to_bytes()) < 26_000


def test_labels_of_one_sign_do_not_count() -> None:
    scores = np.array([[0.1, 1.0], [0.2, 2.0], [0.3, 3.0]])
    signs = np.array([[-1, 1], [1, 1], [1, 1]], np.int8)
    assert area_under_roc(scores, signs) == 1.0
    assert np.isnan(area_under_roc(scores[:, 1:], signs[:, 1:]))


def test_margins_of_classes_are_votes_above_those_for_the_best_other_class() -> None:
    votes = np.array([[2.0, 1.0, 0.0], [0.5, 1.5, 1.0], [0.0, 0.0, 3.0]])  # sums of alpha
    scores = 0.5 * (2.0 * votes - 3.0)  # of votes 1 and -1 times alpha / 2
    signs = np.array([[1, -1, -1], [1, -1, -1], [-1, -1, 1]], np.int8)
    counts = evaluate_margins(scores, signs, 1.5, of_classes=True)
    want, _ = np.histogram([1 / 3, -1 / 3, 1.0], bins=MARGIN_BINS, range=(-1.0, 1.0))
    np.testing.assert_array_equal(counts, want)


def test_margins_are_counted_over_the_whole_range() -> None:
    scores = np.array([[2.0, -2.0, 0.0], [1.0, -0.5, 2.0 + 1e-15]])
    signs = np.array([[1, 1, -1], [-1, -1, 1]], np.int8)
    counts = evaluate_margins(scores, signs, 2.0)
    assert counts.sum() == 6
    assert (counts[0], counts[-1]) == (1, 2)
    assert counts[MARGIN_BINS // 2] == 1
    assert counts[MARGIN_BINS // 4] == 1
    assert evaluate_margins(scores, signs, 0.0)[MARGIN_BINS // 2] == 6


def test_scores_are_those_of_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training, "_MOST_TRAINING", 30)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 4)).astype(np.float32)
    y = np.digitize(X[:, 0] + X[:, 1], [-0.5, 0.5]).astype(np.int64)
    data = Dataset("three", X, y, ("a", "b", "c"))
    families = (Variant("columns"),)
    setup = prepared(data, "uniform-naive:n_features=2", families=families, marks=(12,), repeats=1)
    ((task,),) = task_groups(setup)
    split = TrainingSplit(setup, 0)
    cell = train_cell(split, replace(task, points=(1, 5), marks=(7, 99)), TrainingWatch())
    terms = [term for of_round in cell.terms() for term in of_round]
    model, scores = Model(setup.families, terms, 3), cell.arrays
    train, test = split.train_rows, split.test_rows
    assert scores["points"].tolist() == [1, 5, 7, 12]
    assert scores["marks"].tolist() == [7, 12]
    for at, error in zip((1, 5, 7, 12), scores["error"].tolist(), strict=True):
        assert error == error_percent(model.decision_function(X[test], at), y[test])
    for number, at in enumerate((7, 12)):
        total = float(model.alpha[:at].sum())
        for part, rows in enumerate((train[::3], test)):
            counts = evaluate_margins(
                model.decision_function(X[rows], at), encode(y[rows], 3), total
            )
            np.testing.assert_array_equal(scores["margins"][part, number], counts)
        area = area_under_roc(model.decision_function(X[test], at), encode(y[test], 3))
        assert scores["auc"][number] == area


@pytest.mark.parametrize("decoding", ["loss", "hamming"])
def test_cells_of_a_code_are_decoded(decoding: str) -> None:
    settings: dict[str, Any] = {"code": "sparse:10", "decoding": decoding, "objective": "real-mh"}
    settings |= {"families": (Variant("identity"),), "repeats": 2}
    setup = prepared("digits", "uniform-naive", marks=(3, 20), **settings)
    codes = [setup.code(repetition) for repetition in range(2)]
    assert codes[0] is not None
    assert codes[1] is not None
    assert not np.array_equal(codes[0].matrix, codes[1].matrix)
    split = TrainingSplit(setup, 0)  # splits that are equal are shared
    ((_, task),) = [[group[0] for group in task_groups(setup)]]
    cell = train_cell(split, task, TrainingWatch())
    y, X, test = setup.data.y, setup.data.X, split.test_rows
    matrix = codes[1].matrix
    np.testing.assert_array_equal(split.boosted_labels(task), matrix[y[split.train_rows]])
    terms = [term for of_round in cell.terms() for term in of_round]
    model = Model(setup.families, terms, 10)
    twin = {"loss": loss_based_decoding, "hamming": hamming_decoding}[decoding]
    for at in (3, 20):
        wrong = twin(model.decision_function(X[test], at), matrix) != y[test]
        assert cell.errors[at] == pytest.approx(100 * wrong.mean())
    assert cell.errors[20] < 70
    n_test = int(np.count_nonzero(matrix[y[test]]))
    assert cell.arrays["margins"][1, -1].sum() == n_test
    longer = prepared("digits", "uniform-naive", marks=(3, 30), **settings)
    task = task_groups(longer)[1][0]
    straight = train_cell(TrainingSplit(longer, 0), task, TrainingWatch())
    resumed = train_cell(TrainingSplit(longer, 0), task, TrainingWatch(), cell)
    assert "trained_anew" not in resumed.about
    assert resumed.errors == straight.errors


def test_rows_with_several_labels_have_no_code() -> None:
    y = np.array([[1, 0, 1], [0, 1, 1], [1, 1, 0], [0, 0, 1]] * 10, np.int8)
    X = np.random.default_rng(0).normal(size=(40, 3)).astype(np.float32)
    data = Dataset("several", X, y, ("a", "b", "c"))
    with pytest.raises(SettingError, match="several: an output code is for one class"):
        prepare(data, Plan(code="dense"))


def test_error_percent() -> None:
    scores = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0], [0.0, 1.0]])
    assert error_percent(scores, [0, 1, 1, 0]) == 50.0
    assert error_percent(scores - 0.5, np.array([[1, 0], [0, 1], [1, 0], [1, 1]])) == 12.5
    assert error_percent(np.array([[1.0], [-1.0]]), [1, 1]) == 50.0
    for y in ([0, 1, 2], [2, 0, 1]):
        assert error_percent(encode(y).astype(float), y) == 0.0


@pytest.mark.parametrize("block", [7, 4096])
@pytest.mark.parametrize("n_terms", [1, 255, 256, 700])
def test_scores_equal_the_models(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch, n_terms: int, block: int
) -> None:
    monkeypatch.setattr(training, "_BLOCK", block)
    X = rng.integers(0, 9, (60, 5)).astype(np.float32)
    X[rng.random(X.shape) < 0.2] = np.nan
    bank = FeatureBank.build([Columns(range(5))], X, np.arange(40))
    test_rows = np.array([59, 3, 41, 42, 57, 50, 48, 44, 10])
    terms = []
    for _ in range(n_terms):
        feature = int(rng.integers(5))
        b = int(rng.integers(1, bank.n_bins[feature]))
        votes = rng.choice([-1, 1], 3).astype(np.int8)
        terms.append(Term(feature, b, bank.threshold(feature, b), votes, float(rng.random())))
    scores = Scores(bank, test_rows, 3)
    assert not scores.current().any()
    for at, term in enumerate(terms):
        scores.add([term])
        if at in (0, 100, 254, 255, 256, 600, n_terms - 1):
            model = Model(bank.families, terms[: at + 1], 3)
            np.testing.assert_allclose(
                scores.current(), model.decision_function(X[test_rows]), rtol=0, atol=1e-9
            )
