"""Allocation of a search's features to families by greedy increments: MAS Q.1 ([DF11] 4.1).

Models, noise and tables as in `boostsample.kernels.mixtures.edge_quadrature`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostsample.jit.compile_kernels import allocating_inner_kernel, allocating_kernel
from boostsample.kernels.mixtures.edge_quadrature import (
    EXPECTED_EDGE_ROOM,
    dot_pairs,
    edge_nodes,
    edge_shapes,
    edge_table,
    times_power,
)

Array = NDArray[np.float64]
Counts = NDArray[np.int64]

#: An int64 variable: numba would specialise the callee on a literal.
_COARSE: Any = np.int64(1)
_GROWTH = 0.2  # relative growth of the number of features from one level of `allocate` to the next
_N_PARTS = 2  # parts in which `allocate` distributes the features of a level
_PATIENCE = 3  # levels without gain after which `allocate` stops
_FEW_EXAMPLES = 50  # T below which T = budget // Q moves in steps that count


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
            if total < budget // n_examples:
                end = min(end, budget // n_examples)
            end = min(budget // (budget // end), most)
            waited += 1
        level = end
        if budget // level < _FEW_EXAMPLES:
            level = min(budget // (budget // (total + 1)), end)
        size = min(n_examples, budget // level)
        was_exact = exact
        exact = size == n_examples
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
