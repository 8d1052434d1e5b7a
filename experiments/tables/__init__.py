"""Tables of results as text, Markdown, LaTeX, CSV and HTML."""

from boostsample.experiments.metrics import METRICS
from boostsample.experiments.results.titles import is_charged, label_of, repetitions
from boostsample.experiments.tables.comparison_tables import looks_table, tuning_table
from boostsample.experiments.tables.formats import to_text
from boostsample.experiments.tables.score_tables import score_table
from boostsample.experiments.tables.tables import Table, mean_std

__all__ = [
    "METRICS",
    "Table",
    "is_charged",
    "label_of",
    "looks_table",
    "mean_std",
    "repetitions",
    "score_table",
    "to_text",
    "tuning_table",
]
