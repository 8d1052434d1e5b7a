"""Setups of results: the values of the axes, and the columns of rows that tell them apart.

A setup is everything that the runs of a grid share but data set, strategy and repetition: learner,
objective, step, budget, initial weights and bank. The settings of a setup are those of
``plan.json`` with the values of its axes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from boostsample.banks.bank_forms import BANKS
from boostsample.experiments.plan.plan import LIMITS, MH, setting_text
from boostsample.experiments.plan.variants import Variant
from boostsample.experiments.results.titles import STUMP, learner_label
from boostsample.output_codes import ONE_VS_REST

SETUP_COLUMNS = ("learner", "budget", "weight_init", "bank")
"""Columns in which rows of different setups differ."""
_DEFAULTS: Mapping[str, Any] = {
    "learner": STUMP,
    "objective": MH,
    "learning_rate": 1.0,
    "smoothing": 0.0,
    "code": ONE_VS_REST,
    "decoding": "loss",
    **dict.fromkeys(LIMITS, "none"),
    "weights": "balanced",
    "budget": None,
}
SETTING_OF_AXIS = {"weight_init": "weights"}
"""Names of settings in ``plan.json`` that are not those of their axes."""
_NAMES = {setting: axis for axis, setting in SETTING_OF_AXIS.items()}


def settings_of_setup(record: Mapping[str, Any], entry: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a record of ``plan.json`` for one of its ``data_sets``."""
    return {**record, **entry.get("setup", {})}


def setup_columns(settings: Mapping[str, Any]) -> dict[str, str]:
    """The columns of result rows that name their setup, from its settings.

    >>> setup_columns({"learner": "stump", "budget": None, "weights": "uniform"})
    {'learner': 'stump', 'budget': 'default', 'weight_init': 'uniform', 'bank': 'memory'}
    """
    values = axis_values(settings)
    learner = learner_label({"learner": STUMP, **settings})
    return {"learner": learner, **{name: values[name] for name in SETUP_COLUMNS[1:]}}


def axis_values(settings: Mapping[str, Any]) -> dict[str, str]:
    """The values of all axes of a setup, by name, as tables show them.

    >>> axis_values({"learner": "tree:n_leaves=8", "learning_rate": 0.1})["learning_rate"]
    '0.1'
    """
    values = {
        _NAMES.get(name, name): setting_text(settings.get(name, usual))
        for name, usual in _DEFAULTS.items()
    }
    return {**values, "bank": _bank_text(settings.get("bank", {"form": "memory"}))}


def _bank_text(bank: Mapping[str, Any]) -> str:
    """The record of a bank as text, with those of its settings that are not the default."""
    usual = BANKS.get(bank["form"], {})
    given = {k: v for k, v in bank.items() if k != "form" and v != usual.get(k)}
    return Variant(bank["form"], given).label
