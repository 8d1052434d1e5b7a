"""Products of stumps ([BK10] section 2.1, after Kegl and Busa-Fekete 2009)."""

from __future__ import annotations

from boostsample.checks import check_integer
from boostsample.learner import Learner, Targets

#: A term must raise the edge by more than this.
_LEAST_GAIN = 1e-9


class Product(Learner):
    """A product of stumps: o_l(x) = product over t of v_tl phi_t(x).

    Terms are searched one after another, again and again: each on the labels multiplied by the
    outputs of the other terms, with a budget of its own. The first term that does not raise the
    edge is discarded and ends the round.

    Parameters
    ----------
    n_terms : int
        Maximum number of terms, at least 1.

    Notes
    -----
    A round costs a search for each term and refit, at least 2 and usually few more than `n_terms`,
    and three passes over all N examples for each.
    """

    name = "product"

    def __init__(self, n_terms: int = 3) -> None:
        self.n_terms = check_integer("n_terms", n_terms, 1)

    def learn(self, targets: Targets) -> list[Targets]:
        """Search the terms in turn until one does not raise the edge."""
        first = targets.search()
        terms, product, edge = [first], targets.times(first), first.edge
        number = 1
        while True:
            old = terms[number % self.n_terms] if number >= self.n_terms else None
            others = product if old is None else product.times(old)
            found = others.search()
            if found.edge <= edge + _LEAST_GAIN:
                return [product]
            terms[number % self.n_terms : number % self.n_terms + 1] = [found]
            product, edge = others.times(found), found.edge
            number += 1
