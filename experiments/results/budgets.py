"""Budgets of the searches of a comparison, in words: which strategies had which."""

from __future__ import annotations

import statistics
from collections.abc import Collection, Mapping
from typing import Any

from boostsample.experiments.results.titles import label_of


def budgets_of(facts: Mapping[str, Any]) -> dict[str, list[str]]:
    """Labels of strategies by their budget of a search in multiples of N, most common first.

    `facts` is an entry of ``data_sets``, of one setup or joined. Strategies with the budget that
    their label names are left out of joined ones.
    """
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for strategy in facts.get("strategies", ()):
        if "budget" not in strategy:  # of an older folder
            continue
        groups.setdefault(_text(strategy["budget"], facts["n_train"]), []).append(strategy)
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
    is_named = any("named_budget" in strategy for strategy in facts.get("strategies", ()))
    if not groups or (len(groups) < 2 and not is_named):
        return ""
    listed = "; ".join(f"{', '.join(of)} {text}" for text, of in groups.items())
    if is_named:
        return f"looks of a search that do not follow the budget: {listed}"
    return f"budgets of a search differ: {listed} looks"


def _text(budgets: Collection[int], sizes: Collection[int]) -> str:
    """A budget as a multiple of N, to four digits.

    >>> _text([13470, 13480], [1347, 1348])
    '10 N'
    """
    pairs = zip(budgets, sizes, strict=False)
    multiple = statistics.fmean(looks / size for looks, size in pairs)
    return f"{float(f'{multiple:.4g}'):,g} N"
