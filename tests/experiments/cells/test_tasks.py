"""Keys: equal for equal questions, different wherever the answer could have other bits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from boostsample.experiments.cells.tasks import curve_points, task_groups
from boostsample.experiments.data.dataset import Dataset
from boostsample.experiments.data.datasets import load_dataset
from boostsample.experiments.plan import variants as variants_module
from boostsample.experiments.plan.variants import Variant, parse_names
from boostsample.experiments.results import read_results
from boostsample.experiments.run.comparison import share_of
from boostsample.registry import make_strategy
from boostsample.strategies import UniformNaive
from tests.experiments.small_runs import prepared
from tests.paths import RESULTS, needs_results

# Stored cells are found by these keys: a change makes all of them unusable.
GOLDEN = {
    ("chess(d=3,n=60)", "laminating,uniform-naive:n_features=1|2"): [
        "32254189e7bf42da03b1e4642dea1f94",
        "62235f8843e3e0045577b5cc4fe1558f",
        "44f82787c0ff451b034ae16292d8be81",
    ],
    ("chess(d=3,n=60)", "mas-naive,full"): [
        "244754c310b28fc81c0cde36eac0404f",
        "04c3cdc16668ebad4cbf6e2791c1282c",
    ],
    ("digits", "ucb:exploration=0.1"): ["826e1ed3d178736c6c644ba7f1671cc7"],
}
GOLDEN_PLANS: list[dict[str, Any]] = [
    {"marks": (2, 6), "tune": True, "weights": "uniform"},
    {"marks": (3,), "weights": "balanced", "seed": 4, "budget": "7.5N"},
    {"marks": (3,), "families": parse_names("haar,patches:n_members=9"), "weights": "uniform"},
]


@pytest.fixture(scope="module")
def data() -> Dataset:
    return load_dataset("chess(d=4,n=80)")


def keys(data: Dataset, strategies: str = "laminating", **settings: Any) -> list[str]:
    setup = prepared(data, strategies, **{"marks": (3, 9), "repeats": 2, **settings})
    return [task.key for group in task_groups(setup) for task in group]


def test_keys_are_those_of_kept_cells() -> None:
    for ((name, strategies), expected), plan in zip(GOLDEN.items(), GOLDEN_PLANS, strict=True):
        assert keys(load_dataset(name), strategies, repeats=1, **plan) == expected


@needs_results
def test_streams_are_those_of_stored_results() -> None:
    for folder in ("df11-mnist", "df11-cifar10", "df11-mnist-noise"):
        settings = read_results(RESULTS / folder).settings
        (data,) = settings["data_sets"]
        for strategy in data["strategies"]:
            if "grid" not in strategy:
                parts = filter(None, (strategy["strategy"], strategy["settings"]))
                variant = Variant.parse(":".join(parts))
                streams = (
                    variant.stream(data["name"], settings["seed"], repetition).entropy
                    for repetition in range(settings["repeats"])
                )
                assert list(map(str, streams)) == strategy["stream"]


def test_keys_differ_from_cell_to_cell(data: Dataset) -> None:
    facts_keys = keys(
        data, "laminating,full,laminating:n_features=2,uniform-naive:n_features=1|2|3", tune=True
    )
    assert len(facts_keys) == len(set(facts_keys)) == (3 + 3) * 2


def test_a_key_does_not_depend_on_the_other_cells(data: Dataset) -> None:
    alone = keys(data, repeats=1)
    assert keys(data, "full,laminating", repeats=3)[3:4] == alone
    tuned = keys(data, "uniform-naive:n_features=1|2", tune=True)
    assert tuned[::2][:1] == keys(data, "uniform-naive:n_features=1", repeats=1)


@pytest.mark.parametrize(
    "settings",
    [
        {"marks": (1, 2, 9)},
        {"n_jobs": 2},
        {"history": True},
        {"bank": Variant("memory", {"tile_bytes": 0})},
        {"bank": Variant.parse("disk:tile_bytes=2000")},
        {"budget": "10N"},
        {"learning_rate": 1, "smoothing": 0},
        {"code": "one-vs-rest", "decoding": "loss"},
    ],
)
def test_what_changes_no_bit_changes_no_key(data: Dataset, settings: dict[str, Any]) -> None:
    assert keys(data, **settings) == keys(data)


@pytest.mark.parametrize(
    "settings",
    [
        {"marks": (3, 10)},
        {"budget": "9N"},
        {"budget": "10N:growing"},
        {"weights": "uniform", "strategies": "laminating"},
        {"seed": 1},
        {"learning_rate": 0.5},
        {"smoothing": 0.01},
        {"code": "dense"},
        {"decoding": "hamming"},
        {"max_looks": 10**12},
        {"max_cost": 1e9},
        {"max_seconds": 1000},
        {"bank": Variant("memory", {"reference": 20})},
        {"strategies": "laminating:scheme=iid"},
        {"families": parse_names("columns")},
    ],
)
def test_what_changes_bits_changes_the_key(data: Dataset, settings: dict[str, Any]) -> None:
    if "families" in settings:
        assert keys(data, **settings) == keys(data)  # the default family, by name
    else:
        assert not set(keys(data, **settings)) & set(keys(data))


def test_data_change_the_key(data: Dataset) -> None:
    X = data.X.copy()
    X[3, 2] += 0.001
    y = data.y.copy()
    y[-1] = 1 - y[-1]
    variations = [
        Dataset(data.name, X, data.y, data.classes, data.columns),
        Dataset(data.name, data.X, y, data.classes, data.columns),
        Dataset("other", data.X, data.y, data.classes, data.columns),
        Dataset(data.name, data.X, data.y, data.classes, data.columns, n_train=60),
    ]
    first_keys = [keys(variation)[0] for variation in (data, *variations)]
    assert len(set(first_keys)) == len(first_keys)
    same = Dataset(data.name, data.X.copy(), data.y.copy(), data.classes, data.columns)
    assert keys(same) == keys(data)


def test_the_name_of_a_file_changes_no_split_and_no_stream(data: Dataset, tmp_path: Path) -> None:
    names, streams = "laminating,uniform-naive", []
    for name in ("one.csv", "two.csv"):
        np.savetxt(tmp_path / name, np.column_stack([data.X, data.y]), delimiter=",")
        read = load_dataset(tmp_path / name)
        groups = task_groups(prepared(read, names, marks=(3,), repeats=2))
        facts = [task.facts for group in groups for task in group]
        streams.append([(fact["split"], fact["stream"]) for fact in facts])
    assert streams[0] == streams[1]
    assert len(set(streams[0])) == len(streams[0]) == 4


class Foreign(UniformNaive):
    """Another distribution's strategy."""

    def __init__(self, n_features: int = 1, hidden: int = 7) -> None:
        super().__init__(n_features)
        self.hidden = hidden


def test_defaults_and_foreign_code_are_part_of_the_key(
    data: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    def facts(default: int) -> Any:
        def make(name: str, **settings: Any) -> Any:
            if name != "foreign":
                return make_strategy(name, **settings)
            return Foreign(**{"hidden": default, **settings})

        monkeypatch.setattr(variants_module, "make_strategy", make)
        return task_groups(prepared(data, "foreign", marks=(3,), repeats=1))[0][0]

    first, other = facts(7), facts(8)
    assert first.key != other.key
    assert first.facts["strategy"]["parameters"]["hidden"] == 7
    assert first.facts["strategy"]["class"].endswith("test_tasks.Foreign")
    assert len(first.facts["strategy"]["code"]) == 64


def test_file_names_are_readable(data: Dataset) -> None:
    name = "laminating:scheme=distinct"
    ((task,),) = task_groups(prepared(data, name, marks=(3,), repeats=1))
    stem = "chess-d=4-J=3-L=3-n=80-laminating-scheme=distinct-r0"
    assert task.file_name == f"{stem}-{task.key}.npz"
    assert task.name == "laminating:scheme=distinct of chess(d=4,J=3,L=3,n=80), repetition 0"


def test_errors_are_taken_at_marks_charged_points_and_along_a_curve(data: Dataset) -> None:
    settings = {"marks": (2, 50, 100), "repeats": 1, "tune": True}
    (group,) = task_groups(prepared(data, "uniform-naive:n_features=1|2|3", **settings))
    assert set(group[0].points) == {2, 16, 33, 50, 100, *curve_points(100)}


@pytest.mark.parametrize("count", [1, 2, 3, 7, 30])
def test_shards_are_a_partition_that_order_does_not_matter_to(count: int) -> None:
    all_keys = [f"{number:032x}" for number in np.random.default_rng(0).integers(0, 2**60, 20)]
    shares, again = (
        [share_of(listed, index, count) for index in range(1, count + 1)]
        for listed in (all_keys, all_keys[::-1])
    )
    assert set().union(*shares) == set(all_keys)
    assert sum(map(len, shares)) == len(all_keys)
    assert max(map(len, shares)) - min(map(len, shares)) <= 1
    assert again == shares
