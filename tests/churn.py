"""A made table of customers that leave: dates, ids, categories, missing values, noise."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas

USEFUL = ("plan", "months", "calls", "signed_up")
NOISE = tuple(f"noise_{at}" for at in range(1, 7))


def churn_table(n_rows: int, seed: int = 0) -> Any:
    """A data frame of `n_rows` customers; about a third of them leave."""
    rng = np.random.default_rng(seed)
    plan = rng.choice(["monthly", "yearly", "two years"], n_rows, p=[0.5, 0.3, 0.2])
    months = rng.integers(1, 73, n_rows)
    calls = rng.poisson(1.5, n_rows).astype(float)
    days = rng.integers(0, 1461, n_rows)
    signed_up = np.datetime64("2020-01-01") + days
    weekend = (days + 2) % 7 >= 5  # 2020-01-01 was a Wednesday
    logit = 1.2 * (plan == "monthly") - 0.04 * months + 0.6 * calls + 2.0 * weekend - 1.4
    left = rng.random(n_rows) < 1 / (1 + np.exp(-logit))
    calls[rng.random(n_rows) < 0.05] = np.nan
    columns: dict[str, Any] = {
        "customer_id": [f"C{at:05}" for at in rng.permutation(n_rows)],
        "signed_up": signed_up.astype(str),
        "plan": pandas.Series(plan).mask(rng.random(n_rows) < 0.03),
        "months": months,
        "calls": calls,
        "country": "NL",
    }
    columns |= {name: rng.normal(size=n_rows).round(4) for name in NOISE}
    return pandas.DataFrame(columns | {"left": np.where(left, "yes", "no")})
