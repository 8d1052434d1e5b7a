"""Sampling schemes by name: ways to draw T examples. A draw costs no looks: it reads no feature.

For *fixed* stumps every scheme gives unbiased edges with variance at most (1 - G^2) / T ([DF11] eq.
6, 7), in any order of the examples, unless `UNPROMISED` says why it does not:

`filter` draws by the logistic weights of FilterBoost (Bradley and Schapire 2007), u_il / (1 +
exp(y_il f_l)), with the initial weights u_il: its edges estimate those under logistic weights and
are biased for G. FilterBoost accepts uniformly drawn examples with probability q_i: these are
i.i.d. draws by q_i.

`mvs`, `goss`, `uniform` and `heaviest` are draws of other libraries. Their factors count up to a
constant. Edges on such a sample are divided by the weight that it stands for, the sum of factor_i
w_i over its rows, so that they lie between -1 and 1: ratios of two sums, biased by the order of
1 / T, of a variance that [DF11] eq. 7 does not bound.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from boostsample.checks import check_integer, check_known
from boostsample.errors import SettingError
from boostsample.kernels import draw as kernels
from boostsample.kernels.array_layout import Doubles, Floats
from boostsample.records import NodeFeatures


class DrawnSample(NamedTuple):
    """Different examples, ascending, int32 (n,), and factors of their signed weights, float64 (n,).

    The sum over the drawn i of factor_i * sum_l w_il v_l phi(x_i) y_il estimates the edge of a
    stump. n <= T: i.i.d. draws repeat.
    """

    examples: NDArray[np.int32]
    factors: Doubles


class NestedSample(NamedTuple):
    """A sample that contains the one before; its factors are in units of `scale`.

    The first `known` of its examples are those of the sample before, with the same factors.
    """

    drawn: DrawnSample
    scale: float
    known: int


#: (weight float32 (N,), ends float64 of `cumulate_for_draw`, T, rng) -> DrawnSample, for 0 < T < N.
Scheme = Callable[[Floats, Doubles, int, np.random.Generator], DrawnSample]

#: (weight, ends, ascending sizes below N, rng) -> a sample for each size.
NestedScheme = Callable[
    [Floats, Doubles, Sequence[int], np.random.Generator], Iterable[NestedSample]
]


def _pick(weight: Floats, ends: Doubles, size: int, gaps: Doubles, scale: float) -> DrawnSample:
    examples, factors = np.empty(size, np.int32), np.empty(size)
    used = kernels.pick_by_weight(weight, ends, gaps, scale, examples, factors)
    return DrawnSample(examples[:used], factors[:used])


def drawn_from_seed(n: int, n_features: int) -> bool:
    """Whether `random_features` takes at most one random number: n is an eighth of F or more."""
    return 8 * n >= n_features


def random_features(rng: np.random.Generator, n: int, n_features: int) -> NDArray[np.int64]:
    """Draw n different ones of F features, int64 (n,); all of them, in order, if n is F.

    O(F), ascending and from one seed if `drawn_from_seed`, else O(n).
    """
    if n >= n_features:
        return np.arange(n_features)
    if not drawn_from_seed(n, n_features):
        return rng.choice(n_features, size=n, replace=False, shuffle=False)
    features = np.empty(n, np.int64)
    kernels.draw_features(int(rng.integers(1 << 63)), n_features, features)
    return features


def check_node_features(drawn: NodeFeatures, n_features: int) -> NodeFeatures:
    """What a kernel reads, or SettingError; O(t + M)."""
    n = check_integer("n of NodeFeatures", drawn.n, 1)
    again, pool = (np.require(known, np.int64, ["C", "W"]) for known in (drawn.again, drawn.pool))
    for name, known in (("again", again), ("pool", pool)):
        if known.size and not 0 <= known.min() <= known.max() < n_features:
            wrong = known[(known < 0) | (known >= n_features)][0]
            raise SettingError(
                f"{name} of NodeFeatures must hold features from 0 to {n_features - 1:,}, got "
                f"{wrong:,}; see Strategy.features_of_nodes"
            )
    ends = np.require(drawn.ends, np.float64, ["C", "W"])
    if ends.size not in (0, pool.size):
        raise SettingError(
            f"ends of NodeFeatures must be {pool.size:,}, one for each of the pool, or none, got "
            f"{ends.size:,}; see Strategy.features_of_nodes"
        )
    return NodeFeatures(n, again, pool, ends)


def node_features(
    rng: np.random.Generator, drawn: NodeFeatures, n_features: int
) -> NDArray[np.int64]:
    """Draw the features of a search of a node, O(F); all, in order, if there are no more."""
    n, again, pool, ends = check_node_features(drawn, n_features)
    if n >= (pool.size or n_features):
        return pool if pool.size else np.arange(n_features)
    features, marks = np.empty(n, np.int64), np.zeros(n_features, np.uint8)
    of_pool = n_features, again, pool, ends
    used = kernels.draw_node_features(int(rng.integers(1 << 63)), *of_pool, marks, features)
    return features[:used]


def draw_iid(weight: Floats, ends: Doubles, size: int, rng: np.random.Generator) -> DrawnSample:
    """Independent draws with probability w_i ([DF11] eq. 4-6): O(T log N).

    Normalised sums of T + 1 exponential numbers are the order statistics of T uniform ones (Devroye
    1986, section V.2), so that nothing is sorted.
    """
    gaps = rng.standard_exponential(size + 1)
    return _pick(weight, ends, size, gaps, ends[-1] / np.add.reduce(gaps))


def draw_stratified(
    weight: Floats, ends: Doubles, size: int, rng: np.random.Generator
) -> DrawnSample:
    """One independent draw in each of T strata of equal mass along the rows: O(T log N).

    r_t = (t + u_t) W / T through the cumulated weights, as in the code of [DF11]'s authors; an
    example heavier than W / T repeats. Each stratum has its own uniform u_t, so that the variance
    is at most that of independent draws in any order of the rows (proportional allocation).
    """
    gaps = 1.0 + np.diff(rng.random(size), prepend=1.0)  # whose sums are t + u_t
    return _pick(weight, ends, size, gaps, ends[-1] / size)


def draw_distinct(
    weight: Floats, ends: Doubles, size: int, rng: np.random.Generator
) -> DrawnSample:
    """Exactly T different examples, pi_i = min(1, w_i / c), by ordered pivotal sampling: O(N)."""
    examples, inclusion, _ = pivotal(weight, size, rng)
    return DrawnSample(examples, 1.0 / (inclusion * ends[-1]))


def pivotal(
    weight: Floats, size: int, rng: np.random.Generator
) -> tuple[NDArray[np.int32], Doubles, float]:
    """Different rows by ordered pivotal sampling, their inclusion probabilities, and c."""
    examples, inclusion = np.empty(size + 1, np.int32), np.empty(size + 1)
    level, seed = kernels.inclusion_level(weight, size), int(rng.integers(1 << 63))
    taken = np.empty(weight.size + 1, np.uint8)
    used = kernels.draw_pivotal(weight, level, seed, taken, examples, inclusion)
    return examples[:used], inclusion[:used], level


def nested_distinct(
    weight: Floats, ends: Doubles, sizes: Sequence[int], rng: np.random.Generator
) -> Iterator[NestedSample]:
    """The largest sample, then smaller ones of it, each by pivotal sampling of the one before.

    With min(1, w_i / c) for T and min(1, w_i / d) for fewer examples, an example of the first
    sample stays with probability min(1, max(w_i, c) / d): these sum to the smaller number, since
    all examples with w_i >= c are in the first sample.
    """
    nested: list[NestedSample] = []
    examples, inclusion, weights = np.empty(0, np.int32), np.empty(0), weight
    for size in reversed(sizes):
        if not nested:
            examples, inclusion, level = pivotal(weight, size, rng)
            weights = np.maximum(weight.take(examples, mode="clip"), np.float32(level))
        elif size < examples.size:
            rows, share, level = pivotal(weights, size, rng)
            examples, inclusion = examples.take(rows, mode="clip"), inclusion.take(rows) * share
            weights = np.maximum(weights.take(rows, mode="clip"), np.float32(level))
        drawn = DrawnSample(examples, 1.0 / (inclusion * ends[-1]))
        nested.append(NestedSample(drawn, 1.0, 0))
    return reversed(nested)


def nested_joined(scheme: Scheme) -> NestedScheme:
    """Nested samples of a scheme whose samples can be joined: each adds draws to the one before.

    Of T draws, t were made for a smaller sample: the edge is t / T of its edge and the rest of that
    of the others, so that the variance is at most (1 - G^2) / T, too.
    """

    def draw(
        weight: Floats, ends: Doubles, sizes: Sequence[int], rng: np.random.Generator
    ) -> Iterator[NestedSample]:
        examples, factors = np.empty(sizes[-1], np.int32), np.empty(sizes[-1])
        used, so_far = 0, 0
        for size in sizes:
            known, more = used, size - so_far
            if more:
                drawn = scheme(weight, ends, more, rng)
                used += drawn.examples.size
                examples[known:used] = drawn.examples
                np.multiply(drawn.factors, more, out=factors[known:used])
            yield NestedSample(DrawnSample(examples[:used], factors[:used]), 1.0 / size, known)
            so_far = size

    return draw


def nested_iid(
    weight: Floats, ends: Doubles, sizes: Sequence[int], rng: np.random.Generator
) -> Iterator[NestedSample]:
    """`nested_joined` of independent draws, with one call of the generator and one of a kernel."""
    more = np.diff(np.array(sizes), prepend=0)
    # The T + 1 gaps of each pick, one pick after the other; as of `draw_iid`, those of a pick are
    # divided by their sum.
    gaps = rng.standard_exponential(sizes[-1] + more.size)
    scales = ends[-1] / np.add.reduceat(gaps, np.cumsum(more) - more + np.arange(more.size))
    examples, factors = np.empty(sizes[-1], np.int32), np.empty(sizes[-1])
    used = np.empty(more.size, np.int64)
    kernels.pick_nested(weight, ends, more, gaps, scales, examples, factors, used)
    known = 0
    for size, end in zip(sizes, used.tolist(), strict=True):
        yield NestedSample(DrawnSample(examples[:end], factors[:end]), 1.0 / size, known)
        known = end


def draw_order(weight: Floats, ends: Doubles, size: int, rng: np.random.Generator) -> DrawnSample:
    """The T examples of smallest keys u_i / w_i: priority sampling, O(N).

    Edges are unbiased. Those of a fixed stump have at most the variance of the best scheme of T - 1
    examples (Szegedy 2006), and so at most 1 / (T - 1): more than [DF11] eq. 7 allows where the
    edge is near 1, since the weights of a sample do not sum to 1.
    """
    drawn, _ = _smallest_keys(weight, size, rng)
    return DrawnSample(drawn.examples, drawn.factors / ends[-1])


def nested_order(
    weight: Floats, ends: Doubles, sizes: Sequence[int], rng: np.random.Generator
) -> Iterator[NestedSample]:
    """Nested samples, each as of `draw_order`: the examples of smallest keys of one order."""
    (examples, factors), keys = _smallest_keys(weight, sizes[-1], rng)
    for size in sizes:
        drawn = DrawnSample(examples, factors / ends[-1])
        if size < examples.size:
            last = np.partition(keys[:-1], size)[size]
            taken = keys[:-1] < last
            tied = np.flatnonzero(keys[:-1] == last)
            taken[tied[: size - np.count_nonzero(taken)]] = True
            few = examples[taken]
            factor = np.maximum(1.0, 1.0 / (last * weight[few].astype(np.float64)))
            drawn = DrawnSample(few, factor / ends[-1])
        yield NestedSample(drawn, 1.0, 0)


def order_seed(rng: np.random.Generator) -> int:
    """The seed of a draw by order, int64, in a tenth of the time of `Generator.integers`."""
    return int(rng.bit_generator.random_raw()) >> 1


def _smallest_keys(
    weight: Floats, size: int, rng: np.random.Generator
) -> tuple[DrawnSample, Doubles]:
    """The sample of `draw_order` in the units of the weights, its keys, and the key after them."""
    room = kernels.order_room(weight.size, size)
    drawn = DrawnSample(np.empty(size, np.int32), np.empty(size))
    used = kernels.draw_by_order(weight, size, order_seed(rng), room, *drawn)
    return DrawnSample(drawn.examples[:used], drawn.factors[:used]), room.keys[: used + 1]


def draw_mvs(norm: Floats, ends: Doubles, size: int, rng: np.random.Generator) -> DrawnSample:
    """Exactly T different examples, pi_i = min(1, r_i / mu), r_i = sqrt(norm_i^2 + lambda): O(N).

    Minimal variance sampling (Ibragimov and Gusev 2019), norm_i^2 = sum over l of w_il^2. lambda is
    the squared mean norm, as CatBoost's for its first tree; for later ones it takes the mean leaf
    value of the last tree, which a draw does not know. CatBoost includes each example by itself
    (Poisson sampling), so that their number varies; here it is T, with the same pi_i.
    """
    examples, inclusion, _ = pivotal(_regularised(norm, ends), size, rng)
    return DrawnSample(examples, 1.0 / inclusion)


def nested_mvs(
    norm: Floats, ends: Doubles, sizes: Sequence[int], rng: np.random.Generator
) -> Iterator[NestedSample]:
    """Nested samples, each as of `draw_mvs`."""
    return nested_distinct(_regularised(norm, ends), ends, sizes, rng)


def _regularised(norm: Floats, ends: Doubles) -> Floats:
    """sqrt(norm_i^2 + lambda): float32 (N,)."""
    mean = np.float32(ends[-1] / norm.size)
    root: Floats = np.sqrt(norm * norm + mean * mean)
    return root


def draw_goss(norm: Floats, ends: Doubles, size: int, rng: np.random.Generator) -> DrawnSample:
    """The examples of largest norms, and uniform ones of the rest with a larger factor: O(N).

    Gradient-based one-side sampling as in LightGBM, which ranks by sum over l of |gradient *
    Hessian|: both are w_il for the exponential loss, so that ranks are those of the norms. Of T
    examples, a N = floor(2 T / 3) are the top ones, b N the others, as with LightGBM's defaults a =
    0.2 and b = 0.1; the others have the factor (N - a N) / (b N).
    """
    n_top = 2 * size // 3
    factors = np.zeros(norm.size)
    top = largest(norm, n_top)
    factors[top] = -1.0  # marked, so that the rest is what is 0
    rest = np.flatnonzero(factors == 0.0)
    others = rng.choice(rest, size=size - n_top, replace=False, shuffle=False)
    factors[top], factors[others] = 1.0, rest.size / others.size
    examples = np.flatnonzero(factors)
    return DrawnSample(examples.astype(np.int32), factors[examples])


def draw_uniform(weight: Floats, ends: Doubles, size: int, rng: np.random.Generator) -> DrawnSample:
    """T equally likely examples: the subsample of stochastic gradient boosting (Friedman 2002)."""
    examples = rng.choice(weight.size, size=size, replace=False, shuffle=False)
    examples.sort()
    return DrawnSample(examples.astype(np.int32), np.ones(size))


def nested_uniform(
    weight: Floats, ends: Doubles, sizes: Sequence[int], rng: np.random.Generator
) -> Iterator[NestedSample]:
    """Nested samples, each as of `draw_uniform`."""
    return _prefixes(rng.choice(weight.size, size=sizes[-1], replace=False), sizes)


def draw_heaviest(
    weight: Floats, ends: Doubles, size: int, rng: np.random.Generator
) -> DrawnSample:
    """The T heaviest examples, the first of a tie: what QuickBoost and weight trimming read."""
    return DrawnSample(largest(weight, size), np.ones(size))


def nested_heaviest(
    weight: Floats, ends: Doubles, sizes: Sequence[int], rng: np.random.Generator
) -> Iterator[NestedSample]:
    """Nested samples, each as of `draw_heaviest`."""
    heavy = largest(weight, sizes[-1])
    return _prefixes(heavy[np.argsort(-weight[heavy], kind="stable")], sizes)


def largest(values: Floats, n: int) -> NDArray[np.int32]:
    """Positions of the n largest of values (N,), ascending, the first ones of a tie; O(N)."""
    if n == 0:
        return np.empty(0, np.int32)
    least = np.partition(values, values.size - n)[values.size - n]
    taken = values > least
    more = n - np.count_nonzero(taken)
    taken[np.flatnonzero(values == least)[:more]] = True
    return np.flatnonzero(taken).astype(np.int32)


def _prefixes(order: NDArray[np.integer[Any]], sizes: Sequence[int]) -> Iterator[NestedSample]:
    examples, factors, known = order.astype(np.int32), np.ones(order.size), 0
    for size in sizes:
        examples[known:size].sort()
        yield NestedSample(DrawnSample(examples[:size], factors[:size]), 1.0, known)
        known = size


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
    unbiased : bool
        Whether edges are unbiased all the same.
    cumulated : bool
        Whether it gets all `ends`; else the last one only, the sum of the weights.
    """

    why: str
    by: str = "weights"
    ratio: bool = True
    unbiased: bool = False
    cumulated: bool = True


#: What schemes with the promise draw by.
PROMISED = Unpromised("", ratio=False, unbiased=True)
#: The register of all schemes without the promise.
UNPROMISED: dict[str, Unpromised] = {
    "order": Unpromised(
        "bounds the variance by 1 / (T - 1)", ratio=False, unbiased=True, cumulated=False
    ),
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
    "order": draw_order,
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
    "order": nested_order,
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
    check_known("scheme", name, _SCHEMES)
    return _SCHEMES[name]


def nested_scheme(name: str) -> NestedScheme:
    """Nested samples of the scheme of the given name; SettingError if it is unknown."""
    return _NESTED.get(name) or nested_joined(known_scheme(name))


def samples_are_joined(scheme: str) -> bool:
    """Whether a nested sample of the scheme begins with the rows of the sample before."""
    return scheme not in ("distinct", "order")


def unbiased_scheme(name: str) -> Scheme:
    """The scheme of the given name; SettingError if it is `UNPROMISED`, or unknown."""
    if not UNPROMISED.get(name, PROMISED).unbiased:
        good = (other for other in sorted(_SCHEMES) if UNPROMISED.get(other, PROMISED).unbiased)
        raise SettingError(
            f"scheme must give unbiased edges here, got {name!r}, which {UNPROMISED[name].why}; "
            f"use {', '.join(good)}"
        )
    return known_scheme(name)
