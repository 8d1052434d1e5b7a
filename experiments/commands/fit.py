"""The command `boostsample fit`: trains a classifier on a table in a file."""

from __future__ import annotations

import math
import os
import tempfile
import time
import uuid
from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from boostsample.errors import BoostSampleError, DataError, SettingError
from boostsample.experiments.commands.shared import options
from boostsample.experiments.commands.shared.printing import print_line, print_note

_FEWEST_BYTES, _BYTES_OF_ROUND = 2048, 16
"""About the least size of a model file: settings and columns, and a stump of each round."""


@click.command(context_settings={"show_default": True})
@click.argument("table", metavar="TABLE")
@click.option("--target", required=True, metavar="COLUMN", help="The column to predict.")
@click.option("-o", "--output", metavar="FILE", help="The model file to write, model.bsm.")
@click.option(
    "--drop", multiple=True, metavar="COLUMN", help="A column to leave out; may be repeated."
)
@click.option(
    "--category",
    multiple=True,
    metavar="COLUMN",
    help="A column of codes such as 01, whose values are categories; may be repeated.",
)
@click.option(
    "--strategy",
    metavar="NAME:SETTING=VALUE",
    help="Sampling strategy (boostsample list strategies).  [default: by the size of the table]",
)
@click.option(
    "--learner",
    metavar="NAME:SETTING=VALUE",
    help="Weak learner (boostsample list learners).  [default: that of the classifier]",
)
@click.option(
    "--rounds",
    callback=lambda context, option, value: _n_rounds(value),
    metavar="N|auto",
    help="Boosting rounds of one model.  [default: the mean of five models without a fifth of the "
    "rows each, which choose up to 200]",
)
@click.option(
    "--learning-rate",
    type=float,
    metavar="NU",
    help="Step size, above 0 and at most 1; smaller ones need more rounds.  [default: 0.2]",
)
@click.option(
    "--smoothing",
    type=float,
    metavar="S",
    help="Smooth alpha by S mean examples, at least 0: 0.01 in MultiBoost.  [default: 0]",
)
@click.option(
    "--budget",
    metavar="LOOKS|10N",
    help="Looks per search, at least N, the number of training examples.  [default: by the number "
    "of columns, up to 1000N; that of the strategy, mostly 10N, with --strategy]",
)
@click.option(
    "--families", metavar="prefix|dtype", help="Group the columns by name or type into families."
)
@click.option(
    "--max-features",
    type=int,
    metavar="N",
    help="Most different columns that the model may use.  [default: no limit]",
)
@click.option(
    "--early-stopping",
    is_flag=True,
    help="Hold out a tenth of the rows of each class, and keep the rounds that predict them best.",
)
@click.option(
    "--eval-metric",
    metavar="NAME",
    help="Metric of --early-stopping: log_loss, error, balanced_error or auc.  [default: log_loss]",
)
@click.option(
    "--calibration",
    metavar="rule|temperature",
    help="Temperature of the probabilities: by a rule, or fitted to rows that are held out, a "
    "tenth.  [default: by the rows of --early-stopping, or that have chosen the rounds, else by "
    "the rule]",
)
@click.option(
    "--class-weight", metavar="balanced", help="Give each class the same weight.", default=None
)
@click.option(
    "--init-model", metavar="FILE", help="Continue the model of this file with further rounds."
)
@click.option(
    "--checkpoint",
    metavar="FILE",
    help="Save the state of training to this file each minute; the same command continues from it.",
)
@options.seed_option
@click.option("--jobs", default=1, metavar="N", help="Threads, -1 for all cores; same results.")
@click.option(
    "--dry-run",
    is_flag=True,
    help="Check the table, the settings and the output, train one round on a few rows, and stop.",
)
@click.option(
    "--check/--no-check",
    default=True,
    help="Print the score of held-out rows: the fit is repeated without a fifth of the rows, which "
    "takes 0.8 times its seconds, or, up to 1,000 rows, five times without a fifth each, which "
    "takes 4 times its seconds. The model does not change.",
)
@options.overwrite_option
@options.quiet_option
def fit(
    table: str,
    target: str,
    output: str | None,
    drop: tuple[str, ...],
    category: tuple[str, ...],
    **given: Any,
) -> None:
    """Train a classifier on TABLE and save it.

    TABLE is a .csv, .tsv (also .gz) or .parquet file with named columns; options may follow, as in
    x.csv:delimiter=;:decimal=, (docs/data.md). Columns of text are categories, or dates if all of
    it reads as 2024-05-31 or 2024-05-31 18:30; empty fields, ?, NA, N/A, NaN, None and null are
    missing values, in upper or lower case. Everything is checked before training begins.
    """
    from boostsample.classifier.file import MOST_BYTES
    from boostsample.estimator import BoostSampleClassifier
    from boostsample.experiments.fitting.table_models import (
        describe_model,
        held_out_fits,
        held_out_score,
        read_training_table,
        try_out,
    )
    from boostsample.files.atomic import check_writable_file

    dry, quiet, check = given.pop("dry_run"), given.pop("quiet"), given.pop("check")
    overwrite, first = given.pop("overwrite"), given.pop("init_model")
    if output is None and not dry:
        raise SettingError("fit needs a file for the model; add -o model.bsm, or --dry-run")
    if given["eval_metric"] and not given["early_stopping"]:
        raise SettingError("--eval-metric is that of --early-stopping; add --early-stopping")
    if output is not None:
        size = min(_FEWEST_BYTES + _BYTES_OF_ROUND * max(given["rounds"] or 0, 0), MOST_BYTES)
        place = check_writable_file(output, ".bsm", "the model", overwrite=overwrite, size=size)
        if given["checkpoint"] and place.absolute() == Path(given["checkpoint"]).absolute():
            raise SettingError(f"model and checkpoint must be two files, got '{output}' for both")
    start = None if first is None else BoostSampleClassifier.load(first)
    model = _classifier(given, verbose=not quiet)
    rows = read_training_table(table, target, drop=drop, category=category)
    for line in rows.lines():
        print_line(line)
    if dry or output is None:
        print_line(f"settings: {model!r}")
        n_rows = try_out(model, rows, start)
        print_line(f"dry run: one round on {n_rows:,} rows; nothing is written")
        return
    began = time.perf_counter()
    model.fit(rows.X, rows.y, init_model=start)
    seconds = time.perf_counter() - began
    try:
        model.save(output, overwrite=overwrite)
    except (BoostSampleError, MemoryError) as error:
        raise _saved_elsewhere(model, Path(output), error) from error
    for line in describe_model(model, start):
        print_line(line)
    print_line(f"model: {output}, {os.stat(output).st_size:,} bytes; fit {seconds:.1f} s")
    if check and start is not None:
        print_note("no held-out score: the model of --init-model may have learned from all rows")
    elif check:
        n_fits = held_out_fits(rows)
        if not quiet:
            print_note(
                f"the held-out score takes about {math.ceil(0.8 * n_fits * seconds)} s; --no-check "
                "leaves it out"
            )
        try:
            print_line(held_out_score(model, rows))
        except BoostSampleError as error:
            print_note(f"no held-out score: {error}")


def _n_rounds(value: str | None) -> int | None:
    """The number of --rounds; None if the classifier is to choose it."""
    if value is None or value == "auto":
        return None
    try:
        return int(value)
    except ValueError:
        raise SettingError(f"--rounds must be a whole number or auto, got {value!r}") from None


def _saved_elsewhere(model: Any, output: Path, error: BaseException) -> DataError:
    """The error of a trained model that could not be saved; it is saved under another name."""
    folders = [str(output.parent), tempfile.gettempdir(), "."]
    for folder in dict.fromkeys(folders):
        place = Path(folder, f"{output.stem[:50]}-{uuid.uuid4().hex[:8]}.bsm")
        with suppress(BoostSampleError, MemoryError):
            model.save(place)
            return DataError(f"{error}; the trained model is saved as '{place}' instead")
    return DataError(
        f"{error}; the trained model could not be saved in {', '.join(folders)} either and is "
        "lost; with --checkpoint FILE the same command would go on from the last save"
    )


def _classifier(given: dict[str, Any], *, verbose: bool) -> Any:
    """The classifier of the options; those that are not given have its defaults."""
    from boostsample.estimator import BoostSampleClassifier

    names = {
        "rounds": "n_rounds",
        "seed": "random_state",
        "jobs": "n_jobs",
        "max_features": "max_model_features",
    }
    settings = {names.get(name, name): value for name, value in given.items() if value is not None}
    return BoostSampleClassifier(**settings, verbose=verbose)
