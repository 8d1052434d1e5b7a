"""What every strategy finds on small synthetic data, to tell whether results keep their bits.

    python -m tests.numerics

writes `tests/numerics.json` anew: after raising NUMERICS, and then only.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import llvmlite.binding
import numpy as np

from boostsample.banks.bank import FeatureBank
from boostsample.experiments.common.machine import machine, versions
from boostsample.experiments.data.dataset import Dataset
from boostsample.experiments.plan.plan import Plan
from boostsample.experiments.plan.prepared import prepare
from boostsample.experiments.plan.variants import Variant
from boostsample.labels import encode
from boostsample.loop.booster import Booster
from boostsample.loop.numerics import NUMERICS
from boostsample.registry import STRATEGIES

GOLDEN = Path(__file__).with_name("numerics.json")
N_ROUNDS = 8


def made_table() -> Dataset:
    """300 rows of 12 numbers, some missing, three classes that several columns tell of."""
    rng = np.random.default_rng(1)
    X = rng.integers(0, 40, (300, 12)).astype(np.float32)
    y = np.digitize(X[:, 0] + X[:, 3] - X[:, 7] + rng.integers(0, 12, 300), [20, 40])
    X[rng.random(X.shape) < 0.05] = np.nan
    return Dataset("made", X, y.astype(np.int64), ("a", "b", "c"))


def made_images() -> Dataset:
    """120 images of 8 x 8 pixels, two classes of blots."""
    rng = np.random.default_rng(2)
    X = rng.integers(0, 60, (120, 8, 8))
    y = rng.integers(0, 2, 120)
    X[:, 2:6, 2:5] += (y[:, None, None] * rng.integers(0, 60, (120, 4, 3))).astype(X.dtype)
    return Dataset("blots", X.astype(np.uint8), y.astype(np.int64), ("a", "b"))


def many_rows() -> Dataset:
    """9,000 rows of 6 numbers and 20 classes: several blocks of examples, two planes of labels."""
    rng = np.random.default_rng(3)
    X = rng.integers(0, 300, (9000, 6)).astype(np.float32)
    y = (X[:, 0] + X[:, 4] + rng.integers(0, 90, 9000)).astype(np.int64) // 35
    return Dataset("many", X, y, tuple(f"class {k}" for k in range(int(y.max()) + 1)))


CASES: dict[str, tuple[Callable[[], Dataset], dict[str, Any]]] = {
    **{name: (made_table, {}) for name in STRATEGIES},
    "laminating distinct": (made_table, {"scheme": "distinct"}),
    "laminating stratified": (made_table, {"scheme": "stratified"}),
    "mas-naive deconvolved": (made_table, {"noise": "deconvolved"}),
    **{
        f"{name} {scheme}": (made_table, {"n_features": n, "scheme": scheme})
        for name, n in (("uniform-naive", 12), ("laminating", 8))
        for scheme in ("mvs", "goss", "uniform", "heaviest")
    },
    "uniform-naive on many rows": (many_rows, {"n_features": 2}),
    "laminating on many rows": (many_rows, {}),
    "uniform-q1 on images": (made_images, {}),
    "laminating on images": (made_images, {}),
}
"""Names, that of the strategy first, with the data and the settings."""


def found(case: str) -> dict[str, list[Any]]:
    """Features, thresholds and alphas of a few rounds."""
    make, settings = CASES[case]
    variant = Variant(case.partition(" ")[0], settings)
    data = make()
    plan = Plan(strategies=(variant,), marks=(N_ROUNDS,), repeats=1, weights="uniform")
    prepared = prepare(data, plan)
    train, _ = prepared.splits[0]
    booster = Booster(
        FeatureBank.build(prepared.families, data.X, train),
        train,
        encode(data.y[train], data.n_classes),
        variant.strategy(),
        n_rounds=N_ROUNDS,
        budget=prepared.budget(variant, 0),
        weight_init=plan.weights,
        rng=np.random.default_rng(variant.stream(data.name, 0, 0)),
    )
    terms = [term for _ in range(N_ROUNDS) for term in booster.next_round().terms]
    return {
        "feature": [term.feature for term in terms],
        "threshold": [term.threshold for term in terms],
        "alpha": [term.alpha for term in terms],
    }


def environment() -> dict[str, Any]:
    """Where floating-point results may be compared to the bit."""
    return {
        "processor": f"{machine()['processor']}, {llvmlite.binding.get_host_cpu_name()}",
        **{name: versions()[name] for name in ("numpy", "numba", "llvmlite")},
    }


def golden() -> dict[str, Any]:
    """What stands in `tests/numerics.json`."""
    stored: dict[str, Any] = json.loads(GOLDEN.read_text("ascii"))
    return stored


def main() -> None:
    """Write the file."""
    lines = [f'    "{case}": {json.dumps(found(case))}' for case in CASES]
    head = f'{{\n  "numerics": {NUMERICS},\n  "environment": {json.dumps(environment())},\n'
    text = head + '  "cases": {\n' + ",\n".join(lines) + "\n  }\n}\n"
    GOLDEN.write_text(text, "ascii")


if __name__ == "__main__":
    main()
