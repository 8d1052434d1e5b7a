"""Data sets that functions of the user make: in a file, and by entry point."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_array

from boostsample.errors import BoostSampleError, DataError
from boostsample.experiments.data.arrays import content_of_arrays, joined_parts
from boostsample.experiments.data.datasets import load_dataset
from boostsample.experiments.results.read_folder import read_results
from tests.experiments.conftest import CommandLine
from tests.experiments.small_runs import refused, with_entry_points

FUNCTIONS = '''
import numpy as np
from boostsample.experiments.data.dataset import DataContent


def points(n=60, noise=0.1, kind="xor", *, seed):
    """Points of a square. They have noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    odd = X[:, 0] * X[:, 1] > 0 if kind == "xor" else X[:, 0] > 0
    return X, np.where(odd ^ (rng.random(n) < noise), "a", "b")


def halves(data_dir):
    X, y = np.load(f"{data_dir}/X.npy"), np.arange(10) % 2
    return (X[:6], y[:6]), (X[6:], y[6:])


def content():
    X = np.arange(12, dtype=np.float32).reshape(6, 2)
    return DataContent(X, np.arange(6) % 2, ("p", "q"), ("u", "v"), None, np.arange(6) // 2)


def three():
    return 1, 2, 3


def fails():
    return [][0]


def needs(n):
    return n


def reserved(name="x"):
    return name


other = 3
'''


@pytest.fixture
def file(tmp_path: Path) -> str:
    (tmp_path / "sub").mkdir()
    Path("sub/my_sets.py").write_text(FUNCTIONS, "utf-8")
    return "sub/my_sets.py"


def test_settings_seed_and_options(file: str) -> None:
    data = load_dataset(f"{file}:points(n=40, noise=0):validation=0.2", kind="half", seed=3)
    assert data.name == "my_sets.py:points(n=40,noise=0.0,kind=half):validation=0.2"
    X = np.random.default_rng(3).normal(size=(40, 3)).astype(np.float32)
    np.testing.assert_array_equal(data.X, X)
    np.testing.assert_array_equal(data.y, np.where(X[:, 0] > 0, 0, 1))
    assert (data.classes, data.validation) == (("a", "b"), 0.2)
    named = load_dataset(f"{file}:points:n=40:noise=0:kind=half:name=mine", seed=3)
    assert (named.name, named.digest) == ("mine", data.digest)


def test_a_fixed_split_reads_the_data_folder(file: str, tmp_path: Path) -> None:
    X = np.arange(20.0).reshape(10, 2)
    np.save(tmp_path / "X.npy", X)
    data = load_dataset(f"{file}:halves", data_dir=tmp_path)
    train, test = data.split(1, 0)
    assert (train.tolist(), test.tolist()) == ([*range(6)], [*range(6, 10)])
    np.testing.assert_array_equal(data.X, X)


def test_content_is_taken_as_it_is(file: str) -> None:
    data = load_dataset(f"{file}:content")
    assert (data.columns, data.classes) == (("u", "v"), ("p", "q"))
    assert data.groups is not None


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("three", "must return (X, y), or (X, y) to train and (X, y) to test on, got 3 values"),
        ("fails", "fails: IndexError: list index out of range ("),
        ("needs", "the parameter 'n' must have a default that is a number, text, True or False"),
        ("reserved", "no parameter may be called 'name'"),
        ("other", "must be a function, got 3"),
        ("nope", "unknown data set in sub/my_sets.py 'nope'; known: points, halves"),
        ("points(m=3)", "unknown setting 'm' of data set sub/my_sets.py:points; known: n, noise"),
        ("points(n=2.5)", "n must be a whole number, got '2.5'"),
        ("points(n=20):n=30", "n must be given once, got it twice"),
        ("points:label=3", "unknown setting 'label'"),
    ],
)
def test_faults(file: str, text: str, says: str) -> None:
    refused(BoostSampleError, says, load_dataset, f"{file}:{text}")


def test_compare_and_grids_take_them(cli: CommandLine) -> None:
    Path("s.py").write_text(FUNCTIONS, "utf-8")
    fast = "--rounds 2 --repeats 1 --strategies uniform-naive --quiet"
    cli(f"compare --data s.py:points:n=40 {fast} --results one")
    Path("g.toml").write_text(
        'data = [{ path = "s.py:points", n = 40 }]\nrounds = [2]\nrepeats = 1\n'
        'strategies = ["uniform-naive"]\n',
        "utf-8",
    )
    cli("compare --grid g.toml --results two --quiet")
    cli("compare --grid one/plan.json --results three --quiet")
    rows = [{**read_results(name).rows[0], "seconds": 0} for name in ("one", "two", "three")]
    assert rows[0]["data"] == "s.py:points(n=40,noise=0.1,kind=xor)"
    assert rows[0] == rows[1] == rows[2]
    assert json.loads(Path("two/plan.json").read_bytes())["entries"]["data"][0]["n"] == 40


def test_a_changed_function_is_noticed_by_its_data(cli: CommandLine) -> None:
    Path("s.py").write_text(FUNCTIONS, "utf-8")
    command = "compare --data s.py:points(n=40) --rounds 2 --repeats 1 --strategies uniform-naive "
    cli(f"{command} --quiet --results one")
    Path("s.py").write_text(FUNCTIONS.replace("normal", "uniform"), "utf-8")
    Path("m.py").write_text("def zero(y, p):\n    return 0.0\n", "utf-8")
    assert "is not that of the runs" in cli.refused("table one --metric m.py:zero", code=1)
    one = load_dataset("s.py:points(n=40)")
    assert one.digest != read_results("one").settings_of(one.name)["sha256"]


def line(n: int = 8) -> tuple[Any, Any]:
    """Points of a line.

    They are even.
    """
    return np.arange(n, dtype=float)[:, None], np.arange(n) % 2


def test_entry_points(cli: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    places = {"line": f"{__name__}:line", "gone": "no_such_module:x", "digits": f"{__name__}:line"}
    with_entry_points(monkeypatch, {"boostsample.datasets": places})
    data = load_dataset("line(n=12)")
    assert (data.name, data.X.shape) == ("line(n=12)", (12, 1))
    assert len(load_dataset("digits").y) == 1797
    out = cli("list data")
    assert "line(n=8)" in out
    assert "[my-desk] Points of a line" in out
    assert "broken: data set 'gone' of my-desk cannot be loaded" in " ".join(out.split())
    assert "broken: the name is taken by boostsample" in " ".join(out.split())
    with pytest.raises(BoostSampleError, match=r"unknown data set 'lime'.*line"):
        load_dataset("lime")


def test_frames_have_the_numbers_of_files(tmp_path: Path) -> None:
    frame = pd.DataFrame({"u": [1.5, 2.0, 3.0, 4.0], "v": ["a", "b", "a", "c"]})
    labels = ["x", "y", "x", "y"]
    path = tmp_path / "x.csv"
    frame.assign(label=labels).to_csv(path, index=False)
    of_file = load_dataset(path)
    halves = joined_parts((frame[:2], labels[:2]), (frame[2:], labels[2:]))
    for content in (
        content_of_arrays(frame, labels),
        content_of_arrays(pl.from_pandas(frame), labels),
        halves,
    ):
        np.testing.assert_array_equal(content.X, of_file.X)
        assert (content.columns, content.classes) == (of_file.columns, of_file.classes)
    assert halves.n_train == 2


def test_sparse_parts_are_joined() -> None:
    X = csr_array(np.eye(4))
    content = joined_parts((X[:3], [1, 0, 1]), (X[3:], [0]))
    np.testing.assert_array_equal(content.X.toarray(), np.eye(4))
    assert (content.y.tolist(), content.n_train) == ([1, 0, 1, 0], 3)


@pytest.mark.parametrize(
    ("test_X", "test_y", "says"),
    [
        (np.ones((1, 3)), [0], "must have the same columns"),
        (csr_array(np.ones((1, 2))), [0], "must be of one kind"),
        (np.ones((1, 2)), [[0, 1]], "y to train and to test on"),
        (np.ones((1, 2)), ["a"], "y"),
        (np.ones((2, 2)), [1], "X and y must have as many rows, got 5 and 4"),
    ],
)
def test_parts_that_do_not_fit(test_X: Any, test_y: Any, says: str) -> None:
    with pytest.raises(DataError, match=says):
        joined_parts((np.arange(6.0).reshape(3, 2), [0, 1, 0]), (test_X, test_y))


def test_text_needs_a_frame() -> None:
    with pytest.raises(DataError, match="X must hold numbers, got <U1"):
        content_of_arrays([["a"], ["b"]], [0, 1])
