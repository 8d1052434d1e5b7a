"""Budgets of the searches of a comparison, in words: which strategies had which."""

from __future__ import annotations

import statistics
from collections.abc import Collection, Mapping
from typing import Any

from boostsample.experiments.results.titles import label_of
from boostsample.loop.round_budgets import round_budgets_note


def budgets_of(facts: Mapping[str, Any]) -> dict[str, list[str]]:
    """Labels of strategies by their budget of a search in multiples of N, most common first.

    Budgets that vary by round are as they were given. `facts` is an entry of ``data_sets``, of one
    setup or joined. Strategies with the budget that their label names are left out of joined ones.
    """
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for strategy in facts["strategies"]:
        groups.setdefault(_text(strategy, facts["n_train"]), []).append(strategy)
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


def _text(strategy: Mapping[str, Any], sizes: Collection[int]) -> str:
    """A budget as a multiple of N, to four digits; with its kind as it was given.

    >>> _text({"budget": [13470, 13480]}, [1347, 1348])
    '10 N'
    """
    if "round_budgets" in strategy:
        return str(strategy["round_budgets"]).replace("N", " N")
    pairs = zip(strategy["budget"], sizes, strict=False)
    multiple = statistics.fmean(looks / size for looks, size in pairs)
    return f"{float(f'{multiple:.4g}'):,g} N"
