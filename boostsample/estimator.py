"""The scikit-learn classifier."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from time import monotonic
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassifierMixin

from boostsample.banks.bank_forms import make_bank
from boostsample.checks import check_flag, warn_of_merged_columns
from boostsample.classifier.defaults import (
    AUTO,
    FEWEST_ROWS,
    MOST_ROUNDS,
    MOST_ROUNDS_VERY_WIDE,
    MOST_WIDE,
    ROUNDS_OF_FEW,
    NamedSettings,
    choose_objective,
    chooses_rounds,
    committee_size,
)
from boostsample.classifier.early_stopping import (
    Metric,
    RoundScores,
    check_eval_metric,
)
from boostsample.classifier.file import ModelFiles
from boostsample.classifier.fit_run import (
    CallbackSupportMixin,
    FitRun,
    Follower,
    RoundCallbacks,
    fit_checkpoint,
    fit_seed,
    resume,
    run_facts,
    run_to_continue,
    run_to_keep,
    split_stream,
    train,
    with_callbacks,
)
from boostsample.classifier.fitted import InitModel
from boostsample.classifier.inputs.fit_inputs import (
    check_fit_inputs,
    check_prediction_inputs,
    inputs_are_numbers,
    make_families,
    merged_columns,
)
from boostsample.classifier.inputs.frames import SeenColumns, frame_of
from boostsample.classifier.inputs.held_rows import (
    check_held,
    eval_sets,
    held_labels,
    queries_of,
    validation_is_used,
)
from boostsample.classifier.prediction.prediction_mixin import PredictionMixin
from boostsample.classifier.prediction.probabilities import (
    best_temperature,
    label_offsets,
    largest_score,
)
from boostsample.classifier.stable_selection import StableSelectionMixin
from boostsample.column_table import ColumnTable
from boostsample.errors import SettingError
from boostsample.family import Family
from boostsample.learner import Learner
from boostsample.loop.booster import Booster
from boostsample.loop.budgets import RunLimits
from boostsample.loop.committee import Committee
from boostsample.loop.fit_progress import FitProgress
from boostsample.models.model import Model
from boostsample.objective import Objective
from boostsample.output_codes import ONE_VS_REST, make_output_code
from boostsample.records import Round
from boostsample.strategy import Strategy


class BoostSampleClassifier(
    CallbackSupportMixin,  # type: ignore[misc]  # untyped
    PredictionMixin,
    StableSelectionMixin,
    ModelFiles,
    ClassifierMixin,  # type: ignore[misc]  # untyped
    NamedSettings,
):
    """AdaBoost.MH with a budget of looks for each search of a weak learner.

    Parameters
    ----------
    strategy : str or Strategy, default "auto"
        Chooses the features and examples of each search; a registered name, with settings if need
        be as in ``"ucb:exploration=0.1"``, or an instance. "auto" is, for up to 100 features,
        ``uniform-naive`` on half of the examples, with half of the features for two classes and all
        for more, these from 500 examples on on seven tenths; ``adaptive-halving`` for up to 3,000
        features, and ``screening`` above; see docs/default.md.
    learner : str or Learner, default "auto"
        The weak learner of each round; a registered name or an instance. "auto" is "oblivious-tree"
        in a committee of two classes and up to 100 features with the strategy "auto": a leaf for
        each 25 training examples, 16 to 64. Else it is "tree". Up to 100 features it has a leaf for
        each 25 examples, 8 to 16 for two classes, 8 to 32 for more; above, a leaf for each 50, 4 to
        16. "auto:n_leaves=8" sets settings of this tree.
    n_rounds : int or "auto", default "auto"
        Boosting rounds; fewer if an edge reaches 1 and steps are full, or if no stump of any
        feature has an edge, which is a ConvergenceWarning. "auto" is a committee of five models,
        each trained without a fifth of the rows, by class; or of ten, each without a tenth, for
        more than 3,000 features, or more than 100 with up to 1,000 rows. The score of a row is the
        mean of theirs. All have the number of rounds, up to 200, whose smoothed `eval_metric` is
        best on the rows that each has left out; see `early_stopping`. Above 20,000 rows, or 5,000
        of more than 3,000 features, with `X_val` or with `max_model_features`, it is one model with
        `early_stopping`, of more than 3,000 features of up to 1,000 rounds; with fewer than 20
        rows, or `init_model`, which may know all of them, one of 100 rounds, unless `calibration`
        "temperature" holds rows out.
    budget : int, str or None, default None
        Looks per search, or a multiple of the number of training examples N as in ``"10N"``; text
        without N must be at least N. None with the strategy "auto" is, for F up to 100 features,
        F / 4 N, F / 2 N or 7/10 F N, and 100 N up to 3,000 features; else the strategy's default,
        usually 10 N, of ``screening`` (F + 2,000) N for passes over all features, which are few.
    weight_init : {"balanced", "uniform"}, default "balanced"
        Initial label weights, [BK10] eq. 2 or 1/K; the same default as on the command line. With
        uniform ones, as in [DF11], every feature has the same best stump in the first round.
    families : str, sequence of str or Family, mapping of str to columns, or None
        Feature families. None, the default: one family of the columns of a table (n, d), or the
        default image families for images (n, h, w) or (n, h, w, channels). Of a sparse matrix of
        more than 3,000 columns it has those not 0 in at least 5 rows and a thousandth of all.
        Names choose among these and the families of other distributions,
        ``"haar:levels=2,identity"`` or a sequence, in which instances may stand, too. A mapping
        names groups of columns, ``{"size": ["height", "width"], "sensors": "3-17"}``; "dtype" and
        "prefix" group the columns of a data frame by type or name; see
        `boostsample.families.column_groups`. A column of categories in a group stands for all of
        its indicators; ``"colour=*"`` names them, too.
    random_state : int, RandomState instance or None, default None
        Seed of the strategy's random stream.
    n_jobs : int, default 1
        Threads for features, searches and passes over all examples; -1 is all cores. Results do not
        depend on it, to the bit.
    bank : {"auto", "memory", "disk", "columns", "lazy"} with settings, default "auto"
        Storage of the features, as in ``"lazy:reference=512"``: in memory; in memory-mapped files
        that later fits of the same families on the same data reuse (``boostsample cache``); columns
        that are binned when they are searched, the last 64 MiB kept (`cache_bytes`, of a thread);
        or values computed on first use, with bin edges from the values that a search reads, or
        from so many examples as `reference` says. "auto" is "columns" for sparse matrices and
        tables by columns that are large, else "memory"; both give the same model, but for equal
        edges of one feature (docs/banks.md).
    verbose : bool, default False
        Show round, loss and edge on standard error: one renewed line on a terminal, ten lines in
        notebooks and files. With scikit-learn 1.9 there are also its callbacks, as in
        ``set_callbacks(sklearn.callback.ProgressBar())``.
    checkpoint : str, path or None, default None
        File that the fit is saved to. If it exists, the fit goes on from it, to the same bits as
        without an interruption; it must be one of the same settings and data, `n_rounds` may be
        more. It stays after the fit. One file for each fit: copies of this estimator, as in a
        cross-validation, need files of their own. See ``docs/checkpoints.md``.
    checkpoint_seconds : float, default 60.0
        Least seconds between two saves of the checkpoint; 0 saves after each round.
    class_weight : "balanced", mapping of class to weight, sequence of mappings or None
        Weights of classes, as in scikit-learn: they multiply the weights of their examples.
        "balanced": inversely proportional to the weights of the classes. For several labels, a
        mapping for each, as in ``[{0: 1, 1: 5}, ...]``; their factors are multiplied.
    early_stopping : bool, default False
        Hold rows out and keep the rounds with the best smoothed `eval_metric` on them, the mean
        over 4/5 to 6/5 of their number ([BK10] 4.2). Training stops at twice the best number of
        rounds, at 100 rounds at the earliest, or at `n_rounds`. A UserWarning if the model that is
        kept predicts the same for all rows held out.
    eval_metric : {"log_loss", "error", "balanced_error", "auc"} or callable, default "log_loss"
        Metric of `n_rounds` "auto", of `early_stopping` and of the sets `eval_set` of `fit`. The
        log loss is that at the temperature that is best for the rows and the round. "error" and
        "balanced_error" (the mean over classes) are percentages; "auc" is the mean over classes,
        each against the rest. A function ``f(y_true, probabilities, sample_weight)`` returns a
        number that is to be small, as `sklearn.metrics.brier_score_loss` does; its probabilities
        have the best temperature.
    validation_fraction : float, default 0.1
        Part of the rows to hold out, of each class, for `early_stopping` and `calibration`, unless
        `fit` is given others.
    calibration : {"auto", "rule", "temperature", None}, default "auto"
        Divide the logits of the probabilities by one number, see docs/probabilities.md. "rule": by
        a rule, from the coefficients of the model; "temperature": by the number that fits held-out
        rows best, close to the rule if they are few; "auto": by the rows left out for `n_rounds`
        "auto" or early stopping, else by the rule. None: by 1, the probabilities of the exponential
        loss, which are overconfident. Predictions stay the same.
    warm_start : bool, default False
        Continue the last fit up to `n_rounds` rounds, on the same data and with the same settings,
        to the bits of one longer fit. SettingError or DataError if something differs, or if the
        strategy depends on the number of rounds planned; `n_rounds` must be a number. A
        `random_state` that is no number is not compared: the random stream continues.
    max_model_features : int or None, default None
        Most different features that the model may use; None is no limit. As soon as searches have
        chosen so many, later ones choose among these. A column of categories has a feature for each
        of its indicators.
    learning_rate : float, default 0.2
        Step size nu, above 0 and at most 1: alpha is nu times 1/2 log((1 + G) / (1 - G)) for the
        edge G of a round. Smaller steps need more rounds, and are better on noisy labels and many
        columns. Below 1, training goes on after an edge of 1.
    smoothing : float or "auto", default "auto"
        At least 0: so many examples of mean weight count as right, and so many as wrong, in alpha
        beside those that are; this bounds alpha. 0.01 in MultiBoost, 1 / K in [SS99] 4.2; see
        `boostsample.rows.weights.StepSize`. Above 0, training goes on after an edge of 1. "auto"
        is 1 with a learning rate below 1 and an objective of votes, such as "mh", and 0 for all
        others: real values, and bagging.
    max_seconds : float or None, default None
        Seconds of the fit, above 0, at which training ends: the model is that of the rounds so far,
        at least one. Checked after each round, of a committee after each turn of its members;
        binning counts, too, and so do the rounds of a checkpoint or of an earlier fit that is
        continued. How many rounds are trained depends on the machine.
    max_looks : int or None, default None
        Looks of search and modelling, at least 1, at which training ends; checked and counted as
        `max_seconds`, but the rounds that are trained are the same everywhere. With both, training
        ends at the first one.
    objective : str or Objective, default "auto"
        What is boosted: "mh", discrete AdaBoost.MH, "real-mh", "info", "gentle", "m1", "samme",
        "rank", "oc" or "bagging", with settings as in "real-mh:abstains=1", or an instance; see
        docs/objectives.md. "auto" is "real-mh" for trees of the learner "auto" in the committee of
        `n_rounds` "auto", up to 3,000 features and without smoothing, and "mh" for all others.
        "m1", "samme" and "oc" need one class for each row, "rank" two classes.
    code : str or array, shape (K, B), default "one-vs-rest"
        Output code, whose bits are the labels that are boosted: "one-vs-rest", "binary",
        "exhaustive", or the best of many random ones, "dense" or "sparse", with a number of bits if
        need be as in "dense:30"; or a matrix of -1, 0 and +1, a row for each of `classes_`. See
        docs/codes.md.
    decoding : {"loss", "hamming"}, default "loss"
        How scores of bits become scores of classes; see `boostsample.output_codes`.

    Attributes
    ----------
    classes_ : ndarray
        Class labels; column numbers for a multi-label y.
    model_ : Model
        The stumps.
    n_rounds_ : int
        Rounds in the model, of all members of a committee.
    n_members_ : int
        Models whose mean is the score: five or ten in the committee of `n_rounds` "auto", else one.
        Their rounds take turns in `model_` and `history_`, whose column ``member`` numbers them
        from 0.
    stopped_ : str
        Why training has ended before `n_rounds`: a limit that is reached, early stopping, an edge
        of 0 or 1, a callback. Empty if it has not.
    history_ : list of dict
        One flat record per search, for `pandas.DataFrame`; also of rounds that early stopping left
        out of the model. With early stopping and `n_rounds` "auto" the column ``validation`` has
        `eval_metric` after the rounds that were scored: the first 32, then 16 of each doubling, and
        the last; else NaN.
    strategy_ : Strategy
        The strategy as the last round left it, with its learned state; of the first member.
    validation_error_ : ndarray of float64
        With early stopping or `n_rounds` "auto": percentage of the weight of the rows left out that
        is wrong (of several labels: of rows and labels) after each round, of a member each.
    example_weights_ : ndarray of float64, shape (n,)
        Weight of each row of X after the rounds of `model_`: the sum over labels of
        u_il exp(-y_il f_l(x_i)) for the initial label weights u and the scores f, of total 1. 0 for
        rows that a single model holds out, for rounds or calibration, and rows of weight 0. Of
        "m1" and "samme" the label is the class of the row, of "rank" it is the weight of its pairs,
        of "oc" that of its wrong classes; "bagging" keeps the initial weights. Rows with wrong
        labels are heavy: see docs/outliers.md.
    term_importances_ : ndarray of float64, shape (M,)
        Fall of the log loss in a round, shared by its terms; see
        `boostsample.models.importances`.
    feature_importances_ : ndarray of float64, shape (n_features_in_,)
        Shares of the columns of X in the sum of `term_importances_`; absent if the features of a
        family are not single columns of a table.
    family_importances_ : dict
        Shares of the families, by name.
    offset_ : ndarray of float64, shape (K,)
        Log ratio of the mean initial weight of a label's positive and negative rows, for the
        probabilities of multi-label rows; 0 otherwise.
    temperature_ : float
        Divisor of the logits of the probabilities; 1 with `calibration` None.
    n_features_in_ : int
        Columns of X (its second axis); absent for documents.
    feature_names_in_ : ndarray of str
        Names of the columns, if X is a data frame and all of them are text.
    code_ : OutputCode or None
        The output code: its `matrix` int8 (K, B) and `decoding`. None for "one-vs-rest" decoded by
        loss, where the scores of bits are those of the classes.
    columns_ : TableColumns or None
        How columns of categories become indicators, and dates their parts; None if X has neither.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = BoostSampleClassifier(n_rounds=50, random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.95)
    True
    """

    def __init__(
        self,
        strategy: str | Strategy = AUTO,
        learner: str | Learner = AUTO,
        n_rounds: int | str = AUTO,
        budget: int | str | None = None,
        weight_init: str = "balanced",
        families: Sequence[str | Family] | Mapping[str, Any] | str | None = None,
        random_state: Any = None,
        n_jobs: int = 1,
        bank: str = "auto",
        verbose: bool = False,
        checkpoint: str | os.PathLike[str] | None = None,
        checkpoint_seconds: float = 60.0,
        class_weight: str | Mapping[Any, float] | Sequence[Mapping[int, float]] | None = None,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        calibration: str | None = "auto",
        warm_start: bool = False,
        max_model_features: int | None = None,
        learning_rate: float = 0.2,
        smoothing: float | str = AUTO,
        eval_metric: Metric = "log_loss",
        max_seconds: float | None = None,
        max_looks: int | None = None,
        objective: str | Objective = "auto",
        code: str | ArrayLike = ONE_VS_REST,
        decoding: str = "loss",
    ) -> None:
        self.strategy = strategy
        self.learner = learner
        self.n_rounds = n_rounds
        self.budget = budget
        self.weight_init = weight_init
        self.families = families
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.bank = bank
        self.verbose = verbose
        self.checkpoint = checkpoint
        self.checkpoint_seconds = checkpoint_seconds
        self.class_weight = class_weight
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.calibration = calibration
        self.warm_start = warm_start
        self.max_model_features = max_model_features
        self.learning_rate = learning_rate
        self.smoothing = smoothing
        self.eval_metric = eval_metric
        self.max_seconds = max_seconds
        self.max_looks = max_looks
        self.objective = objective
        self.code = code
        self.decoding = decoding

    @with_callbacks
    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        init_model: str | os.PathLike[str] | BoostSampleClassifier | Model | None = None,
        *,
        X_val: Any = None,
        y_val: ArrayLike | None = None,
        sample_weight_val: ArrayLike | None = None,
        eval_set: Sequence[tuple[Any, ...]] | None = None,
        groups: ArrayLike | None = None,
    ) -> BoostSampleClassifier:
        """Boost on the examples X and their labels y.

        Parameters
        ----------
        X : array, shape (n, d), (n, h, w) or (n, h, w, channels)
            Or a sparse matrix (n, d), a data frame of pandas or polars, a table of Arrow or a table
            by columns (`boostsample.formats`); or n documents, if families read them. Numbers are
            compared as float32; a RuntimeWarning names columns that lose values. NaN is missing;
            infinite values are errors. A column of categories becomes one indicator for each, such
            as "colour=red": NaN if missing, 0 if not in training; the 254 most frequent of more
            than 255, and "colour=(other)". A column of dates becomes numbers of its parts, such as
            "day.weekday"; see docs/frames.md. Prediction needs the same columns.
        y : array, shape (n,) or (n, K)
            Class labels: text, whole numbers or truth values, in any container; predictions have
            their types. Or an indicator matrix of 0 and 1 (multi-label), which may be sparse.
        sample_weight : array, shape (n,), optional
            Example weights of at least 0; rows of weight 0 are dropped first.
        init_model : path, BoostSampleClassifier or Model, optional
            A model of the same classes and columns that `n_rounds` rounds are added to: a file that
            `save` has written, a fitted classifier, or its `model_`. Its families come first, then
            those of `families` that it does not have; the default families stand for its own.
            `history_` has the new rounds, and its loss goes on from that of the model on these
            examples: the initial label weights are u_il exp(-y_il f_l(x_i)), normalised, for its
            scores f. The importances of a `model_` alone are those of full steps: after smaller
            ones, give the classifier.
        X_val, y_val : like X and y, optional
            Rows for `n_rounds` "auto", `early_stopping` and `calibration`, in place of a part of X.
        sample_weight_val : array, shape (n_val,), optional
            Weights of these rows; `class_weight` does not change them.
        eval_set : sequence of (X, y) or (X, y, sample_weight), optional
            Further sets, only scored by `eval_metric`: columns ``eval_set_0``, ``eval_set_1``, ...
            of `history_`. They decide nothing; that do the rows held out, or `X_val`.
        groups : array, shape (n,), optional
            The query of each row, for the objective "rank"; no query is divided by rows held out.

        Returns
        -------
        self

        Raises
        ------
        DataError
            If X, y or weights cannot be learned from.
        SettingError
            If a setting is out of range or unknown.
        """
        limits = RunLimits(self.max_seconds, self.max_looks, monotonic)
        is_verbose = check_flag("verbose", self.verbose, numbers=True)
        start = None if init_model is None else InitModel.of(init_model, type(self))
        if start is not None and self.max_model_features is not None:
            raise SettingError(
                "max_model_features counts the features of one fit, but init_model has more; set "
                "max_model_features=None, or fit without init_model"
            )
        if start is None:
            numbers = inputs_are_numbers(self.families)
        else:
            numbers = start.read_numbers(self.families)
        columns = None if start is None else start.columns
        X = frame_of(X)
        inputs = check_fit_inputs(self, X, y, sample_weight, numbers=numbers, columns=columns)
        rows, classes, multi_label, seen, weighted = inputs
        objective = choose_objective(self.objective)
        rows = rows._replace(queries=queries_of(groups, weighted, objective))
        families = self._families(X, rows.examples, seen, start)
        last_run = run_to_continue(self)
        seed = last_run.notes["seed"] if last_run else fit_seed(self.random_state, self.checkpoint)
        stream = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(3,)))
        code = make_output_code(self.code, self.decoding, classes.size, stream)
        if code is not None and multi_label:
            raise SettingError(
                "an output code is for one class in each row, but y has several labels; use "
                "code='one-vs-rest' and decoding='loss'"
            )
        if start is not None:
            start.check_no_code(code)
        auto = chooses_rounds(self.n_rounds, self.warm_start)
        n_features = sum(family.n_features for family in families)
        validates = validation_is_used(
            self.early_stopping, self.calibration, self.validation_fraction
        )
        metric = check_eval_metric(self.eval_metric)

        # Rows to train on, and rows that members or all leave out.
        stream = split_stream(seed)
        if check_held(X_val, y_val, sample_weight_val, auto or validates):
            held = check_prediction_inputs(self, X_val, seen, numbers=numbers)
            of_held = held_labels(y_val, classes, multi_label)
            rows = rows.joined(held, of_held, sample_weight_val)
        elif auto and start is None and not self.early_stopping:
            limited = self.max_model_features is not None
            n_members = 1 if limited else committee_size(rows.train.size, n_features)
            if n_members > 1:
                rows = rows.left_out(n_members, stream, multi_label)
            one_model = n_members == 1 and rows.train.size >= FEWEST_ROWS
            if one_model or (validates and not rows.held):
                rows = rows.split(self.validation_fraction, stream, multi_label)
        elif validates:
            rows = rows.split(self.validation_fraction, stream, multi_label)
        for X_eval, y_eval, weight_eval in eval_sets(eval_set):
            watched = check_prediction_inputs(self, X_eval, seen, numbers=numbers)
            of_watched = held_labels(y_eval, classes, multi_label, "y of eval_set")
            rows = rows.joined(watched, of_watched, weight_eval, watched=True)
        if start is not None:
            start.check_classes(classes, multi_label, rows.labels.shape[1])
            rows = rows._replace(
                scores=start.model.decision_function(rows.examples),
                largest=largest_score(start.model),
            )

        edges_from = rows.train if rows.train.size < rows.labels.shape[0] else None
        bank = make_bank(self.bank, families, rows.examples, edges_from, n_jobs=self.n_jobs)
        by_columns = isinstance(rows.examples, ColumnTable)
        if not by_columns:
            warn_of_merged_columns(merged_columns(families, bank.n_bins, rows.examples))
        offset = np.zeros(rows.labels.shape[1])
        if multi_label:
            of_train = rows.labels[rows.train], self.weight_init, rows.weight[rows.train]
            offset = label_offsets(*of_train)
        inputs = inputs._replace(rows=rows)
        run = FitRun(self, inputs, bank, offset, seed, metric, start, code)
        n_members = run.n_members
        n_rounds: Any = self.n_rounds
        if auto:
            n_rounds = MOST_ROUNDS if rows.held else ROUNDS_OF_FEW
            if len(rows.held) == 1 and n_features > MOST_WIDE:
                n_rounds = MOST_ROUNDS_VERY_WIDE
        booster: Booster | Committee
        rounds: list[Round] = []
        facts = None
        if n_members == 1:
            booster = run.booster(rows.train, n_rounds)
            facts = run_facts(booster, run)
            rounds = resume(booster, last_run, facts)
        else:
            booster = run.committee(n_rounds)

        watches = {f"eval_set_{at}": run.held_metric(part) for at, part in enumerate(rows.watched)}
        stops = self.early_stopping or (auto and rows.held)
        decides = run.held_metric(*rows.held) if stops else None
        evaluation = RoundScores(watches, n_members, decides)
        followers: list[Follower] = [evaluation]
        callbacks = None
        if hasattr(self, "_skl_callbacks"):
            callbacks = RoundCallbacks(run, booster, rounds, evaluation, X, y, sample_weight)
            followers.append(callbacks)
        _, stopped = train(
            booster,
            limits,
            followers,
            FitProgress(n_rounds, evaluation.text) if is_verbose else None,
            fit_checkpoint(self.checkpoint, booster, self.checkpoint_seconds, seed),
            turn=n_members,
            before=None if callbacks is None else callbacks.begin,
            rounds=rounds,
        )
        evaluation.end()
        if by_columns:  # it has been read by now
            warn_of_merged_columns(merged_columns(families, bank.n_bins, rows.examples))
        chosen = rounds[: evaluation.n_rounds() * n_members]
        state = run.state(booster, chosen, evaluation.history(rounds))
        weights = run.example_weights(booster, chosen)
        errors = evaluation.errors
        state = replace(state, validation_error=errors, stopped=stopped, example_weights=weights)
        if rows.held and self.calibration in ("auto", "temperature"):
            scores = run.held_scores(*rows.held)
            for turn in range(0, len(chosen), n_members):
                scores.add(*chosen[turn : turn + n_members])
            state = replace(state, temperature=best_temperature(scores, run.rule))
        if facts is not None:
            state = replace(state, run=run_to_keep(booster, run, facts, rounds, last_run))
        if callbacks is not None:
            callbacks.end(state)
        state.assign(self)
        return self

    def _families(
        self, X: Any, examples: Any, seen: SeenColumns, start: InitModel | None
    ) -> list[Family]:
        if start is not None:
            start.check_columns(seen)
            if self.families is None:
                return list(start.model.families)
        families = make_families(self.families, X, examples, seen)
        return families if start is None else start.families(families)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        plain = isinstance(self.code, str) and self.code == ONE_VS_REST
        tags.classifier_tags.multi_label = plain and self.decoding == "loss"
        return tags
