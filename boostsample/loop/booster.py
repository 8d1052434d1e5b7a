"""The boosting loop: AdaBoost.MH with any sampling strategy ([SS99], [BK10] Figure 1)."""

from __future__ import annotations

import copy
import inspect
import json
import math
import reprlib
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, clone

from boostsample.banks.bank import Bank
from boostsample.checks import (
    MOST_ROUNDS,
    budget_looks,
    check_count,
    check_example_rows,
    check_example_weight,
    check_integer,
    check_number,
    check_scores,
)
from boostsample.errors import DataError, SettingError, StrategyError
from boostsample.family import Family
from boostsample.files.json_text import pack_state
from boostsample.hashing import code_of, sha256_of_arrays, sha256_of_bytes, sha256_of_json
from boostsample.labels import check_labels
from boostsample.learner import NO_EDGE, Learner, Targets
from boostsample.loop.base_classifiers import leaves_of, terms_of, votes_of_bit, votes_of_colors
from boostsample.loop.budgets import EQUAL
from boostsample.loop.numerics import NUMERICS
from boostsample.loop.target_search import TargetSearch
from boostsample.objective import (
    AdaBoostMH,
    Objective,
    RealObjective,
    real_factors,
    vote_factors,
)
from boostsample.records import Pool, Round, Term, family_infos
from boostsample.registry import make_learner, make_objective, make_strategy
from boostsample.rows.derived_weights import Colorings, Pairs
from boostsample.rows.local_rows import LocalRows
from boostsample.rows.protocol import Leaf, RunRows
from boostsample.rows.searcher import SearchRules
from boostsample.rows.weights import (
    CLASS_FLOOR,
    WEIGHT_FLOOR,
    InitialWeights,
    SignedWeights,
    continued_weights,
)
from boostsample.strategy import Strategy
from boostsample.threads import Threads, n_threads

_CHECKSUM = "sha256:"
"""Begins a fact that is a checksum, whose value says nothing to a reader."""
_ABSENT = "none"


class Booster:
    """AdaBoost.MH on a feature bank, one round at a time.

    Parameters
    ----------
    bank : Bank
        Features of all examples; may hold test examples too.
    rows : array of int, shape (n,), or None
        Examples of the bank to train on; None is all of them.
    Y : array of int, shape (n, K)
        Labels, +1 or -1; two classes are K = 1. 0 where an example says nothing of a label.
    strategy : str or Strategy
        A name as ``"ucb:exploration=0.1"``, or an instance, which is cloned without learned state
        as `booster.strategy`.
    learner : str, Learner or None
        A name, `stump` by default, or an instance, which is copied.
    n_rounds : int
        Rounds planned; strategies may use it.
    budget : int, str or None
        Looks for each search, or a multiple of the N training examples as in ``"10N"``; text
        without N must be at least N. None is the strategy's default: 10 N, F N for `full`.
    budget_kind : {"equal", "growing", "shrinking"}
        Whether the budgets of the rounds are equal, or vary about this one with the same total, see
        `boostsample.loop.budgets`. Strategies start with the mean.
    weight_init : {"balanced", "uniform"}
        Initial label weights, see `boostsample.rows.weights.initial_weights`.
    rng : seed or numpy.random.Generator
        Anything that `numpy.random.default_rng` accepts.
    n_jobs : int
        Threads that share the features of a search and the passes over all examples; -1 is all
        cores. Results are the same bit for bit.
    example_weight : array of float, shape (n,), or None
        User weights s_i >= 0; rows of weight 0 are dropped.
    scores : array of float, shape (n, K), or None
        Scores f_l(x_i) of a model that the run continues: initial weights are multiplied by
        exp(-y_il f_l(x_i)), and the loss begins with that of the model on these examples, the mean
        of exp(-y_il f_l(x_i)) by the initial weights without it.
    max_model_features : int or None
        Most different features of a model: as soon as searches have chosen so many, whether a tree
        has kept them or not, the strategy starts anew on these alone.
    objective : str, Objective or None
        What is boosted: a name of `boostsample.objectives`, "mh" by default, or an instance.
    groups : array of int, shape (n,), or None
        Query of each example, for the objective "rank"; None is one query.
    learning_rate : float
        Step size nu, above 0 and at most 1: alpha is nu times 1/2 log((1 + G) / (1 - G)). Below 1,
        training goes on after an edge of 1.
    smoothing : float
        At least 0: weight, in mean examples, that alpha takes a base classifier to get right, and
        wrong, beside what it does; see `boostsample.rows.weights.StepSize`. Above 0, training
        goes on after an edge of 1.

    Raises
    ------
    DataError
        If rows, labels or example weights have a wrong shape or value.
    SettingError
        If a setting is out of range.

    Notes
    -----
    A search costs the strategy's looks, at most `budget`; a round of a stump is one search and 2
    passes over N * K weights, see docs/learners.md for products and trees. The
    constructor compiles all kernels: the seconds of a round are those of its work.
    """

    def __init__(
        self,
        bank: Bank,
        rows: ArrayLike | None,
        Y: ArrayLike,
        strategy: str | Strategy,
        learner: str | Learner | None = None,
        n_rounds: int = 100,
        budget: int | str | None = None,
        weight_init: str = "balanced",
        rng: Any = None,
        *,
        n_jobs: int = 1,
        example_weight: ArrayLike | None = None,
        scores: ArrayLike | None = None,
        max_model_features: int | None = None,
        learning_rate: float = 1.0,
        smoothing: float = 0.0,
        objective: str | Objective | None = None,
        groups: ArrayLike | None = None,
        budget_kind: str = EQUAL,
    ) -> None:
        columns = check_example_rows(rows, bank.n_examples)
        labels = check_labels(Y, columns.size)
        self.n_rounds = check_count("n_rounds", n_rounds, MOST_ROUNDS)
        user = check_example_weight(example_weight, columns.size)
        weighted = user > 0
        columns, labels, user = columns[weighted], labels[weighted], user[weighted]
        initial = InitialWeights(weight_init, None if example_weight is None else user)
        boosted: Objective = copy.deepcopy(make_objective(objective))
        builder: Learner = copy.deepcopy(make_learner(learner))
        boosted.check(labels.shape[1], one_search=builder.one_search)
        label_weights, log_loss, continued = initial.of(labels), 0.0, ""
        if scores is not None and not boosted.exponential:
            raise SettingError(
                f"the weights of the objective {boosted.name!r} do not follow from the scores of a "
                "model; continue with one of exponential loss, such as 'mh' or 'real-mh'"
            )
        if scores is not None:
            of_model = check_scores(scores, (weighted.size, labels.shape[1]))[weighted]
            continued = f"sha256:{sha256_of_arrays(of_model)}"
            label_weights, log_loss = continued_weights(label_weights, labels, of_model)
        label_weights, unit = boosted.label_weights(labels, label_weights), None
        pairs, colorings = None, None
        if boosted.colors:
            colorings = Colorings(labels, label_weights)
            labels = np.ones((labels.shape[0], 1), np.int8)
            label_weights = label_weights.sum(axis=1, keepdims=True)
        if boosted.classes:
            unit = float(label_weights[labels > 0].min())
        if groups is not None and np.shape(groups) != weighted.shape:
            raise DataError(
                f"groups must be one query for each of the {weighted.size} examples, got shape "
                f"{np.shape(groups)}"
            )
        if boosted.ranks:
            queries = None if groups is None else np.asarray(groups)[weighted]
            pairs = Pairs(queries, labels[:, 0])
            potentials = pairs.potentials(label_weights[:, 0])
            unit = float(potentials[potentials > 0.0].min())
            label_weights = np.maximum(potentials, WEIGHT_FLOOR * unit)[:, None]
        threads, known = Threads(n_threads(n_jobs)), initial if boosted.exponential else None
        weights = SignedWeights(labels, label_weights, columns, threads, known, unit)
        if boosted.classes:
            weights.floor[: labels.shape[1]] = CLASS_FLOOR
        rules = SearchRules(boosted.two_sided, boosted.classes, boosted.maps_edges)
        of_bank = bank.reader(columns)
        of_run = LocalRows(of_bank, weights, initial.example_weight, rules, pairs, colorings)
        of_run.compile(builder.one_search)
        if boosted.resamples:
            of_run.keep_initial()
        settings = budget, weight_init, rng, max_model_features, learning_rate, smoothing
        self._begin(of_run, strategy, builder, *settings, boosted, budget_kind)
        searched = self.strategy.searched_labels(of_run.n_labels)
        if searched < of_run.n_labels:
            of_run.compile(builder.one_search, searched)
        self._log_loss = self.start_log_loss = log_loss
        self._continued = continued

    def _begin(
        self,
        rows: RunRows,
        strategy: str | Strategy,
        learner: Learner,
        budget: int | str | None,
        weight_init: str,
        rng: Any,
        max_model_features: int | None,
        learning_rate: float,
        smoothing: float,
        objective: Objective | None = None,
        budget_kind: str = EQUAL,
    ) -> None:
        self._rows, self._learner, self._weight_init = rows, learner, weight_init
        self._log_loss, self._continued = 0.0, ""
        self.start_log_loss = 0.0  # before the first round
        self.objective = AdaBoostMH() if objective is None else objective
        if check_number("smoothing", smoothing, 0.0) and not self.objective.smooths:
            raise SettingError(
                f"smoothing must be 0 with the objective {self.objective.name!r}, whose "
                f"coefficients it does not bound, got {smoothing!r}; use smoothing=0"
            )
        size = rows.n_examples, rows.n_labels
        self.step_size = self.objective.step_size(learning_rate, smoothing, *size)
        self._rng = np.random.default_rng(rng)
        # Before the strategy draws: this state identifies the seed in `facts`.
        self._stream = copy.deepcopy(self._rng.bit_generator.state)
        self._signs, self._share = np.ones(1, np.int8), 1.0  # of the coloring
        if self.objective.resamples or self.objective.colors:
            # With the number of a round it gives its sample again: `replay` needs no more state.
            self._resampling_seed = int(self._rng.integers(2**63))
        self.strategy: Strategy = _unlearned(strategy)
        pool = Pool(family_infos(rows.families, rows.on_demand), rows.n_features, rows.n_examples)
        if budget is None:
            budget = self.strategy.default_budget(pool)
        self.budget, self.budget_kind = budget_looks(budget, pool.n_examples), budget_kind
        self._round = 0
        self._stopped = ""
        if max_model_features is not None:
            max_model_features = check_integer("max_model_features", max_model_features, 1)
        self.max_model_features = max_model_features
        of_run = self.budget, self.n_rounds, pool, self._rng, max_model_features, self.objective
        self._search = TargetSearch(self.strategy, rows, *of_run, budget_kind)
        if learner.n_levels():
            self._search.prepare_levels(learner.n_levels())
        self._grows = bool(learner.n_levels()) or self._search.prepare_growth(learner.growth())

    def shuffle_features(self, rng: np.random.Generator) -> None:
        """Let ties go to any of the features, not to the first, before the first round.

        The strategy sees families and the features of each in random order. Not for runs that are
        resumed, or limited by `max_model_features`, nor for oblivious trees.
        """
        if self._learner.n_levels():
            raise SettingError(
                "oblivious trees cannot shuffle features; use the learner stump or tree"
            )
        self._search.shuffle(rng)
        self._grows = False  # trees that grow in one call number features as the bank

    @property
    def round(self) -> int:
        """Rounds completed."""
        return self._round

    @property
    def finished(self) -> bool:
        """Whether all planned rounds are completed or training has ended early."""
        return bool(self._stopped) or self._round >= self.n_rounds

    @property
    def stopped(self) -> str:
        """Why training has ended early; empty if it has not."""
        return self._stopped

    @property
    def plans_rounds(self) -> bool:
        """Whether choices may depend on the rounds planned: by `Step.n_rounds`, or by budgets."""
        return self._search.plans_rounds or self.budget_kind != EQUAL

    @property
    def learner(self) -> Learner:
        """The learner; it keeps nothing between rounds."""
        return self._learner

    def facts(self) -> dict[str, Any]:
        """What identifies this run, as JSON values, whatever the number of rounds planned."""
        settings = {
            "budget": self.budget,
            "weight_init": self._weight_init,
            "learning_rate": self.step_size.learning_rate,
            "smoothing": self.step_size.smoothing,
        }
        if self.budget_kind != EQUAL:
            settings["budget_kind"] = self.budget_kind
        if type(self.objective) is not AdaBoostMH:
            # All its attributes are settings.
            settings |= _class_facts("objective", self.objective, vars(self.objective))
        if self.max_model_features is not None:
            settings["max_model_features"] = self.max_model_features
        if self._continued:
            settings["scores of the model to continue"] = self._continued
        families, rows = self._rows.families, self._rows.facts()
        return run_facts(self.strategy, self._learner, families, rows, self._stream, settings)

    def next_round(self) -> Round:
        """Train one more round, also beyond `n_rounds`; StrategyError if training has ended."""
        if self._stopped:
            raise StrategyError(f"training has ended in round {self._round}: {self._stopped}")
        if self.budget_kind != EQUAL and self._round >= self.n_rounds:
            raise StrategyError(
                f"a {self.budget_kind} budget is for the {self.n_rounds:,} rounds planned, which "
                "are trained; plan more, or take equal budgets"
            )
        started = time.perf_counter()
        self._search.begin(self._round + 1)
        self._begin_round(self._round + 1)
        if self._grows:
            tree, values = self._search.grow(self._targets())
            # Levels break ties by order: with equal weights the same searches have the same cuts.
            edge, leaves, same = tree.edge, tree.leaves(), bool(self._learner.n_levels())
            terms = tree.terms(values, self.step_size.alpha(self._share * edge))
        else:
            before = None if self._learner.one_search else self._rng.bit_generator.state
            targets = self._learned()
            if not self._is_one_stump(targets):
                for leaf in targets:
                    self._search.refuse_products(leaf)
            edge = self._edge_of(targets)
            terms = terms_of(targets, self.step_size.alpha(self._share * edge))
            leaves = []
            if not self._is_stump(terms):
                leaves = [Leaf(leaf.stretch, leaf.stumps, leaf.votes) for leaf in targets]
            # Other random numbers may break ties otherwise, and lead to other searches.
            same = before is None or repr(before) == repr(self._rng.bit_generator.state)
        self._round += 1  # a round that fails does not count
        change = self._update_weights(terms, leaves, edge)
        rows = self._search.rows
        terms = votes_of_colors(terms, self._signs)
        self._finish(rows, terms, edge, change, same)
        seconds = time.perf_counter() - started
        for row in rows:
            row["seconds"] = seconds / len(rows)
        known = type(self.objective) is AdaBoostMH  # the loss follows from the edges
        return Round(terms, rows, edge, None if known else self._log_loss)

    @property
    def _local(self) -> LocalRows:
        """The rows, of a run in one process."""
        return cast(LocalRows, self._rows)

    def example_weights(self) -> NDArray[np.float64]:
        """The weights of the examples: float64 (N,) of total 1. In one process only; O(N K)."""
        return self._local.example_weights()

    def best_edge(self, two_sided: bool = False) -> float:
        """The largest edge of a stump of any feature on all examples, under the present weights.

        With `two_sided`, that of its sides as leaves, as the root of a tree is searched.

        In one process only. It costs F N looks, which nobody is charged, and changes no bits of the
        run, unless the bank is lazy and has to compute the features. Not for objectives that draw
        the weights or labels of a round when it begins.
        """
        return self._local.best_edge(two_sided)

    def _begin_round(self, number: int) -> None:
        if self.objective.resamples:
            self._local.resample([self._resampling_seed, number])
        if self.objective.colors:
            self._signs, self._share = self._local.color([self._resampling_seed, number])
        self._rows.begin(self._log_loss)

    def _edge_of(self, leaves: Sequence[Targets]) -> float:
        if len(leaves) == 1 and leaves[0].times_found is not None:
            return min(leaves[0].edge, 1.0)  # of the stump that the search has finished
        objective = self.objective
        if isinstance(objective, RealObjective):
            cells: Any = [(leaf.votes, leaf.sums, leaf.masses) for leaf in leaves]
            values, sums, masses = map(np.stack, zip(*cells, strict=True))
            return objective.edges_of_cells(values[None], sums, masses)[0]
        # Of constants without edge, rounding may leave less than 0.
        return objective.edge(max(math.fsum([leaf.edge for leaf in leaves]), 0.0))

    def _is_stump(self, terms: Sequence[Term]) -> bool:
        """Whether the terms are one stump as the objective makes it."""
        return len(terms) == 1 and (terms[0].below is None) != self.objective.two_sided

    def _targets(self) -> Targets:
        return Targets(self._rows, self._search, (0, self._rows.n_examples))

    def _learned(self) -> list[Targets]:
        """The leaves that the learner returns; StrategyError if they are not of this round."""
        leaves: Any = self._learner.learn(self._targets())
        checked: list[Targets] = leaves
        if self._is_one_stump(leaves):
            return checked
        who = f"learn() of the learner {type(self._learner).__name__}"
        good = isinstance(leaves, list) and leaves and all(isinstance(x, Targets) for x in leaves)
        if not good:
            empty = isinstance(leaves, list) and not leaves
            text = "an empty list" if empty else f"{leaves!r:.60}"
            raise StrategyError(
                f"{who} must return a list of one or more targets, got {text} in round "
                f"{self._search.round}; return [targets.times(targets.search())]"
            )
        made = [id(row) for row in self._search.rows]
        stumps = [s for leaf in leaves for s in (*leaf.stumps, *(cut for cut, _ in leaf.path))]
        current = all(leaf.belongs_to(self._rows) for leaf in leaves)
        if not current or any(id(stump.row) not in made for stump in stumps):
            raise StrategyError(
                f"{who} must return targets and stumps of this round, got some of an earlier one "
                f"in round {self._search.round}; search the targets that learn() is given"
            )
        ends = sorted(leaf.stretch for leaf in leaves if leaf.n_examples)
        starts = [stretch[0] for stretch in ends] + [self._rows.n_examples]
        if starts != [0, *(stretch[1] for stretch in ends)]:
            raise StrategyError(
                f"{who} must return leaves that hold each example once; return both halves of a "
                "split, or their own leaves"
            )
        if self._learner.one_search and (len(made) > 1 or len(stumps) > 1):
            raise StrategyError(
                f"{who} must make one search and return its stump, got searches: "
                f"{len(made)}, stumps: {len(stumps)}; set one_search = False"
            )
        return checked

    def _is_one_stump(self, leaves: Any) -> bool:
        """Whether this is one leaf of all examples, with the stump of the only search."""
        if type(leaves) is not list or len(leaves) != 1 or type(leaves[0]) is not Targets:
            return False
        leaf: Targets = leaves[0]
        rows = self._search.rows
        return (
            leaf.belongs_to(self._rows)
            and leaf.n_examples == self._rows.n_examples
            and len(rows) == len(leaf.stumps) == 1
            and leaf.stumps[0].row is rows[0]
            and (leaf.times_found is leaf.stumps[0] or not self.objective.two_sided)
            and not leaf.path
        )

    def _finish(
        self, rows: list[dict[str, Any]], terms: list[Term], edge: float, change: float, same: bool
    ) -> None:
        """Set the loss and the columns of the round; ends at an edge of 1, or of 0 if `same`."""
        if self.step_size.ends(self._share * edge):
            part = "one stump" if self._learner.one_search else "one base classifier"
            self._stopped = f"edge {edge:.15g}: every weight agrees with {part}"
        again = same and not (self.objective.colors or self.objective.resamples)
        if edge <= NO_EDGE and self._search.hopeless and again:
            self._stopped = "edge 0: all features were searched on all examples, none has an edge"
        if edge <= NO_EDGE:
            self._stopped = self.objective.ends_without_edge or self._stopped
        self._log_loss += change
        for row in rows:
            row["alpha"] = terms[0].alpha
            row["log10_loss"] = self._log_loss / math.log(10.0)
            row["stopped"] = self._stopped
        if not self._learner.one_search:
            number = dict[int, int]()
            for at, term in enumerate(terms):
                number.setdefault(term.search, at)  # nodes of a level have one search
            for row in rows:
                row["term"] = number.get(row["search"], -1)

    def _update_weights(self, terms: Sequence[Term], leaves: Sequence[Leaf], edge: float) -> float:
        """Update the weights by a base classifier; returns the change of the log of the loss.

        Votes of an edge that is 0 or ends the training change no weights.
        """
        step, rows, objective = self.step_size, self._rows, self.objective
        edge, cells = self._share * edge, list[Any]()
        unchanged = not objective.measures_loss and (edge <= 0.0 or step.ends(edge))
        if unchanged or objective.resamples:
            return step.log_loss_change(edge)
        stump = self._is_stump(terms)
        if isinstance(objective, RealObjective):
            cells = [of.votes for of in leaves]
            if stump:
                cells = [terms[0].below, terms[0].votes]
            table = real_factors(np.array(cells, np.float64), step.learning_rate, rows.mass)
            if stump:
                rows.update_sides(terms[0], table)
            else:
                rows.update_cells(leaves, table)
        elif stump and objective.two_sided:
            cells = [terms[0].below, terms[0].votes]
            rows.update_sides(terms[0], vote_factors(cells, step.factors(edge, rows.mass)))
        elif stump:
            rows.update(terms[0], step.factors(edge, rows.mass))
        else:
            rows.update_leaves(leaves, step.factors(edge, rows.mass))
        if objective.colors:
            return math.log(self._local.uncolor())
        if objective.ranks:
            self._local.pair()
        return math.log(rows.mass) if objective.measures_loss else step.log_loss_change(edge)

    def state(self) -> dict[str, Any]:
        """State for `restore`: nested dicts of arrays, scalars and strings.

        StrategyError if the strategy has changed attributes that its state does not hold.
        """
        self._search.check_saveable()
        return {**self._small_state(), "weights": self._rows.state()}

    def small_state(self) -> dict[str, Any]:
        """State for `replay`, without the N * K weights: a checksum instead; as `state`."""
        self._search.check_saveable()
        return {**self._small_state(), **self._rows.small_state()}

    def _small_state(self) -> dict[str, Any]:
        small = {
            "round": self._round,
            "log_loss": self._log_loss,
            "stopped": self._stopped,
            "rng": copy.deepcopy(self._rng.bit_generator.state),
            "strategy": self.strategy.state(),
        }
        if self.max_model_features is not None:
            small["chosen"] = np.array(list(self._search.chosen), np.int64)
        return small

    def restore(self, state: dict[str, Any]) -> None:
        """Restore a `state()` of an equal booster; later rounds repeat bit for bit.

        After an error, this booster cannot be used.
        """
        with self._unusable_after_an_error():
            self._rows.restore(state["weights"])
            self._restore_small(state)

    def replay(
        self, rounds: Sequence[Sequence[Term]], edges: Sequence[float], state: dict[str, Any]
    ) -> None:
        """Restore a `small_state()` of an equal booster before its first round.

        Repeats the updates of the weights by the terms of the rounds and their edges G: O(N) each,
        no search. DataError if the weights are not those of the state. After an error, this booster
        cannot be used.
        """
        with self._unusable_after_an_error():
            for number, (terms, edge) in enumerate(zip(rounds, edges, strict=True), 1):
                self._begin_round(number)
                terms = votes_of_bit(terms, self._signs)
                leaves = [] if self._is_stump(terms) else leaves_of(terms, self._targets())
                self._update_weights(terms, leaves, edge)
            if not self._rows.replayed(state):
                raise DataError(
                    f"the weights after {state['round']} rounds must be those of the saved state, "
                    "but differ; train the run from its first round"
                )
            self._restore_small(state)

    @contextmanager
    def _unusable_after_an_error(self) -> Iterator[None]:
        try:
            yield
        except BaseException:
            self._stopped = "a state was refused when its weights were set; make another booster"
            raise

    def _restore_small(self, state: dict[str, Any]) -> None:
        self._round = int(state["round"])
        self._log_loss = float(state["log_loss"])
        self._stopped = str(state["stopped"])
        if self.max_model_features is not None:
            self._search.restore(state["chosen"].tolist())  # may start the strategy, which draws
        self._rng.bit_generator.state = copy.deepcopy(state["rng"])
        self.strategy.restore(state["strategy"])


def _unlearned(strategy: str | Strategy) -> Strategy:
    if isinstance(strategy, str):
        made: Strategy = make_strategy(strategy)
        return made
    if not isinstance(strategy, Strategy):
        raise SettingError(
            f"strategy must be a name or an instance of Strategy, got {strategy!r}; "
            "pass an instance, as in MyStrategy()"
        )
    cloned: Strategy = clone(strategy)
    return cloned


def run_facts(
    strategy: Strategy,
    learner: Learner,
    families: Sequence[Family],
    rows: Mapping[str, Any],
    stream: Mapping[str, Any],
    settings: Mapping[str, Any],
) -> dict[str, Any]:
    """The facts of a run, by name, as JSON values; of the strategy only the settings count."""
    facts = {
        "version of the numerical results": NUMERICS,
        **_class_facts("strategy", strategy, strategy.get_params(deep=False)),
        **learner_facts(learner),
        **settings,
        **rows,
        "random stream (seed)": _CHECKSUM + sha256_of_bytes(pack_state(stream).encode()),
    }
    for family in families:
        part = f"family {family.name!r}"
        settings_of_family = _CHECKSUM + sha256_of_json(family.settings())
        facts |= _class_facts(part, family, {"settings": settings_of_family})
        facts[f"number of features of the {part}"] = family.n_features
    return facts


def learner_facts(learner: Learner) -> dict[str, Any]:
    """The facts of a learner: all its attributes are settings, since it keeps nothing else."""
    return _class_facts("learner", learner, vars(learner))


def _class_facts(part: str, instance: Any, settings: Mapping[str, Any]) -> dict[str, Any]:
    """The facts of a strategy, learner or family `part`: class, settings, source code."""
    kind = type(instance)
    facts = {part: _name_of(kind)}
    for name, value in settings.items():
        facts[f"{name} of the {part}"] = plain_setting(value, f"{name} of {kind.__name__}")
    code = code_of(kind)
    if code:
        facts[f"source code of the {part}"] = _CHECKSUM + code
    return facts


def _name_of(kind: Any) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


def plain_setting(value: Any, name: str) -> Any:
    """A setting as JSON values; SettingError that names it if it cannot be compared."""
    if isinstance(value, BaseEstimator):
        settings = plain_setting(value.get_params(deep=False), name)
        return {"class": _name_of(type(value)), "settings": settings}
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        return _CHECKSUM + sha256_of_arrays(value)
    if isinstance(value, list | tuple | range):
        return [plain_setting(item, name) for item in value]
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return {key: plain_setting(item, name) for key, item in value.items()}
    if inspect.isroutine(value) or inspect.isclass(value):
        return _name_of(value)
    raise SettingError(
        f"with a checkpoint, the setting {name} must be a number, text, array, list, dict, "
        f"function or estimator, got a {type(value).__name__}; such an object cannot be compared "
        "with that of another process"
    )


def differences(saved: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """What differs between the facts of a saved run and those of this one, one phrase each.

    If two facts differ, the facts "... of the" first one are not compared.

    >>> differences({"budget": 600}, {"budget": 300})
    ['budget 600, now 300']
    >>> differences({"labels": "sha256:1d"}, {"labels": "sha256:2e"})
    ['other labels']
    """
    wrong = [
        name
        for name in dict.fromkeys([*now, *saved])  # files sort their names
        if _text(saved.get(name)) != _text(now.get(name))
    ]
    parts = {name for name in wrong for other in wrong if name.endswith(f" of the {other}")}
    return [_difference(name, saved, now) for name in wrong if name not in parts]


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def _difference(name: str, saved: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    values = [facts.get(name, _ABSENT) for facts in (saved, now)]
    if any(str(value).startswith(_CHECKSUM) for value in values):
        return f"other {name}"
    brief = reprlib.Repr()
    brief.maxstring = brief.maxother = 60
    first, second = (value if isinstance(value, str) else brief.repr(value) for value in values)
    return f"{name} {first}, now {second}"
