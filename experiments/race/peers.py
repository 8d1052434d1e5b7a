"""The peers of a race: other libraries as `RaceMethod`, with their usual settings."""

from __future__ import annotations

import functools
import importlib
import itertools
from collections.abc import Callable, Iterator, Mapping
from importlib.util import find_spec
from typing import Any, NamedTuple

from boostsample.errors import SettingError, unknown
from boostsample.experiments.plan.variants import Variant
from boostsample.experiments.race.race import RaceJob, RaceMethod


def _lightgbm(job: RaceJob, seed: int, settings: Mapping[str, Any]) -> Iterator[Any]:
    """A validation set would be scored inside `Booster.update`, on the clock."""
    lightgbm = importlib.import_module("lightgbm")
    given = {"objective": "multiclass", "num_class": job.n_classes, "max_bin": 255}
    given |= {"num_threads": job.n_jobs, "seed": seed, "verbosity": -1, **settings}
    booster = lightgbm.Booster(given, lightgbm.Dataset(job.X_train, job.y_train, params=given))

    def scores(first: int, end: int) -> Any:
        part = {"start_iteration": first, "num_iteration": end - first, "raw_score": True}
        # The number of threads holds for all of LightGBM, training included.
        return booster.predict(job.X_test, num_threads=job.n_jobs, **part)

    yield scores
    while not booster.update():
        yield True


def _xgboost(job: RaceJob, seed: int, settings: Mapping[str, Any]) -> Iterator[Any]:
    xgboost = importlib.import_module("xgboost")
    given = {"objective": "multi:softprob", "num_class": job.n_classes, "max_bin": 256}
    given |= {"tree_method": "hist", "grow_policy": "lossguide", "max_depth": 0}
    # Each slice of iterations adds the base score: it must be the same for all classes.
    given |= {"nthread": job.n_jobs, "seed": seed, "verbosity": 0, "base_score": 0.5, **settings}
    bins = {"max_bin": given["max_bin"], "nthread": job.n_jobs}
    data = xgboost.QuantileDMatrix(job.X_train, job.y_train, **bins)
    booster = xgboost.Booster(given, [data])

    def scores(first: int, end: int) -> Any:
        part = {"iteration_range": (first, end), "predict_type": "margin"}
        return booster.inplace_predict(job.X_test, **part)

    yield scores
    for number in itertools.count():
        booster.update(data, number)
        yield True


def _hist_gradient_boosting(job: RaceJob, seed: int, n: int, settings: Mapping[str, Any]) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier
    from threadpoolctl import threadpool_limits

    fixed = {"max_iter": n, "early_stopping": False, "random_state": seed}
    with threadpool_limits(job.n_jobs):
        made = HistGradientBoostingClassifier(**fixed, **settings)
        return made.fit(job.X_train, job.y_train)


def _adaboost(job: RaceJob, seed: int, n: int, settings: Mapping[str, Any]) -> Any:
    from sklearn.ensemble import AdaBoostClassifier
    from sklearn.tree import DecisionTreeClassifier

    given = {"n_estimators": n, "random_state": seed, **settings}
    stump = DecisionTreeClassifier(max_depth=given.pop("max_depth", 1))
    return AdaBoostClassifier(stump, **given).fit(job.X_train, job.y_train)


class PeerMethod(NamedTuple):
    """Another library: its package, how it starts, usual settings, names of further ones."""

    package: str
    start: Callable[..., Any]
    usual: str
    further: str
    whole: bool = False


PEERS = {
    "lightgbm": PeerMethod(
        "lightgbm",
        _lightgbm,
        "num_leaves=31:learning_rate=0.2:feature_fraction=0.05:data_sample_strategy=goss",
        "bagging_fraction bagging_freq bin_construct_sample_cnt extra_trees "
        "feature_fraction_bynode force_col_wise force_row_wise lambda_l1 lambda_l2 max_bin "
        "max_depth min_data_in_leaf min_sum_hessian_in_leaf other_rate top_rate use_quantized_grad",
    ),
    "xgboost": PeerMethod(
        "xgboost",
        _xgboost,
        "max_leaves=31:learning_rate=0.3:colsample_bytree=0.05",
        "colsample_bynode gamma grow_policy max_bin max_depth min_child_weight reg_alpha "
        "reg_lambda subsample",
    ),
    "hist-gradient-boosting": PeerMethod(
        "sklearn",
        _hist_gradient_boosting,
        "max_leaf_nodes=31:learning_rate=0.3:max_features=0.05",
        "l2_regularization max_bins max_depth min_samples_leaf",
        whole=True,
    ),
    "adaboost": PeerMethod("sklearn", _adaboost, "learning_rate=1.0", "max_depth", whole=True),
}


def peer_installed(name: str) -> bool:
    """Whether the library of a peer is installed."""
    if name not in PEERS:
        raise unknown("peer", name, PEERS)
    return find_spec(PEERS[name].package) is not None


def peer_method(variant: Variant) -> RaceMethod:
    """A peer with its usual settings, replaced by those of the variant.

    SettingError if the peer is unknown or not installed, or has no such setting.
    """
    if not peer_installed(variant.name):
        raise SettingError(
            f"{variant.name} is not installed; install it with pip install 'boostsample[peers]', "
            "or leave it out of --peers"
        )
    peer = PEERS[variant.name]
    usual = Variant.parse(f"{variant.name}:{peer.usual}").settings
    names = [*usual, *peer.further.split()]
    for setting in variant.settings:
        if setting not in names:
            raise unknown(f"setting of {variant.name}", setting, names)
    complete = Variant(variant.name, {**usual, **variant.settings})
    start = functools.partial(peer.start, settings=complete.settings)
    return RaceMethod(variant.label, complete.settings_text, start, peer.whole)
