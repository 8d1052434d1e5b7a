"""Models in notebooks: a table of their first terms."""

from __future__ import annotations

import html
from typing import Any

import numpy as np

_TERMS = 10
_LABELS = 20


def model_html(model: Any) -> str:
    """A ``<table>`` of the first ten terms of a `boostsample.models.model.Model`.

    Of a term that is no stump, the votes are those for values of at least the threshold.
    """
    ends = np.cumsum([family.n_features for family in model.families])
    n_terms, n_labels = model.votes.shape
    stumps = model.are_stumps
    rows = []
    for at in range(min(_TERMS, n_terms)):
        feature = int(model.feature[at])
        owner = int(np.searchsorted(ends, feature, side="right"))
        family = model.families[owner]
        name = family.feature_name(feature - int(ends[owner]) + family.n_features)
        signs = "".join("+" if vote > 0 else "-" for vote in model.votes[at, :_LABELS].tolist())
        shown = signs + ("..." if n_labels > _LABELS else "")
        number = int(np.searchsorted(model.first, at, side="right"))
        threshold, alpha = f"{model.threshold[at]:.4g}", f"{model.alpha[at]:.4f}"
        rows.append((str(number), family.name, name, threshold, alpha, shown))
    columns = ("stump" if stumps else "round", "family", "feature", "threshold", "alpha", "votes")
    head = "".join(f'<th scope="col">{name}</th>' for name in columns)
    body = "".join(
        "<tr>" + "".join(f"<td>{html.escape(entry)}</td>" for entry in row) + "</tr>"
        for row in rows
    )
    more = f"; the first {_TERMS} are shown" if n_terms > _TERMS else ""
    what = f"{n_terms:,} stumps" if stumps else f"{len(model):,} rounds, {n_terms:,} terms"
    caption = f"{what}, {n_labels:,} votes each{more}"
    return (
        f"<table><caption>{caption}</caption><thead><tr>{head}</tr></thead>"
        f"<tbody>{body}</tbody></table>"
    )
