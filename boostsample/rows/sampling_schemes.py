"""Sampling schemes by name: ways to draw T examples. A draw costs no looks: it reads no feature.

For *fixed* stumps every scheme gives unbiased edges with variance at most (1 - G^2) / T ([DF11] eq.
6, 7), in any order of the examples, unless `UNPROMISED` says why it does not:

`filter` draws by the logistic weights of FilterBoost (Bradley and Schapire 2007), u_il / (1 +
exp(y_il f_l)), with the initial weights u_il: its edges estimate those under logistic weights and
are biased for G. FilterBoost accepts uniformly drawn examples with probability q_i: these are
i.i.d. draws by q_i.

`mvs`, `goss`, `uniform` and `heaviest` are in `boostsample.rows.other_draws`.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from boostsample.errors import SettingError, unknown
from boostsample.rows.other_draws import (
    draw_goss,
    draw_heaviest,
    draw_mvs,
    draw_uniform,
    nested_heaviest,
    nested_mvs,
    nested_uniform,
)
from boostsample.rows.proportional_draws import (
    NestedScheme,
    Scheme,
    draw_distinct,
    draw_iid,
    draw_stratified,
    nested_distinct,
    nested_iid,
    nested_joined,
)


class Unpromised(NamedTuple):
    """A scheme that does not promise unbiased edges with the variance of [DF11] eq. 7.

    Attributes
    ----------
    why : str
        What it does instead: ends the sentence "the scheme ...".
    by : {"weights", "logistic weights", "norms"}
        What it gets as `weight` and `ends`: w_i = sum over l of w_il, its like for logistic
        weights, or sqrt(sum over l of w_il^2) in units of the mean weight.
    ratio : bool
        Whether edges are divided by the weight that the sample stands for; else its factors have
        the units of the other schemes'.
    """

    why: str
    by: str = "weights"
    ratio: bool = True


#: The register of all schemes without the promise.
UNPROMISED: dict[str, Unpromised] = {
    "filter": Unpromised("draws by logistic weights", "logistic weights", ratio=False),
    "mvs": Unpromised("draws by the norms of rows", "norms"),
    "goss": Unpromised("takes the rows of largest norms and few others", "norms"),
    "uniform": Unpromised("ignores the weights"),
    "heaviest": Unpromised("leaves all but the heaviest examples out"),
}

#: Those that get logistic weights as `weight` and `ends`: their edges are biased for G.
LOGISTIC_SCHEMES = frozenset(
    name for name, other in UNPROMISED.items() if other.by == "logistic weights"
)

_SCHEMES: dict[str, Scheme] = {
    "iid": draw_iid,
    "stratified": draw_stratified,
    "distinct": draw_distinct,
    "filter": draw_iid,
    "mvs": draw_mvs,
    "goss": draw_goss,
    "uniform": draw_uniform,
    "heaviest": draw_heaviest,
}

#: Schemes whose nested samples are not those of `nested_joined`, or take less time.
_NESTED: dict[str, NestedScheme] = {
    "iid": nested_iid,
    "distinct": nested_distinct,
    "filter": nested_iid,
    "mvs": nested_mvs,
    "uniform": nested_uniform,
    "heaviest": nested_heaviest,
}

#: Schemes by name, read-only.
SCHEMES: Mapping[str, Scheme] = MappingProxyType(_SCHEMES)


def register_scheme(name: str, scheme: Scheme, unpromised: Unpromised | None = None) -> None:
    """Add a scheme for `Step.draw`; SettingError if the name is taken.

    A scheme belongs to the loop: it gets the example weights, which strategies never see. Without
    `unpromised`, it promises unbiased edges with the variance of [DF11] eq. 7, and its factors are
    1 / (T w_i) for each hit, or 1 / (pi_i W).
    """
    if name in _SCHEMES:
        raise SettingError(f"scheme must be a new name, got {name!r}; choose another one")
    _SCHEMES[name] = scheme
    if unpromised is not None:
        UNPROMISED[name] = unpromised


def known_scheme(name: str) -> Scheme:
    """The scheme of the given name; SettingError if it is unknown."""
    if name not in _SCHEMES:
        raise unknown("scheme", name, _SCHEMES)
    return _SCHEMES[name]


def nested_scheme(name: str) -> NestedScheme:
    """Nested samples of the scheme of the given name; SettingError if it is unknown."""
    return _NESTED.get(name) or nested_joined(known_scheme(name))


def unbiased_scheme(name: str) -> Scheme:
    """The scheme of the given name; SettingError if it is `UNPROMISED`, or unknown."""
    if name in UNPROMISED:
        raise SettingError(
            f"scheme must give unbiased edges here, got {name!r}, which {UNPROMISED[name].why}; "
            f"use {', '.join(sorted(_SCHEMES.keys() - UNPROMISED.keys()))}"
        )
    return known_scheme(name)
