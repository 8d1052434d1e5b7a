"""Tables of results as text, Markdown, LaTeX, CSV and HTML."""

from boostsample.experiments.results.labels import METRICS, is_charged, label_of, repetitions
from boostsample.experiments.tables.formats import to_rich, to_text
from boostsample.experiments.tables.number_formats import mean_std
from boostsample.experiments.tables.score_tables import score_table
from boostsample.experiments.tables.tables import Table, looks_table, tuning_table

__all__ = [
    "METRICS",
    "Table",
    "is_charged",
    "label_of",
    "looks_table",
    "mean_std",
    "repetitions",
    "score_table",
    "to_rich",
    "to_text",
    "tuning_table",
]
