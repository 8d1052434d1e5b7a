"""The commands `boostsample fit`, `predict`, `evaluate` and `explain`: models of tables."""

from __future__ import annotations

import math
import os
import sys
import tempfile
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from boostsample.errors import BoostSampleError, DataError, SettingError
from boostsample.experiments.commands.shared import options
from boostsample.experiments.commands.shared.printing import (
    deliver,
    print_data,
    print_line,
    print_note,
    print_table,
    table_file,
)

_FEWEST_BYTES, _BYTES_OF_ROUND = 2048, 16
"""About the least size of a model file: settings and columns, and a stump of each round."""
_SETTINGS = {
    "rounds": "n_rounds",
    "seed": "random_state",
    "jobs": "n_jobs",
    "max_features": "max_model_features",
}
"""Settings of the classifier by the names of options that differ from theirs."""


def _number_or_auto(kind: type[float], rule: str) -> Callable[..., float | None]:
    """The reader of an option that is a number or auto, for which the classifier's default is."""

    def read(_context: Any, option: click.Parameter, value: str | None) -> float | None:
        try:
            return None if value is None or value == "auto" else kind(value)
        except ValueError:
            raise SettingError(f"{option.opts[0]} must be {rule} or auto, got {value!r}") from None

    return read


@click.command(context_settings={"show_default": True})
@click.argument("table", metavar="TABLE")
@click.option(
    "--target",
    metavar="COLUMN",
    help="The column to predict; the file of labels of an .npz file without any.",
)
@click.option("-o", "--output", metavar="FILE", help="The model file to write, model.bsm.")
@options.drop_option
@options.category_option
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
    callback=_number_or_auto(int, "a whole number"),
    metavar="N|auto",
    help="Boosting rounds of one model.  [default: the mean of five models without a fifth of the "
    "rows each, which choose up to 200; of ten without a tenth above 3,000 features, or above 100 "
    "with up to 1,000 rows]",
)
@click.option(
    "--learning-rate",
    type=float,
    metavar="NU",
    help="Step size, above 0 and at most 1; smaller ones need more rounds.  [default: 0.2]",
)
@click.option(
    "--smoothing",
    callback=_number_or_auto(float, "a number"),
    metavar="S|auto",
    help="Smooth alpha by S mean examples, at least 0: 0.01 in MultiBoost.  [default: auto: 1 for "
    "votes with steps below 1, else 0]",
)
@click.option(
    "--objective",
    metavar="NAME:SETTING=VALUE",
    help="What is boosted (boostsample list objectives).  [default: auto: "
    "real-mh for the default trees and rounds, else mh]",
)
@options.code_option
@options.decoding_option
@click.option(
    "--budget",
    metavar="LOOKS|10N",
    help="Looks per search, at least N, the number of training examples.  [default: by the number "
    "of columns; that of the strategy, mostly 10N, with --strategy]",
)
@options.column_groups_option
@click.option(
    "--max-features",
    type=int,
    metavar="N",
    help="Most different columns that the model may use.  [default: no limit]",
)
@options.max_seconds_option
@options.max_looks_option
@click.option(
    "--early-stopping",
    is_flag=True,
    help="Hold out a tenth of the rows of each class, and keep the rounds that predict them best.",
)
@click.option(
    "--eval-metric",
    metavar="NAME",
    help="Metric that chooses the rounds, with --early-stopping or without --rounds: log_loss, "
    "error, balanced_error or auc.  [default: log_loss]",
)
@click.option(
    "--calibration",
    metavar="rule|temperature",
    help="Temperature of the probabilities: by a rule, or fitted to rows that are held out, a "
    "tenth.  [default: by the rows of --early-stopping, or that have chosen the rounds, else by "
    "the rule]",
)
@options.class_weight_option
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
    target: str | None,
    output: str | None,
    drop: tuple[str, ...],
    category: tuple[str, ...],
    **chosen: Any,
) -> None:
    """Train a classifier on TABLE and save it.

    TABLE is a .csv, .tsv (also .gz) or .parquet file with named columns; options may follow, as in
    x.csv:delimiter=;:decimal=, (docs/data.md). Columns of text are categories, or dates if all of
    it reads as 2024-05-31 or 2024-05-31 18:30; empty fields, ?, NA, N/A, NaN, None and null are
    missing values, in upper or lower case. TABLE may also be a svmlight file, which holds its
    labels, or an .npz file of NumPy or SciPy; a sparse one stays sparse. Everything is checked
    before training begins.
    """
    from boostsample.classifier.file import MOST_BYTES
    from boostsample.estimator import BoostSampleClassifier
    from boostsample.experiments.fitting.table_models import (
        describe_model,
        fit_rows,
        held_out_fits,
        held_out_score,
        read_training_table,
        try_out,
    )
    from boostsample.files.atomic import check_writable_file

    dry, quiet, check = chosen.pop("dry_run"), chosen.pop("quiet"), chosen.pop("check")
    overwrite, first = chosen.pop("overwrite"), chosen.pop("init_model")
    if output is None and not dry:
        raise SettingError("fit needs a file for the model; add -o model.bsm, or --dry-run")
    if chosen["eval_metric"] and not chosen["early_stopping"] and isinstance(chosen["rounds"], int):
        raise SettingError(
            "--eval-metric chooses the number of rounds, but --rounds sets it; leave out --rounds, "
            "or add --early-stopping"
        )
    if output is not None:
        size = min(_FEWEST_BYTES + _BYTES_OF_ROUND * max(chosen["rounds"] or 0, 0), MOST_BYTES)
        place = check_writable_file(output, ".bsm", "the model", overwrite=overwrite, size=size)
        if chosen["checkpoint"] and place.absolute() == Path(chosen["checkpoint"]).absolute():
            raise SettingError(f"model and checkpoint must be two files, got '{output}' for both")
    start = None if first is None else BoostSampleClassifier.load(first)
    settings = {_SETTINGS.get(name, name): value for name, value in chosen.items()}
    given = {name: value for name, value in settings.items() if value is not None}
    groups = given.get("families")
    rows = read_training_table(table, target, drop=drop, category=category, groups=groups)
    if rows.families is not None:
        given["families"] = list(rows.families)
    model = BoostSampleClassifier(**given, verbose=not quiet)
    for line in rows.lines():
        print_line(line)
    if dry or output is None:
        print_line(f"settings: {model!r}")
        n_rows = try_out(model, rows, start)
        print_line(f"dry run: one round on {n_rows:,} rows; nothing is written")
        return
    began = time.perf_counter()
    fit_rows(model, rows, start=start)
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


@click.command()
@click.argument("model", metavar="MODEL")
@click.argument("table", metavar="TABLE")
@click.option("-o", "--output", metavar="FILE", help="The .csv file to write.  [default: print it]")
@click.option("--proba", is_flag=True, help="Add the probability of each class.")
@click.option(
    "--target",
    metavar="COLUMN",
    help="The column of TABLE with the true classes: print how many are wrong on standard error.",
)
@click.option(
    "--keep",
    multiple=True,
    metavar="COLUMN",
    help="Copy a column of TABLE, such as an id, to the output, before the prediction; may be "
    "repeated.",
)
@options.overwrite_option
def predict(
    model: str,
    table: str,
    output: str | None,
    proba: bool,
    target: str | None,
    keep: tuple[str, ...],
    overwrite: bool,
) -> None:
    """Predict the rows of TABLE with MODEL, a file that fit has written.

    Columns are found by name; those that the model does not know are passed over. Those of svmlight
    and .npz files without names are found by position; labels in such files are not read.
    """
    from pandas.api.types import infer_dtype

    from boostsample.estimator import BoostSampleClassifier
    from boostsample.experiments.fitting.table_models import predictions
    from boostsample.experiments.tables.formats import guarded_text
    from boostsample.files.atomic import check_writable_file, write_file

    place = None
    if output is not None:
        place = check_writable_file(output, ".csv", "the predictions", overwrite=overwrite)
        if place.resolve() == Path(table).resolve():
            raise SettingError(f"predictions must not replace their table, got '{output}' for both")
    loaded = BoostSampleClassifier.load(model)
    frame, error = predictions(loaded, table, target, chances=proba, keep=keep)
    texts = [name for name in frame.columns if infer_dtype(frame[name]) == "string"]
    guarded = frame.assign(**{name: frame[name].map(guarded_text, "ignore") for name in texts})
    guarded.columns = [guarded_text(name) for name in frame.columns]
    if not guarded.equals(frame):
        print_note("texts that a spreadsheet would take for formulas begin with ' now")
    text = guarded.to_csv(index=False, lineterminator="\n")
    if place is None:
        print_data(text)
    else:
        write_file(place, text, "the predictions")
        print_line(f"predictions: {place}, {len(frame):,} rows")
    if error is not None:
        sys.stderr.write(f"wrong: {error:.2f} % of {len(frame):,} rows\n")


@click.command()
@click.argument("model", metavar="MODEL")
@click.argument("table", metavar="TABLE")
@click.option(
    "--target",
    metavar="COLUMN",
    help="The column of TABLE with the true classes; svmlight and .npz files may hold them.",
)
@options.format_option(
    "text|markdown|csv", "text, markdown, or csv (a line a number, with all digits)"
)
@click.option("-o", "--output", metavar="FILE", help="Write to a .txt, .md or .csv file.")
@click.option(
    "--picture", metavar="FILE", help="Draw the calibration to an .svg, .png or .pdf file."
)
@options.overwrite_option
def evaluate(
    model: str,
    table: str,
    target: str | None,
    form: str | None,
    output: str | None,
    picture: str | None,
    overwrite: bool,
) -> None:
    """Compare the predictions of MODEL for the rows of TABLE with their true classes.

    Prints the error, the balanced error, log loss, AUC and Brier score, a confusion table, and a
    calibration table: how often the classes of a probability are true, in ten bins. For an honest
    judgement, give rows that fit has not seen.
    """
    from boostsample.estimator import BoostSampleClassifier
    from boostsample.experiments.fitting.table_models import evaluation
    from boostsample.experiments.plots.drawing import check_picture, save_picture
    from boostsample.experiments.plots.explained import reliability_figure
    from boostsample.experiments.tables.formats import FORMATS

    name, place = table_file(
        form, output, "the tables", ("text", "markdown", "csv"), overwrite=overwrite
    )
    drawing = None if picture is None else check_picture(picture, overwrite=overwrite)
    judged = evaluation(BoostSampleClassifier.load(model), table, target)
    if name == "text" and place is None:
        for part in judged.tables():
            print_table(part)
    else:
        is_csv = name == "csv"
        text = judged.csv().rstrip() if is_csv else FORMATS[name].render(judged.tables())
        deliver(text, place, "the tables")
    if drawing is not None:
        figure = reliability_figure(judged.calibration, judged.rows, judged.event)
        save_picture(figure, drawing)
        print_line(f"picture: {drawing}")


@click.command()
@click.argument("model", metavar="MODEL")
@click.option("-n", "n_features", default=20, metavar="N", help="Features and columns to list.")
@click.option(
    "--data",
    metavar="TABLE",
    help="Rows that the model has not seen: list the columns by what they are worth there.",
)
@click.option("--target", metavar="COLUMN", help="The column of --data with the true classes.")
@click.option("-o", "--output", metavar="FILE", help="Draw them to an .svg, .png or .pdf file.")
@options.overwrite_option
def explain(
    model: str,
    n_features: int,
    data: str | None,
    target: str | None,
    output: str | None,
    overwrite: bool,
) -> None:
    """Say in words, and as a picture, which families and features MODEL uses.

    Shares are those in the fall of the log loss of the training rows, to which noise contributes,
    too. With --data, a table has the importance of each column on these rows: the rise of their log
    loss when the values of the column are shuffled, mean of five shuffles. Columns of noise have
    about 0. The indicators of a column of categories and the parts of a date count as one column.
    """
    from boostsample.checks import check_integer
    from boostsample.classifier.prediction.held_importances import held_importances
    from boostsample.estimator import BoostSampleClassifier
    from boostsample.experiments.fitting.matrix_rows import check_target
    from boostsample.experiments.fitting.table_models import importance_table, read_known_rows
    from boostsample.experiments.plots.drawing import check_picture, save_picture
    from boostsample.experiments.plots.explained import explain_figure
    from boostsample.models.importances import explain as explained

    check_integer("-n", n_features, 1)
    if data is None and target is not None:
        raise SettingError("--data TABLE and --target COLUMN must be given together")
    check_target(data, target)
    place = None if output is None else check_picture(output, overwrite=overwrite)
    loaded = BoostSampleClassifier.load(model)
    held = None
    if data is not None:
        held = held_importances(loaded, *read_known_rows(loaded, data, target))
    names = loaded.classes_.tolist()
    if loaded.code_ is not None:
        names = [f"bit {number}" for number in range(loaded.code_.n_bits)]
    explanation = explained(
        loaded.model_,
        names,
        n_features=n_features,
        importances=getattr(loaded, "term_importances_", None),
    )
    print_line(f"{explanation}\n")
    print_table(importance_table(loaded, held, n_features))
    if place is not None:
        save_picture(explain_figure(explanation, held), place)
        print_line(f"picture: {place}")
