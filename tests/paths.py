"""Where the checkout is, and its published results."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "docs" / "results"
"""Results of the published tables. They stay in the repository: the sdist has none."""
needs_results = pytest.mark.skipif(
    not RESULTS.is_dir(), reason="docs/results is in the repository, but not in the sdist"
)
