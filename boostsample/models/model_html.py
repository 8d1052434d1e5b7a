"""Models in notebooks: a table of their first stumps."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from boostsample.models.model import Model

__all__ = ["model_html"]

_STUMPS = 10
_LABELS = 20
_HEAD = ("stump", "family", "feature", "threshold", "alpha", "votes")


def model_html(model: Model) -> str:
    """A ``<table>`` of the first ten stumps: family, feature, threshold, alpha, votes."""
    families = model.families
    ends = np.cumsum([family.n_features for family in families])
    rows = []
    for at in range(min(_STUMPS, len(model))):
        feature = int(model.feature[at])
        owner = int(np.searchsorted(ends, feature, side="right"))
        family = families[owner]
        name = family.feature_name(feature - int(ends[owner]) + family.n_features)
        votes = "".join("+" if vote > 0 else "−" for vote in model.votes[at, :_LABELS].tolist())
        more = "…" if model.n_labels > _LABELS else ""
        numbers = f"{model.threshold[at]:.4g}", f"{model.alpha[at]:.4f}", votes + more
        rows.append((str(at + 1), family.name, name, *numbers))
    head = "".join(f'<th scope="col">{name}</th>' for name in _HEAD)
    body = "".join(
        "<tr>" + "".join(f"<td>{html.escape(entry)}</td>" for entry in row) + "</tr>"
        for row in rows
    )
    more = f"; the first {_STUMPS} are shown" if len(model) > _STUMPS else ""
    caption = f"{len(model):,} stumps, {model.n_labels:,} votes each{more}"
    return (
        f"<table><caption>{caption}</caption><thead><tr>{head}</tr></thead>"
        f"<tbody>{body}</tbody></table>"
    )
