"""Where the checkout is, its published results, and Python in other processes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "docs" / "results"
"""Results of the published tables. They stay in the repository: the sdist has none."""
needs_results = pytest.mark.skipif(
    not RESULTS.is_dir(), reason="docs/results is in the repository, but not in the sdist"
)


def run_python(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Python in the checkout, with its modules, these arguments and more environment variables."""
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        capture_output=True,
        text=True,
        timeout=600,
    )
