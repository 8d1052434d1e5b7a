"""Lost workers cost seconds and no bit: the shortest version of losses.py, which tries more."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from tests.experiments import losses
from tests.experiments.cluster import Cluster
from tests.experiments.kills import Commands
from tests.experiments.losses import DISTURBANCES, Trial

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="it has no SIGKILL and no fork")

COMMAND = [
    "compare",
    "--data",
    "chess(d=6,n=200)",
    "--strategies",
    "laminating,mas-naive,uniform-naive:n_features=2",
    "--rounds",
    "5,300",
    "--repeats",
    "2",
]


@pytest.fixture(scope="module")
def trial(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trial]:
    """Runs of a small command beside a scheduler and three workers."""
    pytest.importorskip("distributed", reason="the extra 'dask' is not installed")
    folder = tmp_path_factory.mktemp("losses")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BOOSTSAMPLE_CACHE_DIR", str(folder / "cache"))
        patch.setattr(losses, "LATEST", 150.0)  # the machine may be busy
        warm_up = [*COMMAND, "--results", str(folder / "warm-up")]
        with Commands(folder, warm_up, losses.HANGS) as commands, Cluster(folder) as cluster:
            yield Trial(folder, commands, cluster, COMMAND, 0)


def test_runs_end_well_and_one_that_does_not_is_found(trial: Trial) -> None:
    assert trial.run("kill") == ""
    trial.whole["rows"] = ""
    assert trial.run("kill") == "its cells differ"
    assert set(DISTURBANCES) > {"kill", "stop", "scheduler"}
