"""A cell's file gives back every bit, tells damage, and is small."""

from __future__ import annotations

import io
import itertools
import zipfile
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from boostsample.experiments.cells.cell_file import LOOKS, Cell, DamagedCell
from boostsample.experiments.cells.tasks import cell_key, task_groups
from boostsample.experiments.cells.training import TrainingSplit, TrainingWatch, train_cell
from boostsample.experiments.data.dataset import Dataset
from boostsample.experiments.data.datasets import load_dataset
from boostsample.loop.booster import Booster
from boostsample.loop.run_file import FORMAT
from boostsample.records import Term
from tests.experiments.small_runs import prepared, thirds


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
