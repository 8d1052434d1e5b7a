"""Searches of a run: the strategy chooses a stump, which is finished on all N examples.

With `max_model_features`, all features are searched until that many different ones were chosen;
from then on the pool is these, and the strategy starts anew on it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import joblib
import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from boostsample.errors import SettingError, StrategyError
from boostsample.history import history_row
from boostsample.kernels.array_layout import N_BINS
from boostsample.learner import NO_EDGE, Found, LeafLimits, Targets, alpha_of
from boostsample.loop.base_classifiers import GrownLevelTree, GrownTree
from boostsample.loop.budgets import EQUAL, least_budget, round_budget
from boostsample.objective import AdaBoostMH, Objective
from boostsample.planning.costs import Ledger, finish_cost, values_cost
from boostsample.records import FamilyInfo, Outcome, Pool, Stump, Stumps
from boostsample.rows.protocol import RunRows, TargetRows
from boostsample.rows.sampling_schemes import check_node_features, drawn_from_seed
from boostsample.rows.tree_growth import (
    SCHEME,
    ObliviousGrowth,
    Root,
    Searches,
    TreeGrowth,
    raw_thresholds,
)
from boostsample.step import Step
from boostsample.strategy import Strategy, is_learned

#: Looks that a search of a few examples has at least, if the budget of the run allows it.
LEAST_BUDGET = 10
#: Edges within limits, in units of the weight of a node, are equal up to this.
_SAME = 1e-9
#: Features that are counted as a set in less time than by sorting them.
_FEW = 64
#: Features whose cuts are compared at a time: 256 bins of each are held in memory.
_PART = 64


#: A feature, as the strategy numbers them, and a threshold.
_Cut: TypeAlias = tuple[int, int]


class TargetSearch:
    """One search at each call, each with a separate budget.

    A search computes votes and edge on all examples of its targets and makes the history row; the
    loop updates the weights. `round` is the current round, `rows` are its history rows;
    `plans_rounds` is whether the strategy has read the number of rounds planned; `chosen` are the
    different features chosen so far, in order, counted only with `max_model_features`; `hopeless`
    is whether the searches of the round have found that no stump has an edge.
    """

    def __init__(
        self,
        strategy: Strategy,
        rows: RunRows,
        budget: int,
        n_rounds: int,
        pool: Pool,
        rng: np.random.Generator,
        max_model_features: int | None = None,
        objective: Objective | None = None,
        budget_kind: str = EQUAL,
    ) -> None:
        """Start the strategy with the mean budget; SettingError if a setting is out of range."""
        self.objective = AdaBoostMH() if objective is None else objective
        self.round = 0
        self.hopeless = True
        self.rows: list[dict[str, Any]] = []
        self.plans_rounds = False
        self.chosen: dict[int, None] = {}
        self._strategy = strategy
        self._run, self._pool = rows, pool
        self._mean_budget = self._budget = budget
        self._budget_kind = budget_kind
        self._n_rounds = n_rounds
        self._rng = rng
        self._most = max_model_features
        self._growth: TreeGrowth | None = None
        self._level_growth: ObliviousGrowth | None = None
        self._learns = type(strategy).learn is not Strategy.learn
        self._grows_nodes = False
        if max_model_features is not None and max_model_features < pool.n_features:
            few = Pool([FamilyInfo("", max_model_features, 0)], max_model_features, pool.n_examples)
            limit = f"max_model_features={max_model_features}"
            # The strategy starts on few features in the midst of a run: an error must come before.
            self._try(few, budget, f"{limit} leaves the strategy too few features")
        least = least_budget(budget, budget_kind, n_rounds)
        if least < budget:
            self._try(pool, least, f"the smallest of the {budget_kind} budgets, {least:,}")
        self._start(None)

    def _try(self, pool: Pool, budget: int, cause: str) -> None:
        """SettingError if the strategy cannot start with this pool and budget."""
        trial: Strategy = clone(self._strategy)
        try:
            trial.start(pool, budget, self._n_rounds, np.random.default_rng(0))
        except SettingError as error:
            raise SettingError(f"{cause}: {error}") from error

    def shuffle(self, rng: np.random.Generator) -> None:
        """Number families and the features of each in random order, before the first round.

        Ties go to the first feature, which then is any of them.
        """
        families = [self._pool.families[at] for at in rng.permutation(len(self._pool.families))]
        members = [family.first + rng.permutation(family.size) for family in families]
        firsts = np.cumsum([0, *(family.size for family in families)]).tolist()
        numbered = (
            replace(family, first=first) for family, first in zip(families, firsts, strict=False)
        )
        self._start(np.concatenate(members), replace(self._pool, families=tuple(numbered)))

    def _start(self, members: NDArray[np.int64] | None, pool: Pool | None = None) -> None:
        if pool is None:
            pool = self._pool if members is None else self._pool.among(members)
        self._members, self._families = members, pool.families
        self._strategy.start(pool, self._mean_budget, self._n_rounds, self._rng)
        self._unsaved = self._unsaved_attributes()

    def check_saveable(self) -> None:
        """StrategyError if the strategy has changed an attribute that its state does not hold."""
        before, now = self._unsaved, self._unsaved_attributes()
        changed = [name for name in {**before, **now} if now.get(name) != before.get(name)]
        if changed:
            raise StrategyError(
                f"the strategy {type(self._strategy).__name__} has changed its attribute "
                f"{changed[0]!r} in the run, but a saved state holds only attributes whose names "
                "end, and do not begin, with '_'; rename it, or use a local variable"
            )

    def _unsaved_attributes(self) -> dict[str, str]:
        """Checksums of what a state does not hold; it holds the stream of the run."""
        return {
            name: _checksum(value)
            for name, value in vars(self._strategy).items()
            if not is_learned(name) and value is not self._rng
        }

    def restore(self, chosen: Iterable[int]) -> None:
        """Go to where these features were chosen; the strategy starts anew where it did."""
        self.chosen = dict.fromkeys(chosen)
        full = self._most is not None and len(self.chosen) >= self._most
        if full or self._members is not None:
            self._start(np.array(sorted(self.chosen)) if full else None)

    def _count(self, feature: int) -> None:
        """Count a feature that was chosen; the last one that may be ends the search of others."""
        if self._most is None or self._members is not None:
            return
        self.chosen[feature] = None
        if len(self.chosen) == self._most:
            self._start(np.array(sorted(self.chosen)))

    def begin(self, number: int) -> None:
        """Begin a round."""
        self.round, self.rows, self.hopeless = number, [], True
        kind = self._budget_kind
        self._budget = round_budget(self._mean_budget, kind, number, self._n_rounds)

    def __call__(
        self, targets: Targets, two_sided: bool = False, limits: LeafLimits | None = None
    ) -> Found:
        """Let the strategy choose a stump and finish it on all examples of the targets."""
        self.refuse_products(targets)
        strategy, run, number = self._strategy, self._run, len(self.rows)
        objective = self.objective
        rows: Any = targets.read(two_sided or objective.two_sided, self._members)
        computed, looks = run.values_computed, rows.looks
        budget = self._budget_of(rows.n_examples)
        ledger = Ledger(type(strategy).__name__, budget)
        # One half of a constant stump has all examples, too.
        whole = rows.n_examples == run.n_examples and not targets.path
        place = self.round, self._n_rounds
        step = Step(rows, ledger, self._rng, self._families, place, whole)
        try:
            stump = strategy.choose(step)
        finally:
            records, notes, plans = step._end()
            self.plans_rounds |= plans
            rows.release()
        _check_looks(rows.looks - looks, ledger, budget, f"round {self.round}, search {number}")
        if not isinstance(stump, Stump):
            raise StrategyError(
                f"search {number}: choose() of {type(strategy).__name__} must return a Stump, got "
                f"{type(stump).__name__}; return step.search(...).best()"
            )
        cut: _Cut | None
        cut = chosen = int(stump.feature), int(stump.threshold)
        estimated, n_examples, divides, of_all = step._found(*cut)
        searches = [r for r in records if r.purpose == "search"]
        exact = [r.stumps for r in searches if r.stages[-1][1] == rows.n_examples and r.of_all]
        if limits is not None:
            cut = self._within(limits, rows, two_sided, chosen, exact)
            divides = cut is not None
        member, threshold = cut or chosen
        feature = member if self._members is None else int(self._members[member])
        masses = None
        if objective.reads_masses:
            sums, masses = rows.side_sums(member, threshold)
        else:
            sums = rows.label_sums(member, threshold)
        base = rows.sums / rows.mass  # rounded as `sums`
        if cut is None:  # no cut leaves enough on both sides: a constant
            sums = base
            if masses is not None:
                masses = np.stack([np.zeros_like(base), np.add.reduce(masses)])
        votes, below, worth, edge = objective.judge(sums, base, masses, two_sided)
        if n_examples == rows.n_examples and of_all and cut == chosen:
            estimated = edge  # exact sample: H = G; the search only rounds differently
        alpha = alpha_of(edge)
        value = run.raw_threshold(feature, threshold)
        family = bisect_right(self._families, member, key=lambda family: family.first) - 1
        n_features = _n_different([r.stumps.feature for r in searches])
        complete = n_features == rows.n_features and len(exact) == len(searches)
        if self.hopeless:
            no_other = edge <= NO_EDGE and (
                cut is None or all(stumps.edge.max() <= NO_EDGE for stumps in exact)
            )
            self.hopeless = complete and no_other
        cost = ledger.cost + finish_cost(rows.n_examples, rows.n_labels)
        if self._families[family].cost:
            cost += values_cost(self._families[family].cost, rows.n_examples)
        row = history_row(
            notes,
            round=self.round,
            search=number,
            family=self._families[family].name,
            feature=feature,
            threshold=value,
            n_features=n_features,
            n_examples=n_examples,
            edge_estimated=estimated,
            edge=edge,
            alpha=alpha,
            log10_loss=0.0,  # this and the last two are set when the round is finished
            looks_search=ledger.of("search"),
            looks_modelling=ledger.of("modelling"),
            looks_finish=rows.n_examples,
            values_computed=run.values_computed - computed,
            cost=cost,
            seconds=0.0,
            stopped="",
        )
        self.rows.append(row)
        share = rows.mass / run.mass
        if self._learns:
            search = self.round, number, member, family, estimated, edge, alpha, ledger.spent
            strategy.learn(Outcome(*search, rows.n_examples, share, whole))
        self._count(feature)
        if share != 1.0:  # a node: the learner compares gains in units of the whole weight
            sums, base = sums * share, base * share
            masses = None if masses is None else masses * share
        of_stump = number, feature, threshold, value, votes, below, edge, worth
        rest = objective.gain(sums, base), masses, sums, base, row, divides, complete
        return Found(*of_stump, *rest, cut is not None)

    def refuse_products(self, targets: Targets) -> None:
        """SettingError for products of stumps whose sides have votes of their own."""
        objective = self.objective
        if targets.stumps and (objective.two_sided or objective.colors):
            raise SettingError(
                "products multiply opposite votes of labels, which stumps of the objective "
                f"{objective.name!r} do not have; use the learner stump or tree"
            )

    def prepare_growth(self, n_leaves: int) -> bool:
        """Whether `grow` makes the trees of so many leaves that single searches would make.

        The strategy must search on one sample and learn nothing, or do so in nodes.
        """
        strategy = self._strategy
        sample = strategy.one_sample(self._pool, self._budget)
        known = self._most is None and self.objective.grows and self._budget_kind == EQUAL
        if n_leaves >= 2 and known and sample is not None:
            n_searched, scheme, part, self._grows_nodes = sample
            of_seeds = drawn_from_seed(n_searched, self._run.n_features)
            if not self._grows_nodes and (self._learns or not of_seeds):
                return False
            budgets, masses = (self._budget, LEAST_BUDGET), self.objective.reads_masses
            searches = Searches(n_leaves, *budgets, n_searched, masses, part, self._grows_nodes)
            self._growth = self._run.growth(searches, scheme)
        return self._growth is not None

    def prepare_levels(self, n_levels: int) -> None:
        """Prepare `grow` for oblivious trees; SettingError if they cannot be grown."""
        if self._most is not None:
            raise SettingError(
                f"the learner oblivious-tree has no limit on the features of a model, got "
                f"max_model_features={self._most}; leave it out, or use the learner tree"
            )
        sample = self._strategy.one_sample(self._pool, self._budget)
        name = type(self._strategy).__name__
        if sample is None or sample.of_nodes or sample.scheme != SCHEME or self._learns:
            raise SettingError(
                f"the learner oblivious-tree searches a level on one sample of different examples, "
                f"which {name} does not draw with these settings; use the strategy "
                f"uniform-naive:n_features=Q:scheme={SCHEME}, or the learner tree"
            )
        if self._budget_kind != EQUAL:
            raise SettingError(
                f"the learner oblivious-tree has equal budgets, got {self._budget_kind!r}; use "
                "equal ones, or the learner tree"
            )
        if not self.objective.grows:
            raise SettingError(
                f"the learner oblivious-tree judges cuts by label sums, and the objective "
                f"{self.objective.name!r} does not; use mh or real-mh, or the learner tree"
            )
        budgets, masses = (self._budget, LEAST_BUDGET), self.objective.reads_masses
        searches = Searches(1 << n_levels, *budgets, sample.n_features, masses, sample.part)
        self._level_growth = self._run.level_growth(searches)
        if self._level_growth is None:
            raise SettingError(
                "the learner oblivious-tree needs the bins of all features and rows in the memory "
                "of one process; use bank='memory' without shards, or the learner tree"
            )

    def _grow_levels(self) -> tuple[GrownLevelTree, list[float]]:
        growth, size = self._level_growth, (self._run.n_features, self._run.n_examples)
        assert growth is not None
        tree = GrownLevelTree(growth.grow(self._rng), self.objective, growth.n_searched)
        feature, threshold = tree.searched()
        values = raw_thresholds(growth.bank, feature, threshold)
        self.rows += tree.history(self.round, self._names_of(feature)[1], values)
        self.hopeless = all((row["n_features"], row["n_examples"]) == size for row in self.rows)
        return tree, values

    def _names_of(self, features: NDArray[np.int64]) -> tuple[NDArray[np.int64], list[str]]:
        """Numbers and names of the families of some features."""
        first = [family.first for family in self._families]
        family = np.searchsorted(first, features, "right") - 1
        return family, [self._families[at].name for at in family.tolist()]

    def grow(self, targets: Targets) -> tuple[GrownTree | GrownLevelTree, list[float]]:
        """Grow a tree on all examples in one call, or after the search of its root.

        Also the raw threshold of each search.
        """
        if self._level_growth is not None:
            return self._grow_levels()
        assert self._growth is not None
        if self._grows_nodes:
            found = self(targets, True)
            root = Root(found.feature, found.threshold, found.sums, found.whole, found.masses)
            drawn = self._strategy.features_of_nodes()
            drawn = check_node_features(drawn, self._run.n_features)
            nodes = self._growth.grow(self._rng, root, drawn)
        else:
            nodes = self._growth.grow(self._rng)
        tree = GrownTree(nodes, self.objective)
        feature, threshold = tree.searched()
        values = raw_thresholds(self._growth.bank, feature, threshold)
        family, names = self._names_of(feature)
        n_known = len(self.rows)
        self.rows += tree.history(self.round, names, values)[n_known:]
        self.hopeless &= self._grows_nodes and len(self.rows) == 1
        if self._grows_nodes and self._learns:
            shares = tree.shares()
            for at, row in enumerate(self.rows[1:], 1):
                outcome = Outcome(
                    round=self.round,
                    search=at,
                    feature=row["feature"],
                    family=int(family[at]),
                    edge_estimated=row["edge_estimated"],
                    edge=row["edge"],
                    alpha=alpha_of(row["edge"]),
                    cost=row["looks_search"],
                    n_examples=row["looks_finish"],
                    weight_share=shares[at],
                    whole=False,
                )
                self._strategy.learn(outcome)
        return tree, values

    def _within(
        self,
        limits: LeafLimits,
        rows: TargetRows,
        two_sided: bool,
        chosen: _Cut,
        exact: Sequence[Stumps],
    ) -> _Cut | None:
        """The chosen cut if its sides hold enough, else the best one that does, or None."""
        member, threshold = chosen

        def edges(members: NDArray[np.int64]) -> NDArray[np.float64]:
            totals = rows.bin_totals(members)
            return limits.edges(totals, self._run.mass, two_sided, self.objective.classes)

        of_cut = rows.cut_totals(member, threshold)[None]
        if limits.edges(of_cut, self._run.mass, two_sided, self.objective.classes)[0, 0] >= 0.0:
            return chosen
        # Edges within limits are at most those without: only features above the best so far can
        # win.
        least = float(edges(np.array([member])).max())
        others = [stumps.feature[stumps.edge > least] for stumps in exact]
        members = np.concatenate([[member], *others]).astype(np.int64)
        cut, most = None, -1.0
        for first in range(0, members.size, _PART):
            part = edges(members[first : first + _PART])
            if part.max() > most + _SAME:
                most = float(part.max())
                row, at = divmod(int((part >= most - _SAME).argmax()), N_BINS - 1)
                member = int(members[first + row])
                cut = member, rows.threshold_of(member, at + 1)
        return cut

    def _budget_of(self, n_examples: int) -> int:
        """The share of the budget for a search on some of the N examples."""
        if n_examples == self._run.n_examples:
            return self._budget
        share = self._budget * n_examples // self._run.n_examples
        return max(share, min(self._budget, LEAST_BUDGET))


def _checksum(value: Any) -> str:
    """A checksum of a value; of one that cannot be pickled, its identity."""
    try:
        return str(joblib.hash(value))
    except Exception:  # of pickling, of many types
        return f"id {id(value)}"


def _check_looks(read: int, ledger: Ledger, budget: int, where: str) -> None:
    """StrategyError unless the ledger holds the looks that the searches have counted themselves."""
    spent = ledger.of("search") + ledger.of("modelling")
    if read != spent or read > budget:
        raise StrategyError(
            f"{where}: the searches have read {read:,} looks, but the ledger holds {spent:,} of a "
            f"budget of {budget:,}; a strategy must not change the ledger: remove what patches it"
        )


def _n_different(searched: list[NDArray[np.int64]]) -> int:
    """Number of different features; takes a sixth of the time of `np.unique`."""
    if not searched:  # modelling only
        return 0
    if len(searched) == 1 and searched[0].size <= _FEW:
        return len(set(searched[0].tolist()))
    features = np.concatenate(searched)
    features.sort()
    return 1 + int(np.count_nonzero(features[1:] != features[:-1]))
