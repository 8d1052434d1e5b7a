"""One schema for the columns of rows, their types, and their documentation."""

from __future__ import annotations

import subprocess
import sys

import pytest

from boostsample.experiments.results.runs import (
    RESULT_COLUMNS,
    RESULT_SCHEMA,
    TABLE_COLUMNS,
    TABLE_SCHEMA,
)
from boostsample.history import markdown_table
from tests.experiments.small_runs import comparison
from tests.paths import ROOT, needs_results


@pytest.mark.parametrize(
    ("rows", "schema", "columns"),
    [("rows", RESULT_SCHEMA, RESULT_COLUMNS), ("curves", TABLE_SCHEMA, TABLE_COLUMNS)],
)
def test_rows_have_the_columns_and_types_of_the_schema(
    rows: str, schema: tuple[tuple[str, type, str], ...], columns: tuple[str, ...]
) -> None:
    for row in getattr(comparison(), rows):
        assert tuple(row) == columns
        assert [type(value) for value in row.values()] == [kind for _, kind, _ in schema]


def test_the_documentation_has_a_line_for_each_column() -> None:
    table = markdown_table(TABLE_SCHEMA)
    assert table in (ROOT / "docs" / "columns.md").read_text("utf-8")
    lines = table.splitlines()
    assert len(lines) == 2 + len(TABLE_SCHEMA)
    for line, (name, kind, meaning) in zip(lines[2:], TABLE_SCHEMA, strict=True):
        assert line == f"| `{name}` | {kind.__name__} | {meaning} |"


@needs_results
def test_a_table_is_printed_without_the_runner() -> None:
    """Among ours; joblib comes with scikit-learn, whose BaseEstimator strategies extend."""
    code = (
        "import sys\n"
        "from boostsample.experiments.results import read_results\n"
        "from boostsample.experiments.tables.formats import to_markdown, to_text\n"
        "from boostsample.experiments.tables.score_tables import result_table, score_table\n"
        "found = read_results('docs/results/df11-mnist')\n"
        "print(to_text(score_table(found.rows)))\n"
        "print([to_markdown(table) for table in result_table([found], 'loss')])\n"
        "ours = [name for name in sys.modules if name.startswith('boostsample')]\n"
        "bad = ('boostsample.experiments.run', 'boostsample.loop.booster')\n"
        "assert not [name for name in ours if name.startswith(bad)], ours\n"
        "assert not {'distributed', 'dask', 'matplotlib'} & set(sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "laminating" in done.stdout
