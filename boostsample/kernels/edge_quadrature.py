"""Expected edge e(Q,T) of the best of Q features searched on T examples, and its maxima.

A model is one (3, J) float64 array as in `kernels.mixture_em`, the mixture of the true edges G.
`unit_noise` (J,) holds v_j: an edge estimated on T examples has variance v_j / T about G ([DF11]
eq. 7); if empty, v_j = 1 - mu_j^2. `inverse` is 1/T, or 0 if the sample is exact. From [DF11]
eq. 9-13, with tau_j^2 = s_j^2 + v_j/T, z_j = (h - mu_j)/tau_j, F(h) = sum_j pi_j Phi(z_j)
and m(h) = E[G | H=h] f(h) = sum_j pi_j (mu_j + (s_j^2/tau_j) z_j) phi(z_j)/tau_j:

    e(Q,T) = integral of Q F^(Q-1) m dh
    e(Q_1..Q_K,T) = integral of sum_k Q_k F_k^(Q_k-1) m_k prod_{l != k} F_l^Q_l dh

Quadrature: panels of Gauss-Legendre nodes, none wider than about two scales of any component
present there, from where the product of the F's is about 1e-8 to where the tails are 1e-8. So
components whose scales differ a million times cost a few panels each. F^Q is computed by repeated
squaring; F is 1 minus a sum of tails, which keeps its digits.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostsample.jit.compile_kernels import allocating_inner_kernel, allocating_kernel, inner_kernel

Array = NDArray[np.float64]
Counts = NDArray[np.int64]

# Gauss-Legendre on [-1, 1] with 16 nodes: the positive half.
_GAUSS_NODES = np.array([
    0.0950125098376374, 0.2816035507792589, 0.4580167776572274, 0.6178762444026438,
    0.7554044083550030, 0.8656312023878318, 0.9445750230732326, 0.9894009349916499,
])  # fmt: skip
_GAUSS_WEIGHTS = np.array([
    0.1894506104550685, 0.1826034150449236, 0.1691565193950025, 0.1495959888165767,
    0.1246289712555339, 0.0951585116824928, 0.0622535239386479, 0.0271524594117541,
])  # fmt: skip
_N_NODES = 16
EXPECTED_EDGE_ROOM = 32 * _N_NODES  # nodes; more are rarely needed
_PANEL = 2.6  # widest panel in scales for Q = 1; it shrinks with log Q, as the maximum's spread
_TAIL = 1e-8  # probability omitted at both ends
_COARSE_PANEL = 3.9  # the same in `allocate`: errors of 1e-5 scales, far below its differences
_COARSE_TAIL = 1e-6
# int64 variables: numba would specialise the callee on a literal.
_FINE: Any = np.int64(0)
_COARSE: Any = np.int64(1)
_FAR = 9.0  # in scales; beyond it a component's density is taken as 0 and its tail as that at 9
_INVERSE_ROOT_TWO_PI = 0.3989422804014327
_SMALLEST_SCALE = 1e-10  # a point mass becomes a Gaussian of this scale
_SMALLEST_F = 1e-16  # 1 minus a tail has no digits below
_STRIDE = 4  # `best_pair` evaluates every fourth pair first
_GROWTH = 0.2  # relative growth of the number of features from one level of `allocate` to the next
_N_PARTS = 2  # parts in which `allocate` distributes the features of a level
_PATIENCE = 3  # levels without gain after which `allocate` stops
_FEW_EXAMPLES = 50  # T below which T = budget // Q moves in steps that count


@inner_kernel
def _tails(
    nodes: Array, model: Array, scales: Array, slopes: Array, tail: Array, moment: Array
) -> None:
    """Write 1 - F(h) and m(h) of one mixture at `nodes`. O(J n), 2 ns a node and component.

    nodes: (n,) ascending panels, read; scales, slopes: (J,) read, tau_j and s_j^2/tau_j; tail,
    moment: (n,) written. The loop vectorises because it consists of sums, products, one quotient
    and selections: exp(-x) is exp(-x/1024)^1024, and the normal tail is exp(-z^2/2) times a
    polynomial in 1/(1 + z/4), a Chebyshev fit on 0 <= z <= 9. Relative errors: 6e-9 at z = 9, else
    1e-9.
    """
    tail[:] = 0.0
    moment[:] = 0.0
    for j in range(model.shape[1]):
        share = model[0, j]
        mean = model[1, j]
        slope = slopes[j]
        precision = 1.0 / scales[j]
        peak = share * precision * _INVERSE_ROOT_TWO_PI
        if share > 0.0 and nodes[0] < mean + _FAR * scales[j]:
            for i in range(nodes.size):
                z = (nodes[i] - mean) * precision
                a = min(abs(z), _FAR)
                # z^2 / 2 / 1024, for the power of 1,024 that ten squarings make.
                y = a * a * -0.00048828125
                e = 1.0 + y * (1.0 + y * (0.5 + y * (1 / 6 + y * (1 / 24 + y * (1 / 120)))))
                for _ in range(10):
                    e *= e
                t = 1.0 / (1.0 + 0.25 * a)
                r = 0.02607683742595018 + t * 0.002129039223326267
                r = 0.4088544303162949 + t * (-0.18960070041823254 + t * r)
                r = 0.3490489849205055 + t * (-0.37288987798433715 + t * r)
                r = 0.13317671471092496 + t * (-0.04935267116042222 + t * r)
                r = 0.1006162629154341 + t * (0.09198527006472657 + t * r)
                r = e * (-4.428953191951135e-05 + t * r)
                tail[i] += share * (r if z >= 0.0 else 1.0 - r)
                moment[i] += (peak * e if a < _FAR else 0.0) * (mean + slope * z)


@inner_kernel
def times_power(base: Array, exponent: int, target: Array) -> None:
    """Multiply `target` by base^exponent, by squaring; `base` is overwritten. O(n log exponent)."""
    while exponent > 0:
        if exponent & 1:
            for i in range(base.size):
                target[i] *= base[i]
        exponent >>= 1
        if exponent > 0:
            for i in range(base.size):
                base[i] *= base[i]


@inner_kernel
def dot_pairs(a: Array, b: Array, c: Array, d: Array) -> float:
    """Sum of a * b + c * d over arrays whose length is a multiple of 4, in four lanes. O(n)."""
    s = 0.0
    t = 0.0
    u = 0.0
    v = 0.0
    for i in range(0, a.size, 4):
        s += a[i] * b[i] + c[i] * d[i]
        t += a[i + 1] * b[i + 1] + c[i + 1] * d[i + 1]
        u += a[i + 2] * b[i + 2] + c[i + 2] * d[i + 2]
        v += a[i + 3] * b[i + 3] + c[i + 3] * d[i + 3]
    return (s + t) + (u + v)


@inner_kernel
def _quantile_below(tail: float) -> float:
    """A z that the standard normal exceeds with probability `tail` or a little more.

    Abramowitz and Stegun 26.2.23 minus twice its error of 4.5e-4.
    """
    p = 1.0 - tail if tail > 0.5 else tail
    t = math.sqrt(-2.0 * math.log(max(p, 1e-300)))
    above = 2.515517 + t * (0.802853 + t * 0.010328)
    z = t - above / (1.0 + t * (1.432788 + t * (0.189269 + t * 0.001308)))
    return (-z if tail > 0.5 else z) - 1e-3


@inner_kernel
def edge_shapes(models: Array, unit_noise: Array, inverse: float, shapes: Array) -> None:
    """Write tau_j and s_j^2/tau_j of (K, 3, J) models with (K, J) noise to shapes (4, K, J)."""
    for k in range(models.shape[0]):
        for j in range(models.shape[2]):
            variance = models[k, 2, j]
            mean = models[k, 1, j]
            noise = unit_noise[k, j] if unit_noise.size else max(1.0 - mean * mean, 0.0)
            scale = math.sqrt(variance + noise * inverse)
            scale = max(scale, _SMALLEST_SCALE * (1.0 + abs(mean)))
            shapes[0, k, j] = scale
            shapes[1, k, j] = variance / scale


@inner_kernel
def edge_nodes(
    models: Array, shapes: Array, counts: Counts, n_features: int, coarse: int, table: Array
) -> int:
    """Write nodes and weights for the maximum over counts[k] features of each of K mixtures.

    models: (K, 3, J), counts: (K,) read; families with a count of 0 get nodes too. n_features: the
    total to resolve, at least the sum of `counts`. shapes: (4, K, J), the first read, the last two
    written. Writes nodes to the last row but one of `table` and weights to the last row, as far as
    there is room; returns their number, a multiple of _N_NODES.
    """
    scales, bottoms, tops = shapes[0], shapes[2], shapes[3]
    n_families, n_components = scales.shape
    width = (_COARSE_PANEL if coarse else _PANEL) / (1.0 + 0.06 * math.log(n_features + 1.0))
    log_tail = math.log(_COARSE_TAIL if coarse else _TAIL)
    log_top = log_tail - math.log(n_features)
    begin = 1e300
    end = -1e300
    cut = -1e300
    for k in range(n_families):
        rare = -math.expm1(log_tail / (counts[k] - 1)) if counts[k] > 1 else 2.0
        for j in range(n_components):
            share = models[k, 0, j]
            if share > 0.0:
                mean = models[k, 1, j]
                scale = scales[k, j]
                log_share = math.log(share)
                below = mean - scale * math.sqrt(max(2.0 * (log_share - log_tail), 1.0))
                bottoms[k, j] = below
                if counts[k] > 1 and share < 0.5:
                    # The density of the maximum is up to Q (1 - share)^(Q-1) times that of F_k.
                    more = math.log(counts[k]) + (counts[k] - 1) * math.log1p(-share)
                    log_low = log_tail - max(more, 0.0)
                    bottoms[k, j] = mean - scale * math.sqrt(max(2.0 * (log_share - log_low), 1.0))
                tops[k, j] = mean + scale * math.sqrt(max(2.0 * (log_share - log_top), 1.0))
                begin = min(begin, below)
                end = max(end, tops[k, j])
                # 1 - F_k is at least the share of one component beyond h, so F_k^Q is negligible
                # below the highest of the components' quantiles.
                if share > rare:
                    cut = max(cut, mean + scale * _quantile_below(rare / share))
    at = max(begin, cut)
    nodes, weights = table[-2], table[-1]
    n = 0
    while at < end:
        stop = end
        for k in range(n_families):
            for j in range(n_components):
                if models[k, 0, j] > 0.0 and at < tops[k, j]:
                    limit = at + width * scales[k, j]
                    # A component is absent below its bottom: panels may be wider until there.
                    if at < bottoms[k, j]:
                        limit = max(limit, bottoms[k, j])
                    stop = min(stop, limit)
        middle = 0.5 * (at + stop)
        half = 0.5 * (stop - at)
        for i in range(_N_NODES // 2 if n + _N_NODES <= nodes.size else 0):
            nodes[n + i] = middle - half * _GAUSS_NODES[i]
            nodes[n + 8 + i] = middle + half * _GAUSS_NODES[i]
            weights[n + i] = half * _GAUSS_WEIGHTS[i]
            weights[n + 8 + i] = half * _GAUSS_WEIGHTS[i]
        n += _N_NODES
        at = stop
    return n


@inner_kernel
def edge_table(models: Array, shapes: Array, counts: Counts, n: int, table: Array) -> None:
    """Tabulate F_k, m_k and, for `counts`, the integrand of e in two factors at n nodes. O(K J n).

    table: (2K + 5, any), the first n columns of the last two rows read, the others written. Rows
    0..K-1: F_k; K..2K-1: m_k; 2K: weight times prod_k F_k^Q_k; 2K + 1: sum_k Q_k m_k/F_k; 2K + 2 is
    scratch; 2K + 3, 2K + 4: nodes and weights.
    """
    n_families = models.shape[0]
    product, average = table[2 * n_families][:n], table[2 * n_families + 1][:n]
    scratch, nodes, weights = table[-3][:n], table[-2][:n], table[-1][:n]
    for i in range(n):  # numba compiles a slice assignment from an array in a second
        product[i] = weights[i]
        average[i] = 0.0
    for k in range(n_families):
        below = table[k][:n]
        moment = table[n_families + k][:n]
        _tails(nodes, models[k], shapes[0, k], shapes[1, k], below, moment)
        for i in range(n):
            below[i] = max(1.0 - below[i], _SMALLEST_F)
        if counts[k] > 0:
            for i in range(n):
                average[i] += counts[k] * (moment[i] / below[i])
                scratch[i] = below[i]
            times_power(scratch, counts[k], product)


@allocating_kernel
def expected_edge(
    models: Array, unit_noise: Array, counts: Counts, inverse: float, shapes: Array, table: Array
) -> float:
    """e(Q_1..Q_K,T) to 1e-6; models (K, 3, J), noise (K, J), counts (K,) that are not all 0.

    shapes (4, K, J) and table (2K + 5, EXPECTED_EDGE_ROOM) are overwritten.
    """
    row = 2 * models.shape[0]
    edge_shapes(models, unit_noise, inverse, shapes)
    while True:
        n = edge_nodes(models, shapes, counts, counts.sum(), _FINE, table)
        if n <= table.shape[1]:
            break
        table = np.empty((row + 5, n))
    edge_table(models, shapes, counts, n, table)
    scratch = table[row + 2][:n]
    scratch[:] = 0.0
    return dot_pairs(table[row][:n], table[row + 1][:n], scratch, scratch)


@allocating_kernel
def best_pair(
    models: Array,
    unit_noise: Array,
    n_features: Counts,
    inverse: Array,
    sizes: Counts,
    best: Counts,
    edges: Array,
) -> None:
    """Find each family's pair (Q, T) of the largest e(Q,T); about 20 evaluations each.

    models: (K, 3, J), unit_noise: (K, J), n_features, inverse: (K, G), sizes: (K,) read: candidates
    for Q, rising, and 1/T, of which the first sizes[k] of each row are used; best, edges: (K,)
    written, index and e. With an exact sample e rises with Q, so only the last exact pair is
    evaluated; of the others every fourth, then the neighbours of the best. The smaller Q wins ties.
    """
    count = np.empty(1, np.int64)
    shapes, table = np.empty((4, 1, models.shape[2])), np.empty((7, EXPECTED_EDGE_ROOM))
    for k in range(models.shape[0]):
        model = models[k : k + 1]
        noise = unit_noise[k : k + 1]
        first = 0
        while first < sizes[k] and inverse[k, first] == 0.0:
            first += 1
        last = sizes[k] - 1
        at = last
        top = -1e300
        centre = -2 * _STRIDE
        value = -1e300
        start, stop, stride = max(first - 1, 0), last + _STRIDE, _STRIDE
        for turn in range(2):
            for step in range(start, stop, stride):
                i = min(step, last)
                count[0] = n_features[k, i]
                e = expected_edge(model, noise, count, inverse[k, i], shapes, table)
                if e > top or (e == top and i < at):
                    at = i
                    top = e
                if turn == 0 and i >= first and e > value:
                    centre = i
                    value = e
            start, stop, stride = (
                max(first, centre - _STRIDE + 1),
                min(last + 1, centre + _STRIDE),
                1,
            )
        best[k] = at
        edges[k] = top


@allocating_inner_kernel
def _tabulated(
    models: Array,
    unit_noise: Array,
    counts: Counts,
    reach: int,
    inverse: float,
    shapes: Array,
    table: Array,
) -> tuple[Array, int]:
    """The table of `allocate` and its number of nodes, for `counts` and sums up to `reach`."""
    edge_shapes(models, unit_noise, inverse, shapes)
    while True:
        n = edge_nodes(models, shapes, counts, reach, _COARSE, table)
        if n <= table.shape[1]:
            break
        table = np.empty((2 * models.shape[0] + 5, n))
    edge_table(models, shapes, counts, n, table)
    return table, n


@allocating_kernel
def allocate(
    models: Array, unit_noise: Array, sizes: Counts, budget: int, n_examples: int, best: Counts
) -> tuple[float, int]:
    """Greedy maximisation of MAS Q.1 ([DF11] 4.1); returns e and T of the counts in `best`.

    models: (K, 3, J), unit_noise: (K, J), sizes: (K,) read, upper limits of Q_k; budget: looks;
    best: (K,) written, with sum Q_k <= budget and T = min(n_examples, budget // sum Q_k).

    Starting from all Q_k = 0, increments the family whose next feature raises e most. The sum grows
    in levels, by 1 up to 10, then by _GROWTH; the increments of a level share its T and thus one
    table of F_k and m_k, in which an increment is one product. From a sum of 15 they are made in
    _N_PARTS parts. e is also formed where a family is complete and, where T is below _FEW_EXAMPLES,
    at the largest sum of each T. Stops after _PATIENCE levels without gain, counted anew from the
    first level whose sample is not exact, where noise lowers e before it can rise. e has an error
    of about 1e-5 scales of the edges; callers compute it again for the result.
    """
    n_families = models.shape[0]
    shapes = np.empty((4, n_families, models.shape[2]))
    table = np.empty((2 * n_families + 5, EXPECTED_EDGE_ROOM))
    counts = np.zeros(n_families, np.int64)
    n = 0
    best[:] = 0
    best_edge = -1e300
    best_size = n_examples
    highest = -1e300
    most = min(budget, sizes.sum())
    exact = False
    waited = 0
    total = 0
    tabulated = 0
    end = 0
    while total < most and (total < end or waited < _PATIENCE):
        if total >= end:
            end = min(total + max(1, int(_GROWTH * total)), most)
            # Below this sum a sample is exact; a level ends where that ends.
            if total < budget // n_examples:
                end = min(end, budget // n_examples)
            # The largest sum with the same T.
            end = min(budget // (budget // end), most)
            waited += 1
        level = end
        if budget // level < _FEW_EXAMPLES:
            level = min(budget // (budget // (total + 1)), end)
        size = min(n_examples, budget // level)
        was_exact = exact
        exact = size == n_examples
        # Without noise a table depends on no T, and serves sums up to its reach.
        if not exact or not was_exact or level > 2 * tabulated:
            tabulated = level
            reach = 2 * level if exact else level
            inverse = 0.0 if exact else 1.0 / size
            table, n = _tabulated(models, unit_noise, counts, reach, inverse, shapes, table)
        part = (level - total + _N_PARTS - 1) // _N_PARTS
        complete = False
        while total < level and not complete:
            product = table[2 * n_families][:n]
            average = table[2 * n_families + 1][:n]
            scratch = table[2 * n_families + 2][:n]
            for i in range(n):
                scratch[i] = product[i] * average[i]
            winner = -1
            value = 0.0
            for k in range(n_families):
                if counts[k] < sizes[k]:
                    e = dot_pairs(scratch, table[k][:n], product, table[n_families + k][:n])
                    if winner < 0 or e > value:
                        winner = k
                        value = e
            step = min(part, level - total, sizes[winner] - counts[winner])
            for i in range(n):
                average[i] += step * (table[n_families + winner, i] / table[winner, i])
                scratch[i] = table[winner, i]
            times_power(scratch, step, product)
            counts[winner] += step
            total += step
            # The smaller sum pays for a larger T, which needs a table anew.
            complete = counts[winner] == sizes[winner] and not exact
        if total < level:
            size = min(n_examples, budget // total)
            exact = size == n_examples
            inverse = 0.0 if exact else 1.0 / size
            table, n = _tabulated(models, unit_noise, counts, total, inverse, shapes, table)
            tabulated = total
        table[2 * n_families + 2][:n] = 0.0
        scratch = table[2 * n_families + 2][:n]
        edge = dot_pairs(table[2 * n_families][:n], table[2 * n_families + 1][:n], scratch, scratch)
        if was_exact and not exact:
            highest = -1e300
        if edge > highest:
            waited = 0
        highest = max(highest, edge)
        if edge > best_edge:
            best_edge = edge
            best_size = size
            for k in range(n_families):
                best[k] = counts[k]
    return best_edge, best_size
