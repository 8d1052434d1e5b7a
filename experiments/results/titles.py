"""Labels of strategies, words for learners, repetitions and budgets in titles, and setups.

A setup is everything that the runs of a grid share but data set, strategy and repetition: learner,
objective, step, budget, initial weights and bank. The settings of a setup are those of
``plan.json`` with the values of its axes.
"""

from __future__ import annotations

import statistics
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from boostsample.banks.bank_forms import BANKS
from boostsample.experiments.plan.plan import LIMITS, MH, setting_text
from boostsample.experiments.plan.variants import CHARGED_VARIANT, Variant, is_tuned_variant
from boostsample.loop.budgets import round_budgets_note
from boostsample.names import short_name
from boostsample.output_codes import ONE_VS_REST

STUMP = "stump"
"""The learner that adds one stump in each round."""


def label_of(row: Mapping[str, Any]) -> str:
    """The label of a row's strategy: its name with its settings."""
    name = str(row["strategy"])
    return f"{name}:{row['settings']}" if row["settings"] and not is_tuned_variant(name) else name


def cells_of(facts: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """The files of the cells of each strategy, by its label: those of `full` are in all budgets."""
    return {
        label_of(strategy): tuple(f for search in strategy["searches"] for f in search["files"])
        for strategy in facts.get("strategies", ())
        if strategy.get("searches")
    }


def is_charged(label: str) -> bool:
    """Whether a label is that of a tuned strategy with its tuning charged to it."""
    return label.endswith(CHARGED_VARIANT)


def learner_label(settings: Mapping[str, Any]) -> str:
    """The learner of a plan or a run, with step, objective, code and limits if not the default.

    >>> learner_label({"learner": "tree:n_leaves=8", "learning_rate": 0.1})
    'tree:n_leaves=8:learning_rate=0.1'
    """
    of_run = "learning_rate", "smoothing", "objective", "code", "decoding", *LIMITS
    values = {name: settings[name] for name in of_run if name in settings}
    given = [
        f"{name}={f'{value:g}' if isinstance(value, float) else short_name(str(value))}"
        for name, value in values.items()
    ]
    return ":".join([short_name(str(settings["learner"])), *given])


def _all_stumps(learners: Iterable[str]) -> bool:
    return all(learner.partition(":")[0] == STUMP for learner in learners)


def counted(learners: Iterable[str]) -> str:
    """What marks and the column `stumps` count: a round of another learner has several terms.

    >>> counted(["stump"]), counted(["stump", "tree:n_leaves=8"])
    ('stumps', 'rounds')
    """
    return "stumps" if _all_stumps(learners) else "rounds"


def chosen_by_searches(learners: Iterable[str]) -> str:
    """What the searches of runs chose: of other learners not all are in the model."""
    return "stumps" if _all_stumps(learners) else "stumps of all searches"


def with_learner(name: str, learners: Iterable[str]) -> str:
    """The name of a data set, with the learner unless it is the stump; labels tell several apart.

    >>> with_learner("digits", ["stump"]), with_learner("digits", ["tree:n_leaves=8"])
    ('digits', 'digits, learner tree:n_leaves=8')
    """
    different = set(learners)
    if len(different) != 1 or STUMP in different:
        return name
    return f"{name}, learner {different.pop()}"


def repetitions(n: int, what: str = "mean and std", least: int | None = None) -> str:
    """A phrase for titles about `n` repetitions, or `least` to `n` of them.

    >>> repetitions(3), repetitions(1), repetitions(10, "mean", least=7)
    ('mean and std of 3 repetitions', 'one repetition', 'mean of 7 to 10 repetitions')
    """
    if n <= 1:
        return "one repetition"
    return f"{what} of {n if least in (None, n) else f'{least} to {n}'} repetitions"


def budgets_of(facts: Mapping[str, Any]) -> dict[str, list[str]]:
    """Labels of strategies by their budget of a search in multiples of N, most common first.

    Budgets that vary by round are as they were given. `facts` is an entry of ``data_sets``, of one
    setup or joined. Strategies with the budget that their label names are left out of joined ones.
    """
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for strategy in facts["strategies"]:
        groups.setdefault(_budget_text(strategy, facts["n_train"]), []).append(strategy)
    named = any("named_budget" in strategy for of in groups.values() for strategy in of)
    if named:
        groups = {
            text: of
            for text, of in groups.items()
            if text.replace(" ", "") not in {strategy["named_budget"] for strategy in of}
        }
    ordered = sorted(groups.items(), key=lambda group: -len(group[1]))
    return {text: [label_of(strategy) for strategy in of] for text, of in ordered}


def budgets_note(facts: Mapping[str, Any], labels: Collection[str]) -> str:
    """A note if the strategies with these labels had different budgets, else an empty text."""
    groups = {
        text: [label for label in of if label in labels] for text, of in budgets_of(facts).items()
    }
    groups = {text: of for text, of in groups.items() if of}
    is_named = any("named_budget" in strategy for strategy in facts["strategies"])
    if not groups or (len(groups) < 2 and not is_named):
        return ""
    listed = "; ".join(f"{', '.join(of)} {text}" for text, of in groups.items())
    if is_named:
        return f"looks of a search that do not follow the budget: {listed}"
    return f"budgets of a search differ: {listed} looks"


def varying_budgets(facts: Mapping[str, Any]) -> list[str]:
    """A sentence on each of the budgets that vary by round, see `round_budgets`."""
    given = dict.fromkeys(of.get("round_budgets", "") for of in facts["strategies"])
    return [round_budgets_note(budget) for budget in given if budget]


def _budget_text(strategy: Mapping[str, Any], sizes: Collection[int]) -> str:
    """A budget as a multiple of N, to four digits; with its kind as it was given.

    >>> _budget_text({"budget": [13470, 13480]}, [1347, 1348])
    '10 N'
    """
    if "round_budgets" in strategy:
        return str(strategy["round_budgets"]).replace("N", " N")
    pairs = zip(strategy["budget"], sizes, strict=False)
    multiple = statistics.fmean(looks / size for looks, size in pairs)
    return f"{float(f'{multiple:.4g}'):,g} N"


# ---------------------------------------------------------------------------------------- setups

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
    "weight_init": "balanced",
    "budget": None,
}
SETTING_OF_AXIS = {"weight_init": "weights"}
"""Names of settings in ``plan.json`` that are not those of their axes."""


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
        axis: setting_text(settings.get(SETTING_OF_AXIS.get(axis, axis), usual))
        for axis, usual in _DEFAULTS.items()
    }
    bank = settings.get("bank", {"form": "memory"})
    default = {"form": bank["form"], **BANKS.get(bank["form"], {})}
    given = {name: value for name, value in bank.items() if value != default.get(name)}
    return {**values, "bank": Variant(bank["form"], given).label}
