"""What losses.py takes for a run that ended well; runs on real clusters are too slow for here."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from tests.experiments import losses
from tests.experiments.kills import Ending

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="it has no SIGKILL and no fork")


@pytest.mark.parametrize(
    ("code", "text", "cells", "wrong"),
    [
        (0, "", "whole", ""),
        (0, "", "others", "its cells differ"),
        (None, "waiting", "whole", "it hung: waiting"),
        (1, "lost", "whole", "exit code 1: lost"),
    ],
)
def test_a_run_that_does_not_end_well_is_found(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    code: int | None,
    text: str,
    cells: str,
    wrong: str,
) -> None:
    cluster, commands = Mock(address="tcp://x", workers=[Mock()]), Mock()

    def run(_: list[str], disturb: Callable[[int], None] | None = None) -> Ending:
        if disturb is None:
            return Ending(0, "", 0.01)
        disturb(0)
        return Ending(code, text, 0.01)

    def content(_: Path) -> dict[str, Any]:
        return {"rows": cells if cluster.lose.called else "whole"}

    commands.run = run
    monkeypatch.setattr(losses, "content", content)
    assert losses.Trial(tmp_path, commands, cluster, ["compare"], 0).run("kill") == wrong
    cluster.lose.assert_called_once_with(cluster.workers[0])
