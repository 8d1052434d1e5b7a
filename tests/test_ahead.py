"""Kernels that a helper compiles: nothing is left to compile, and nothing depends on it."""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from numba.core import caching

from boostsample import _jit, ahead
from boostsample.kernels.search import search_kernel
from boostsample.weights import vectors_of

ROOT = Path(__file__).resolve().parent.parent
COMPILED = os.environ.get("NUMBA_DISABLE_JIT", "0") in ("", "0")
compiled = pytest.mark.skipif(not COMPILED, reason="NUMBA_DISABLE_JIT=1: nothing is compiled")

#: Fits, and prints which kernels were compiled here while the fit ran, and what it found.
FIT = """
import json, sys
import numpy as np
from boostsample import BoostSampleClassifier, ahead, _compile_jobs
from numba.core import event

class Seen(event.Listener):
    def on_start(self, event):
        names.append(event.data["dispatcher"].py_func.__name__)
    def on_end(self, event):
        pass

names = []
event.register("numba:compile", Seen())
{before}
rng = np.random.default_rng(0)
X, y = rng.normal(size=(300, 12)), rng.integers(0, {labels}, 300)
model = BoostSampleClassifier({strategy!r}, n_rounds=4, random_state=0, bank={bank!r}).fit(X, y)
print(json.dumps([names, model.history_[-1]["log10_loss"]]))
"""
#: Two cores, whatever there are.
TWO = "ahead.n_threads = lambda n_jobs: 2"
ALONE = "ahead.n_threads = lambda n_jobs: 1"


def run(arguments: list[str], cache: Path) -> subprocess.CompletedProcess[str]:
    """A fresh process with a cache of kernels of its own."""
    own = {"NUMBA_CACHE_DIR": str(cache), "BOOSTSAMPLE_CACHE_DIR": str(cache / "banks")}
    return subprocess.run(
        [sys.executable, *arguments],
        env={**os.environ, **own, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )


def searches(names: list[str]) -> list[str]:
    return [name for name in names if name.startswith(("search", "sweep"))]


def fit(
    cache: Path, strategy: str, bank: str = "memory", labels: int = 3, before: str = TWO
) -> tuple[list[str], float, str]:
    """The kernels that a fresh process compiles itself, the loss, and what it says."""
    script = FIT.format(before=before, labels=labels, strategy=strategy, bank=bank)
    done = run(["-c", script], cache)
    names, loss = json.loads(done.stdout)
    return names, loss, done.stderr


@compiled
def test_nothing_of_what_a_helper_compiles_is_left(tmp_path: Path) -> None:
    names, loss, messages = fit(tmp_path, "uniform-naive")
    once = ("cut_block", "assign_block", "nearest_gap", "midpoint")  # whoever calls them, and how
    assert [names.count(name) for name in once] == [1] * len(once)
    assert not searches(names)
    assert "Traceback" not in messages
    assert not list(tmp_path.rglob("*.tmp.*"))
    for before in (TWO, ALONE):
        assert fit(tmp_path, "uniform-naive", before=before)[:2] == ([], loss)
    for bank in ("disk", "lazy"):  # no other arguments
        assert fit(tmp_path, "uniform-naive", bank)[:2] == ([], loss)


@compiled
def test_a_helper_compiles_what_the_strategy_plans_with(tmp_path: Path) -> None:
    names, _, _ = fit(tmp_path, "mas-q1")
    assert not searches(names)
    assert {"fit_rows", "pick"} <= set(names)  # two cores are busy without that
    assert not {"allocate", "expected_edge", "fit_segments"} & set(names)


@compiled
def test_a_helper_compiles_half_of_what_draws_need(tmp_path: Path) -> None:
    names, _, _ = fit(tmp_path, "laminating")
    assert "cumulate" in names
    assert not [name for name in names if name == "pick" or name.startswith("weigh")]


@compiled
def test_when_a_helper_fails_the_kernels_are_compiled_here(tmp_path: Path) -> None:
    names, _, messages = fit(tmp_path, "uniform-naive", before=f"{TWO}; ahead._SCRIPT = '1 / 0'")
    assert searches(names)
    assert "Traceback" not in messages


class Started(Exception):
    """A helper was started."""


def start(monkeypatch: pytest.MonkeyPatch) -> None:
    """Begin a run with nothing kept, on two cores unless a test has said otherwise."""

    def started(*arguments: Any, **settings: Any) -> None:
        raise Started

    monkeypatch.setattr(subprocess, "Popen", started)
    monkeypatch.setattr(_jit, "is_kept", lambda kernel: False)
    with ahead.compiling_ahead(3, [object()]):
        pass


@pytest.fixture
def two_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ahead, "n_threads", lambda n_jobs: 2)


@compiled
@pytest.mark.usefixtures("two_cores")
def test_a_helper_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(Started):
        start(monkeypatch)


@compiled
@pytest.mark.usefixtures("two_cores")
@pytest.mark.parametrize(
    ("module", "name", "value"),
    [
        (ahead, "n_threads", lambda n_jobs: 1),
        (_jit, "can_keep", lambda kernel: False),
        (sys, "frozen", True),
        (sys, "executable", "/opt/blender"),
        (sys, "executable", None),
        (multiprocessing, "parent_process", lambda: "another one"),
        (multiprocessing.current_process(), "_name", "LokyProcess-1"),
    ],
)
def test_no_helper_is_started(
    monkeypatch: pytest.MonkeyPatch, module: Any, name: str, value: Any
) -> None:
    """Where it would be of no use, or another program than Python might start."""
    monkeypatch.setattr(module, name, value, raising=False)
    start(monkeypatch)


@compiled
@pytest.mark.usefixtures("two_cores")
def test_where_no_process_can_be_started_none_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/no/such/python")
    monkeypatch.setattr(_jit, "is_kept", lambda kernel: False)
    with ahead.compiling_ahead(3, [object()]):
        assert search_kernel(*vectors_of(3))._cache.elsewhere is None


@compiled
@pytest.mark.parametrize("ending", ["os._exit(0)", "raise KeyboardInterrupt", "pass"])
def test_a_helper_ends_with_whoever_started_it(tmp_path: Path, ending: str) -> None:
    script = (
        "import os, sys; from boostsample import ahead\n"
        f'{TWO}; ahead._SCRIPT = ahead._SCRIPT.replace(\'serve(order)\', """\n'
        "import boostsample._compile_jobs as jobs, os, pathlib, sys, time\n"
        "def never(*arguments):\n"
        f"    pathlib.Path({str(tmp_path / 'began')!r}).write_text(str(os.getpid()))\n"
        "    time.sleep(600)\n"
        "jobs.jobs = never\n"
        'serve(order)\n""")\n'
        "with ahead.compiling_ahead(3, [object()]):\n"
        f"    while not os.path.exists({str(tmp_path / 'began')!r}): pass\n"
        f"    {ending}\n"
    )
    with contextlib.suppress(subprocess.CalledProcessError):  # that of the interrupt
        run(["-c", script], tmp_path)
    helper = int((tmp_path / "began").read_text())
    while Path(f"/proc/{helper}").exists():  # or the test ends by its time limit
        time.sleep(0.01)


def test_two_kernels_in_one_file_are_told_apart(tmp_path: Path) -> None:
    """Two processes that save for other arguments at the same time may name one file."""
    files = _jit._Files(str(tmp_path), "kernel", b"stamp")
    files.save("one", 1)
    assert files.load("one") == 1
    other = _jit._Files(str(tmp_path), "kernel", b"stamp")
    other._load_index = dict  # it looked before the first one was saved
    other.save("two", 2)
    assert files.load("one") is None
    assert files.load("two") == 2
    other._save_index({"one": other._data_name(1)})
    assert files.load("one") is None


def test_a_file_of_before_is_not_taken_for_a_new_one(tmp_path: Path) -> None:
    """numba writes the index first: it leads for a moment to what an older version left."""
    _jit._Files(str(tmp_path), "kernel", b"old").save("one", 1)
    files = _jit._Files(str(tmp_path), "kernel", b"new")
    files._save_index({"one": files._data_name(1)})
    assert files.load("one") is None
    files.save("one", 2)
    assert files.load("one") == 2


def test_who_waits_is_told_and_stops_when_nothing_comes(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    cache: Any = _jit._KernelCache.__new__(_jit._KernelCache)
    left = [True] * 150
    monkeypatch.setattr(caching.FunctionCache, "load_overload", lambda *arguments: None)
    monkeypatch.setattr(_jit, "_waiting", _jit._Waiting())
    monkeypatch.setattr(time, "sleep", lambda seconds: None)
    monkeypatch.setattr(cache, "kinds", lambda: 0, raising=False)
    cache.elsewhere = lambda: bool(left) and left.pop()
    with caplog.at_level("WARNING", "boostsample"):
        assert cache.load_overload("signature", "context") is None
    assert [record.getMessage()[:17] for record in caplog.records] == ["compiling kernels"]


def test_a_kernel_for_other_arguments_ends_the_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    cache: Any = _jit._KernelCache.__new__(_jit._KernelCache)
    kinds = iter([1, 1, 2])
    monkeypatch.setattr(caching.FunctionCache, "load_overload", lambda *arguments: None)
    monkeypatch.setattr(time, "sleep", lambda seconds: None)
    monkeypatch.setattr(cache, "kinds", lambda: next(kinds), raising=False)
    cache.elsewhere = lambda: True
    assert cache.load_overload("signature", "context") is None
