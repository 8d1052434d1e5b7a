"""Fixtures that every test may use."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.paths import ROOT

if hasattr(signal, "SIGHUP"):
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # under nohup, which processes of tests would see


def pytest_collection_finish() -> None:
    """Spares the garbage collector all that was imported, and most of its runs in compilations."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder of the original data files; the test is skipped where there is none."""
    named = os.environ.get("BOOSTSAMPLE_DATA_DIR")
    if named:
        folder = Path(named)
        if not folder.is_dir():
            pytest.fail(f"BOOSTSAMPLE_DATA_DIR must name a folder, got {named!r}")
        return folder
    folder = ROOT.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip(f"no data files: BOOSTSAMPLE_DATA_DIR is not set and {folder} is no folder")
    return folder


@pytest.fixture
def rng() -> np.random.Generator:
    """A generator with the same stream in every test."""
    return np.random.default_rng(20111212)


@pytest.fixture(autouse=True)
def _global_random_state_is_untouched(request: pytest.FixtureRequest) -> Iterator[None]:
    """Randomness is an argument: whoever draws from NumPy's global state is caught here."""
    before = _global_random_state()
    yield
    if not request.node.get_closest_marker("global_random"):
        assert _global_random_state() == before, "NumPy's global random state was drawn from"


def _global_random_state() -> tuple[bytes, int]:
    state = np.random.get_state(legacy=False)  # noqa: NPY002 - it is the old state that is watched
    return state["state"]["key"].tobytes(), int(state["state"]["pos"])


@pytest.fixture
def full_disk() -> Iterator[Callable[[int | None], None]]:
    """A function after which files can have so many bytes only, or any number again (None)."""
    import resource

    before = resource.getrlimit(resource.RLIMIT_FSIZE)

    def limit(size: int | None) -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, before if size is None else (size, before[1]))

    yield limit
    limit(None)
