"""Random inputs, damaged files, no memory, and fits at the same time."""

from __future__ import annotations

import io
import json
import pickle
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from boostsample import BoostSampleClassifier
from boostsample.errors import DataError
from boostsample.experiments.results.read_folder import read_results
from tests.damages import payload
from tests.paths import run_python
from tests.stress.fit_invariants import refusal
from tests.stress.fuzzed_files import KINDS, check_file
from tests.stress.random_inputs import check_case, random_case


def test_without_memory_a_fit_raises_and_the_process_goes_on() -> None:
    code = """
import resource, sys
import numpy as np
from boostsample import BoostSampleClassifier
from boostsample.errors import BoostSampleError
X, y = np.zeros((2000, 3), np.float32), np.arange(2000) % 2
X[:, 0] = y
model = BoostSampleClassifier(n_rounds=3, random_state=0).fit(X, y)
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 2**26, used + 2**26))
try:
    wide = np.broadcast_to(np.float32(1), (2000, 400_000))
    BoostSampleClassifier(n_rounds=3, random_state=0).fit(wide, y)
except MemoryError as error:
    print("no memory:", error)
print(model.predict(X[:2]))
"""
    done = run_python("-c", code)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("no memory:")
    assert done.stdout.endswith("[0 1]\n")


#: Commands on few data, on many with so many more MiB, and on many without a limit.
_COMMANDS = """
import json, os, resource, sys
from boostsample.experiments.commands.cli import main
os.chdir(sys.argv[1])
cases = [(1 << 20, json.loads(sys.argv[2])), *((int(one), json.loads(sys.argv[3])) for one in
         sys.argv[4:]), (1 << 20, json.loads(sys.argv[3]))]
for mebibytes, command in cases:
    used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + (mebibytes << 20), -1))
    print(f"exit code {main(command)}", file=sys.stderr)
"""


def test_a_comparison_without_memory_ends_with_one_line(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    y = np.arange(10_000) % 2
    X = np.zeros((10_000, 4000), np.float32)  # 153 MiB, and 38 MiB to check them
    X[:, 0] = np.arange(10_000) % 7
    np.savez_compressed(tmp_path / "large.npz", X=X, y=y)
    np.savez_compressed(tmp_path / "small.npz", X=rng.normal(size=(50, 3)), y=y[:50])
    command = ["compare", "--strategies", "laminating", "--rounds", "2", "--repeats", "1"]
    command += ["--quiet", "--data"]
    small = json.dumps([*command, "small.npz"])
    large = json.dumps([*command, "large.npz", "--results", "found"])
    done = run_python("-c", _COMMANDS, str(tmp_path), small, large, "64", "172")
    first, *refused, last = done.stderr.splitlines()
    assert done.returncode == 0, done.stderr
    assert first == last == "exit code 0"
    assert len(refused) == 4
    for error, code in zip(refused[::2], refused[1::2], strict=True):
        assert re.match(
            r"boostsample: error: (out of memory|no thread can be started: memory|"
            r"\S+ .*, it needs more memory than)",
            error,
        )
        assert code == "exit code 1"
    assert len(read_results(tmp_path / "found").rows) == 1


def _fitted(seed: int) -> bytes:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 40)), rng.integers(0, 3, 200)
    model = BoostSampleClassifier("uniform-q1", "tree", 8, random_state=seed, n_jobs=2)
    return model.fit(X, y).decision_function(X).tobytes()


def test_fits_in_threads_are_as_alone() -> None:
    alone = [_fitted(seed) for seed in range(3)]
    assert len(set(alone)) == 3
    with ThreadPoolExecutor(3) as pool:
        assert list(pool.map(_fitted, range(3))) == alone


_AT_ONCE = 15


@pytest.mark.parametrize("first", range(0, 30, _AT_ONCE))
def test_random_inputs_are_fitted_or_refused(
    first: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BOOSTSAMPLE_CACHE_DIR", str(tmp_path))
    fits = [check_case(random_case(at, seed=1)) == "fit" for at in range(first, first + _AT_ONCE)]
    assert _AT_ONCE // 2 < sum(fits) < _AT_ONCE


@pytest.mark.parametrize(
    "error",
    [
        KeyError("x"),
        ValueError("from anywhere"),
        MemoryError(),
        DataError(""),
        DataError("x" * 601),
    ],
)
def test_other_errors_are_faults(error: Exception) -> None:
    with pytest.raises(type(error)) as caught:
        raise error
    with pytest.raises(AssertionError, match="not one clear line"):
        refusal(caught.value)


def test_a_message_is_one_printable_line() -> None:
    assert str(DataError("a\nb\x00 \u00e9")) == "a\\nb\\x00 \u00e9"
    assert len(str(DataError("x" * 10_000))) < 1010


@pytest.mark.parametrize("kind", KINDS)
def test_damaged_files_are_read_or_refused(
    kind: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    good = tmp_path / "good"
    good.mkdir()
    names = KINDS[kind].make(good)
    KINDS[kind].read(good)
    seen = {check_file(kind, good, names, number) for number in range(25)}
    assert kind == "bank" or seen != {"read"}


def test_the_payload_is_seen_when_it_is_loaded(tmp_path: Path) -> None:
    """The marker that a pickle would write is what the check looks for."""
    content = payload(tmp_path / "marker")
    assert not (tmp_path / "marker").exists()
    pickle.load(io.BytesIO(content))
    assert (tmp_path / "marker").exists()
