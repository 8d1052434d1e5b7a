"""Who takes part in a race: boostsample's strategies as they are, peers with a grid of settings."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from boostsample.errors import SettingError, unknown
from boostsample.experiments.plan.plan import Plan
from boostsample.experiments.plan.variants import Alternatives, Variant
from boostsample.experiments.race.job import Job
from boostsample.experiments.race.methods import (
    AdaBoost,
    Boosted,
    HistGradientBoosting,
    LightGBM,
    Paused,
    Whole,
    XGBoost,
)

__all__ = ["PEERS", "Method", "Peer", "installed", "peer", "strategy"]


@dataclass(frozen=True)
class Peer:
    """Another library.

    Parameters
    ----------
    package : str
        What it is imported as.
    kind : type
        How it is run.
    grid : mapping of str to tuple
        Settings that are tried unless the user gives others. The likely best are first: tries that
        take longer than the best so far are stopped.
    others : tuple of str
        Further settings that the user may give.
    """

    package: str
    kind: type[Paused] | type[Whole]
    grid: Mapping[str, tuple[Any, ...]]
    others: tuple[str, ...]


PEERS: dict[str, Peer] = {
    "lightgbm": Peer(
        "lightgbm",
        LightGBM,
        {
            "num_leaves": (31, 63, 8),
            "learning_rate": (0.2, 0.3, 0.1),
            "feature_fraction": (0.05, 0.02, 0.2),
            "data_sample_strategy": ("goss", "bagging"),
        },
        (
            "bagging_fraction",
            "bagging_freq",
            "bin_construct_sample_cnt",
            "extra_trees",
            "feature_fraction_bynode",
            "force_col_wise",
            "force_row_wise",
            "lambda_l1",
            "lambda_l2",
            "max_bin",
            "max_depth",
            "min_data_in_leaf",
            "min_sum_hessian_in_leaf",
            "other_rate",
            "top_rate",
            "use_quantized_grad",
        ),
    ),
    "xgboost": Peer(
        "xgboost",
        XGBoost,
        {"max_leaves": (31, 63, 8), "learning_rate": (0.3,), "colsample_bytree": (0.05,)},
        (
            "colsample_bynode",
            "gamma",
            "grow_policy",
            "max_bin",
            "max_depth",
            "min_child_weight",
            "reg_alpha",
            "reg_lambda",
            "subsample",
        ),
    ),
    "hist-gradient-boosting": Peer(
        "sklearn",
        HistGradientBoosting,
        {"max_leaf_nodes": (31, 8), "learning_rate": (0.3,), "max_features": (0.05,)},
        ("l2_regularization", "max_bins", "max_depth", "min_samples_leaf"),
    ),
    "adaboost": Peer("sklearn", AdaBoost, {}, ("learning_rate", "max_depth")),
}


@dataclass(frozen=True)
class Method:
    """Who takes part: a strategy as it is, or a peer with the settings to try.

    Attributes
    ----------
    name : str
        What tables call it.
    grid : tuple of Variant
        Settings to try; one for a strategy.
    plan : Plan or None
        Budget and initial weights of a strategy; None for a peer.
    """

    name: str
    grid: tuple[Variant, ...]
    plan: Plan | None = None

    def make(self, job: Job, settings: Variant, seed: int) -> Paused | Whole:
        """The method, ready to begin."""
        if self.plan is not None:
            return Boosted(job, settings, seed, self.plan)
        return PEERS[settings.name].kind(job, settings, seed)


def strategy(variant: Variant, plan: Plan) -> Method:
    """A strategy of boostsample, with the budget and initial weights of a plan."""
    return Method(variant.label, (variant,), plan)


def installed(name: str) -> bool:
    """Whether the library of a peer is there.

    >>> installed("adaboost")
    True
    """
    if name not in PEERS:
        raise unknown("peer", name, PEERS)
    return find_spec(PEERS[name].package) is not None


def peer(variant: Variant, *, full_grid: bool = False) -> Method:
    """A peer with the settings to try; what the user gives takes the place of the peer's own.

    Parameters
    ----------
    variant : Variant
        Name, and settings or alternatives of settings.
    full_grid : bool
        Whether the settings that the user does not give take all values of the peer's grid, rather
        than the first.

    Raises
    ------
    SettingError
        The peer is not known or not installed, or has no such setting.

    >>> [one.settings_text for one in peer(Variant.parse("adaboost:learning_rate=0.5|1")).grid]
    ['learning_rate=0.5', 'learning_rate=1']
    """
    if not installed(variant.name):
        raise SettingError(
            f"{variant.name} is not installed; install it with pip install 'boostsample[peers]', "
            "or leave it out of --peers"
        )
    known = PEERS[variant.name]
    for setting in variant.settings:
        if setting not in known.grid and setting not in known.others:
            raise unknown(f"setting of {variant.name}", setting, (*known.grid, *known.others))
    axes: dict[str, Sequence[Any]] = {
        **{key: values if full_grid else values[:1] for key, values in known.grid.items()},
        **{
            key: value.values if isinstance(value, Alternatives) else (value,)
            for key, value in variant.settings.items()
        },
    }
    grid = tuple(
        Variant(variant.name, dict(zip(axes, values, strict=True)))
        for values in itertools.product(*axes.values())
    )
    return Method(variant.label, grid)
