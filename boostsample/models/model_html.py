"""Models in notebooks: a table of their first stumps."""

from __future__ import annotations

import html
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from boostsample.family import Family

__all__ = ["model_html"]

_STUMPS = 10
_LABELS = 20
_HEAD = ("stump", "family", "feature", "threshold", "alpha", "votes")


def model_html(
    families: Sequence[Family],
    feature: NDArray[np.int64],
    threshold: NDArray[np.float64],
    votes: NDArray[np.int8],
    alpha: NDArray[np.float64],
) -> str:
    """A ``<table>`` of the first ten stumps, from the attributes of a `Model`.

    `feature`, `threshold` and `alpha` have shape (R,), `votes` (R, K).
    """
    ends = np.cumsum([family.n_features for family in families])
    n_stumps, n_labels = votes.shape
    rows = []
    for at in range(min(_STUMPS, n_stumps)):
        owner = int(np.searchsorted(ends, feature[at], side="right"))
        family = families[owner]
        name = family.feature_name(int(feature[at] - ends[owner]) + family.n_features)
        signs = "".join("+" if vote > 0 else "-" for vote in votes[at, :_LABELS].tolist())
        shown = signs + ("..." if n_labels > _LABELS else "")
        rows.append(
            (str(at + 1), family.name, name, f"{threshold[at]:.4g}", f"{alpha[at]:.4f}", shown)
        )
    head = "".join(f'<th scope="col">{name}</th>' for name in _HEAD)
    body = "".join(
        "<tr>" + "".join(f"<td>{html.escape(entry)}</td>" for entry in row) + "</tr>"
        for row in rows
    )
    more = f"; the first {_STUMPS} are shown" if n_stumps > _STUMPS else ""
    caption = f"{n_stumps:,} stumps, {n_labels:,} votes each{more}"
    return (
        f"<table><caption>{caption}</caption><thead><tr>{head}</tr></thead>"
        f"<tbody>{body}</tbody></table>"
    )
