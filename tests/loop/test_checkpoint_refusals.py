"""Checkpoints that are not continued: those of another run, damaged, foreign or newer files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from boostsample.errors import BoostSampleError, DataError, SettingError, StrategyError
from boostsample.files.archive import (
    archive_bytes,
    archive_entries,
    json_entry,
    read_json_entry,
    text_entry,
)
from boostsample.loop import booster as booster_module
from boostsample.loop.checkpoint import Checkpoint
from boostsample.loop.numerics import NUMERICS
from boostsample.loop.run_file import FORMAT, read_checkpoint
from boostsample.step import Step
from boostsample.strategies import UniformNaive
from boostsample.strategy import Stump
from tests.loop.checkpoint_runs import finished, new_booster, straight, until
from tests.problems import bank_of, noisy_labels, table


@pytest.fixture(scope="module")
def content(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A checkpoint of 4 rounds of a tree with UCB."""
    path = tmp_path_factory.mktemp("saved") / "run.checkpoint"
    until(path, new_booster("ucb", "tree:n_leaves=4"), 4)
    return path.read_bytes()


@pytest.fixture
def path(tmp_path: Path, content: bytes) -> Path:
    path = tmp_path / "run.checkpoint"
    path.write_bytes(content)
    return path


def refusal(path: Path, kind: type[BoostSampleError] = DataError, **changes: Any) -> str:
    """The message with which a checkpoint is refused; the booster is as it was, or of no use."""
    before = path.read_bytes() if path.is_file() else None
    settings = {"strategy": "ucb", "learner": "tree:n_leaves=4", **changes}
    booster = new_booster(**settings)
    with pytest.raises(kind) as caught:
        Checkpoint(path, booster)
    text = str(caught.value)
    assert "\n" not in text
    assert booster.round == 0 or booster.stopped
    if before is not None:
        assert path.read_bytes() == before
    return text


COLUMNS = "boostsample.families.columns.Columns"
OTHER: dict[str, dict[str, Any]] = {
    "budget 800, now 77": {"budget": 77},
    "exploration of the strategy 2.0, now 0.5": {"strategy": "ucb:exploration=0.5"},
    "strategy boostsample.strategies.bandits.ucb.UCB, now boostsample.strategies.full.Full": {
        "strategy": "full",
        "budget": 800,
    },
    "n_leaves of the learner 4, now 5": {"learner": "tree:n_leaves=5"},
    "learner boostsample.learners.tree.Tree, now boostsample.learners.stump.StumpLearner": {
        "learner": "stump"
    },
    "weight_init balanced, now uniform": {"weight_init": "uniform"},
    "learning_rate 1.0, now 0.5": {"learning_rate": 0.5},
    "smoothing 0.0, now 0.01": {"smoothing": 0.01},
    "other random stream (seed)": {"rng": 1},
    "4 rounds are done, now n_rounds is 3": {"n_rounds": 3},
    "other weights of the training examples": {"example_weight": np.arange(1.0, 81.0)},
    "other labels of the training examples": {"Y": -noisy_labels()},
    "other rows of the training examples": {"rows": np.arange(80)[::-1]},
    "training examples 80, now 79": {
        "rows": np.arange(79),
        "Y": noisy_labels()[:79],
        "budget": 800,
    },
    "other features in the bank": {"bank": bank_of(table() + 100.0, groups=2)},
    "labels 3, now 4": {"n_labels": 4},
    f"family 'columns' none, now {COLUMNS}; family 'part 0' {COLUMNS}, now none; "
    f"family 'part 1' {COLUMNS}, now none": {"bank": bank_of(table())},
    "examples of the bank 80, now 90": {
        "bank": bank_of(table(90), groups=2),
        "rows": np.arange(80),
    },
}


@pytest.mark.parametrize("difference", OTHER)
def test_another_run_is_refused_by_naming_what_differs(difference: str, path: Path) -> None:
    text = refusal(path, **OTHER[difference])
    named = text.split("that of another run: ")[1].split("; train with the settings")[0]
    extra = named.replace(difference, "").strip("; ")
    assert difference in named
    # Data of another shape differ in more than one fact.
    known = ("other features in the bank", "other labels of the training examples")
    assert all(fact in known for fact in extra.split("; ") if fact), named


def test_another_version_of_the_results(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(booster_module, "NUMERICS", 0)
    assert f"version of the numerical results {NUMERICS}, now 0" in refusal(path)


def test_other_source_code_of_a_strategy(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Mine(UniformNaive):
        pass

    path.unlink()
    until(path, new_booster(Mine()), 1)
    monkeypatch.setattr("boostsample.loop.booster.code_of", lambda kind: kind.__name__)
    text = refusal(path, strategy=Mine(), learner="stump")
    assert "another run: other source code of the strategy; other source code of the" in text


def test_a_class_whose_code_cannot_be_read_has_no_checkpoint(tmp_path: Path) -> None:
    space: dict[str, Any] = {"UniformNaive": UniformNaive}
    exec("class Ghost(UniformNaive):\n    pass", space)
    booster = new_booster(space["Ghost"]())
    with pytest.raises(SettingError, match=r"of the class Ghost must be readable, .* in a file"):
        Checkpoint(tmp_path / "run.checkpoint", booster)
    booster.next_round()  # without a file, it trains


def test_weights_that_do_not_follow_from_the_terms(path: Path) -> None:
    entries = archive_entries(path.read_bytes())
    entries["votes"] = entries["votes"] ^ np.uint8(0x80)
    path.write_bytes(archive_bytes(entries))
    assert "the weights after 4 rounds must be those of the saved state" in refusal(path)


def test_any_changed_byte_is_noticed_or_harmless(path: Path, content: bytes) -> None:
    rng = np.random.default_rng(0)
    want = straight(new_booster("ucb", "tree:n_leaves=4"))
    harmless = 0
    for at in rng.integers(0, len(content), 60).tolist():
        changed = bytearray(content)
        changed[at] ^= int(rng.integers(1, 256))
        path.write_bytes(bytes(changed))
        try:
            harmless += finished(path, new_booster("ucb", "tree:n_leaves=4")) == want
        except DataError as error:
            assert "\n" not in str(error)  # noqa: PT017 - several outcomes are right
        else:
            assert read_checkpoint(path) is not None
    assert harmless < 30  # times and attributes of the archive's members


def test_truncated_and_foreign_files(path: Path, content: bytes) -> None:
    half = content[: len(content) // 2]
    for text in (b"", half, b"feature,label\n1,2\n", archive_bytes({"x": np.arange(3)})):
        path.write_bytes(text)
        assert "cannot be read, it is damaged or in another format" in refusal(path)
    path.write_bytes(archive_bytes({"meta": json_entry({"kind": "model"})}))
    assert "is no checkpoint of boostsample; name another file" in refusal(path)


@pytest.mark.parametrize("number", [0, FORMAT + 1])
def test_other_formats(number: int, path: Path) -> None:
    entries = archive_entries(path.read_bytes())
    meta = {**read_json_entry(entries["meta"]), "format": number}
    path.write_bytes(archive_bytes({**entries, "meta": json_entry(meta)}))
    assert f"has format {number}, not {FORMAT}; use the version that wrote it" in refusal(path)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("parent", 5),
        ("feature", 99),
        ("bin", 0),
        ("n_terms", 0),
        ("searches", 0),
        ("side", 7),
        ("round_edge", 0.1),
        ("a circle", 1),
    ],
)
def test_values_of_files_made_on_purpose(name: str, value: float, path: Path) -> None:
    entries = archive_entries(path.read_bytes())
    if name == "a circle":
        entries["parent"][1] = entries["side"][1] = value
    else:
        entries[name] = np.full_like(entries[name], value)
    path.write_bytes(archive_bytes(entries))
    text = refusal(path)
    assert name != "a circle" or "its terms must be trees, parents before children" in text


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("facts", 3),
        ("facts", [["budget"]]),
        ("start", 1),
        ("n_rounds", "12"),
        ("notes", []),
    ],
)
def test_entries_of_another_type_are_refused(name: str, value: Any, path: Path) -> None:
    entries = archive_entries(path.read_bytes())
    meta = {**read_json_entry(entries["meta"]), name: value}
    path.write_bytes(archive_bytes({**entries, "meta": json_entry(meta)}))
    assert "cannot be read, it is damaged or in another format" in refusal(path)
    assert f"its {name} must be of type" in refusal(path)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("counts_", "pulls_", "the state of the strategy lacks 'counts_'"),
        ("n_arms_", "choose", "the state of the strategy lacks 'n_arms_'"),
        ("winner_", "choose", "a learned attribute must end, and not begin, with _, got 'choose'"),
    ],
)
def test_other_states_of_a_strategy_are_refused(
    old: str, new: str, message: str, path: Path
) -> None:
    entries = archive_entries(path.read_bytes())
    text = entries["state"].tobytes().decode("ascii")
    assert f'"{old}"' in text
    entries["state"] = text_entry(text.replace(f'"{old}"', f'"{new}"'))
    path.write_bytes(archive_bytes(entries))
    assert f"cannot be continued: {message}" in refusal(path)


@pytest.mark.parametrize("name", ["feature", "edge", "searches"])
@pytest.mark.parametrize("dtype", ["S4", "complex64", "longer"])
def test_arrays_of_another_type_or_length_are_refused(name: str, dtype: str, path: Path) -> None:
    entries = archive_entries(path.read_bytes())
    array = entries[name]
    other = np.append(array, array[:1]) if dtype == "longer" else np.full(array.shape, 1, dtype)
    path.write_bytes(archive_bytes({**entries, name: other}))
    assert "cannot be read: its array '" in refusal(path)


def test_a_folder_and_missing_folders(path: Path, tmp_path: Path) -> None:
    assert "cannot be read: Is a directory" in refusal(tmp_path)
    assert "cannot be written: No such file" in refusal(tmp_path / "missing" / "run.checkpoint")
    for wrong in (3, b"run.checkpoint"):
        with pytest.raises(SettingError, match="must be the path of a file, got"):
            Checkpoint(wrong, new_booster())  # type: ignore[arg-type]  # wrong on purpose
    assert list(tmp_path.iterdir()) == [path]


def test_settings_of_the_checkpoint(path: Path) -> None:
    with pytest.raises(SettingError, match="seconds of a checkpoint must be at least 0 and finite"):
        Checkpoint(path, new_booster(), seconds=-1)
    booster = new_booster()
    booster.next_round()
    with pytest.raises(SettingError, match="before its first round, got one after round 1"):
        Checkpoint(path, booster)


class Odd(UniformNaive):
    """Keeps, notes or is given what cannot be saved."""

    def __init__(self, n_features: int = 1, keeps: str = "", extra: Any = None) -> None:
        super().__init__(n_features)
        self.keeps = keeps
        self.extra = extra

    def choose(self, step: Step) -> Stump:
        if self.keeps == "state":
            self.seen_ = {1, 2}
        if self.keeps == "order":
            self.table_ = np.zeros((2, 3), order="F")
        if self.keeps == "setting":
            self.n_features = 2
        if self.keeps == "setting in place":
            self.extra.append(1)
        if self.keeps == "private":
            self._seen_ = step.round
        if self.keeps == "note":
            step.note(word=b"bytes")
        return super().choose(step)


@pytest.mark.parametrize(
    ("keeps", "message"),
    [
        ("state", "Odd must keep and note arrays.*a set cannot be saved"),
        ("note", "Odd must keep and note arrays.*bytes"),
        ("order", "a ndarray of float64 in another order than C's cannot be saved"),
        ("setting", "Odd has changed its attribute 'n_features' in the run"),
        ("setting in place", "Odd has changed its attribute 'extra' in the run"),
        ("private", "Odd has changed its attribute '_seen_' .* end, and do not begin, with '_'"),
    ],
)
def test_what_cannot_be_saved_is_an_error_in_the_first_round(
    keeps: str, message: str, tmp_path: Path
) -> None:
    checkpoint = Checkpoint(tmp_path / "run", new_booster(Odd(keeps=keeps, extra=[])))
    with pytest.raises(StrategyError, match=message):
        checkpoint.next_round()
    assert not list(tmp_path.iterdir())


def test_settings_that_cannot_be_compared_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match=r"extra of Odd must be a number.*got a object"):
        Checkpoint(tmp_path / "run", new_booster(Odd(extra=object())))
    values = (UniformNaive(), np.arange(3), (1, 2.5), {"a": None}, len, int, np.float32(1))
    until(tmp_path / "run", new_booster(Odd(extra=values)), 1)
    other = (UniformNaive(2), *values[1:])
    with pytest.raises(DataError, match=r"extra of the strategy .* now"):
        Checkpoint(tmp_path / "run", new_booster(Odd(extra=other)))


def test_a_full_disk_keeps_the_last_checkpoint_and_training_goes_on(
    tmp_path: Path, full_disk: Any
) -> None:
    path = tmp_path / "run.checkpoint"
    booster = new_booster()
    with Checkpoint(path, booster, seconds=0) as checkpoint:
        checkpoint.next_round()
        before = path.read_bytes()
        full_disk(1000)
        with pytest.warns(RuntimeWarning, match=r"goes on, .* stays at round 1: .*File too large"):
            checkpoint.next_round()
        assert path.read_bytes() == before
        assert list(tmp_path.iterdir()) == [path]
        full_disk(None)
        checkpoint.next_round()
    assert finished(path, new_booster()) == straight(new_booster())


def test_a_full_disk_at_the_start_is_an_error(tmp_path: Path, full_disk: Any) -> None:
    checkpoint = Checkpoint(tmp_path / "run.checkpoint", new_booster())
    full_disk(1000)
    with pytest.raises(DataError, match="cannot be written: File too large"):
        checkpoint.next_round()
    full_disk(None)
    assert not list(tmp_path.iterdir())
