"""`boostsample fit`, `predict` and `explain`: a table in a file, a model in a file."""

from __future__ import annotations

import datetime
import io
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
from sklearn.datasets import load_iris

from boostsample import BoostSampleClassifier, DataError
from boostsample.classifier.defaults import (
    MOST_NARROW,
    MOST_ROUNDS,
    MOST_ROWS_WIDE,
    MOST_WIDE,
    N_MEMBERS,
    N_MEMBERS_WIDE,
)
from boostsample.experiments.data.datasets import load_dataset
from boostsample.experiments.fitting.table_models import predictions, read_training_table
from tests.experiments.conftest import CommandLine
from tests.label_containers import CONTAINERS, VALUES


@pytest.fixture(scope="module")
def table() -> Any:
    """Flowers with a column of categories, one of whole numbers, and missing values."""
    flowers = load_iris(as_frame=True)
    frame = flowers.frame.drop(columns="target").astype("float32").astype("float64")
    rng = np.random.default_rng(0)
    frame["soil"] = rng.choice(["clay", "sand", "7"], len(frame))
    frame["plot"] = np.arange(len(frame))
    frame["species"] = flowers.target_names[flowers.target]
    frame.loc[3, "soil"] = None
    frame.loc[5, "petal width (cm)"] = np.nan
    return frame


@pytest.fixture
def files(table: Any, tmp_path: Path) -> Path:
    table.to_csv("flowers.csv", index=False)
    return tmp_path


FIT = (
    *("fit", "flowers.csv", "--target", "species", "--drop", "plot", "--rounds", "5", "--quiet"),
    "--no-check",
)


def test_a_model_from_a_file_to_predictions(files: Path, table: Any, cli: CommandLine) -> None:
    out = cli(*FIT, "--check", "-o", "m.bsm", "--seed", "3").splitlines()
    assert out[0].startswith("flowers.csv: 150 rows; columns: 4 of numbers (sepal length (cm), ")
    assert out[0].endswith("1 of categories (soil); missing values: 2")
    assert out[1] == "target species: 3 classes: setosa 50, versicolor 50, virginica 50"
    assert out[2].startswith("UniformNaive(n_features=7, scheme='distinct'): 5 rounds, ")
    assert out[-2].startswith("model: m.bsm, ")
    assert out[-1].startswith("held out: 150 of 150 rows, predicted by 5 fits without them: error ")
    X = table.drop(columns=["species", "plot"])
    model_in_python = BoostSampleClassifier(n_rounds=5, random_state=3).fit(X, table["species"])

    table[::-1].to_parquet("more.parquet")
    printed = cli("predict m.bsm more.parquet --proba --target species")
    predicted = pandas.read_csv(io.StringIO(printed))[::-1]
    assert predicted.columns.tolist() == [
        "prediction",
        *(f"probability of {name}" for name in ("setosa", "versicolor", "virginica")),
    ]
    assert predicted["prediction"].tolist() == model_in_python.predict(X).tolist()
    np.testing.assert_allclose(predicted.iloc[:, 1:], model_in_python.predict_proba(X), rtol=1e-14)
    wrong = 100 * np.mean(model_in_python.predict(X) != table["species"])
    assert cli.err == f"wrong: {wrong:.2f} % of 150 rows\n"
    assert cli("predict", "m.bsm", "flowers.csv", "-o", "p.csv") == (
        "predictions: p.csv, 150 rows\n"
    )
    assert (files / "p.csv").read_text().splitlines()[1:] == model_in_python.predict(X).tolist()


def test_codes_are_categories_if_asked(cli: CommandLine) -> None:
    """The code 1 is not 01, and the target is a code, too."""
    codes = ["01", "1", "2", "1", "01", "2"] * 10
    kinds = ["00", "0", "0", "0", "00", "0"] * 10
    table = pandas.DataFrame({" code": codes, "number": range(60), "kind": kinds})
    table.to_csv("train.csv", index=False)
    asked = ("--category", "code", "--category", "kind")
    args = ("fit", "train.csv", "--target", "kind", "--rounds", "5", "--quiet")
    out = cli(*args, *asked, "-o", "m.bsm")
    assert "columns: 1 of numbers (number), 1 of categories (code)" in out
    assert "target kind: 2 classes: 0 40, 00 20" in out
    model = BoostSampleClassifier.load("m.bsm")
    assert model.columns_.names == ("code=01", "code=1", "code=2", "number")

    other = table.rename(columns={" code": "code"}).assign(code=1)
    other.to_parquet("new.parquet")
    printed = cli("predict", "m.bsm", "new.parquet", "--target", "kind")
    assert printed.split() == ["prediction", *["0"] * 60]
    assert cli.err == f"wrong: {100 / 3:.2f} % of 60 rows\n"
    message = cli.refused(*args, "--dry-run", "--category", "cod")
    assert "has no column 'cod' (did you mean 'code'?)" in message


def test_codes_some_of_which_are_missing_are_the_same_text(cli: CommandLine) -> None:
    """pandas reads whole numbers as 1.0 if there are missing ones."""
    code, kind = [1, 2, 3] * 20, ["a", "b", "b"] * 20
    table = pandas.DataFrame({"code": code, "number": 0.5, "kind": kind})
    table.assign(code=table["code"].where(table["code"] < 3)).to_parquet("some.parquet")
    options = ("--target", "kind", "--category", "code", "--rounds", "5", "--quiet", "-o", "m.bsm")
    cli("fit", "some.parquet", *options)
    assert BoostSampleClassifier.load("m.bsm").columns_.names == ("code=1", "code=2", "number")
    table[table["code"] < 3].to_csv("new.csv", index=False)
    cli("predict", "m.bsm", "new.csv", "--target", "kind")
    assert cli.err == "wrong: 0.00 % of 40 rows\n"


def test_a_dry_run_writes_nothing(files: Path, cli: CommandLine) -> None:
    out = cli(*FIT, "-o", "m.bsm", "--dry-run", "--learner", "tree:n_leaves=3")
    assert "settings: BoostSampleClassifier(learner='tree:n_leaves=3', n_rounds=5" in out
    steps = ("--learning-rate", "0.3", "--smoothing", "0.01")
    out = cli(*FIT, "--dry-run", *steps)
    assert "settings: BoostSampleClassifier(learning_rate=0.3, n_rounds=5, " in out
    assert "smoothing=0.01" in out
    assert out.endswith("dry run: one round on 150 rows; nothing is written\n")
    assert not (files / "m.bsm").exists()
    for options, code, message in [
        (("--learning-rate", "0"), 2, "learning_rate must be above 0 and at most 1, got 0"),
        (("--init-model", "flowers.csv"), 1, "'flowers.csv' is not a model file"),
        (("--checkpoint", "no/c.checkpoint"), 1, "'no/c.checkpoint' cannot be written"),
        (("--checkpoint", "m.bsm", "-o", "m.bsm"), 2, "model and checkpoint must be two files"),
    ]:
        assert message in cli.refused(*FIT, "--dry-run", *options, code=code, silent=False)
    assert sorted(file.name for file in files.iterdir()) == ["flowers.csv"]


def test_training_goes_on_from_a_model_and_from_a_checkpoint(files: Path, cli: CommandLine) -> None:
    cli(*FIT, "-o", "first.bsm")
    cli(*FIT, "-o", "second.bsm", "--init-model", "first.bsm")
    assert len(BoostSampleClassifier.load("second.bsm").model_) == 10
    cli(*FIT, "-o", "third.bsm", "--checkpoint", "run.checkpoint")
    assert (files / "run.checkpoint").is_file()
    cli(*FIT, "-o", "fourth.bsm", "--checkpoint", "run.checkpoint")
    models = [BoostSampleClassifier.load(f"{name}.bsm").model_ for name in ("third", "fourth")]
    np.testing.assert_array_equal(models[0].threshold, models[1].threshold)


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        (("fit", "flowers.csv", "--target", "specie", "-o", "m.bsm"), 2, "did you mean 'species'"),
        (
            ("fit", "flowers.csv", "--target", "soil", "-o", "m.bsm"),
            1,
            "but contains NaN in data row 4",
        ),
        ((*FIT[:3], "sepal length (cm)", "-o", "m.bsm"), 1, "cut a measured quantity into classes"),
        ((*FIT, "-o", "m.npz"), 2, "must end in .bsm"),
        (FIT, 2, "add -o model.bsm, or --dry-run"),
        (("predict", "flowers.csv", "flowers.csv"), 1, "is not a model file"),
    ],
)
def test_what_cannot_be_done(
    files: Path, cli: CommandLine, args: tuple[str, ...], code: int, message: str
) -> None:
    assert re.search(message, cli.refused(*args, code=code))
    assert [file.name for file in files.iterdir()] == ["flowers.csv"]


def test_a_table_without_a_column_of_the_model(files: Path, table: Any, cli: CommandLine) -> None:
    cli(*FIT, "-o", "m.bsm")
    table.drop(columns="soil").to_csv("less.csv", index=False)
    message = cli.refused("predict", "m.bsm", "less.csv", code=1)
    assert "5 columns that the model was fitted on, but 1 are missing: 'soil'; add" in message
    table.assign(soil=None).to_csv("empty.csv", index=False)
    assert cli("predict", "m.bsm", "empty.csv").startswith("prediction\n")


def test_one_word_among_the_numbers_of_the_classes_is_named(
    files: Path, table: Any, cli: CommandLine
) -> None:
    """It makes the whole column text, so that no label is a class."""
    numbers = table.assign(species=(table["species"] == "setosa").astype(int))
    numbers.to_csv("flowers.csv", index=False)
    cli(*FIT, "-o", "m.bsm")
    table.assign(species=["0", "1", "rose", *numbers["species"][3:]]).to_csv("w.csv", index=False)
    for command in ("predict", "evaluate"):
        message = cli.refused(command, "m.bsm", "w.csv", "--target", "species", code=1)
        assert "classes of the model (0, 1), got text instead of numbers, such as 'rose'" in message


def test_predictions_do_not_replace_their_table(files: Path, cli: CommandLine) -> None:
    cli(*FIT, "-o", "m.bsm")
    before = (files / "flowers.csv").read_bytes()
    args = ("predict", "m.bsm", "flowers.csv", "-o", "./flowers.csv", "--overwrite")
    message = cli.refused(*args)
    assert "predictions must not replace their table, got './flowers.csv' for both" in message
    assert (files / "flowers.csv").read_bytes() == before


def test_early_stopping_and_calibration(files: Path, cli: CommandLine) -> None:
    args = ("--early-stopping", "--eval-metric", "error", "--rounds", "12")
    out = cli(*FIT, *args, "-o", "m.bsm")
    (held,) = re.findall(r"wrong on the rows that chose the number of rounds: (\S+) %", out)
    assert 0 <= float(held) < 30
    model = BoostSampleClassifier.load("m.bsm")
    assert len(model.model_) <= 12
    assert (model.eval_metric, model.calibration) == ("error", "auto")
    wrong = cli.refused(*FIT, *args[:2], "f1", "-o", "n.bsm", silent=False)
    assert "unknown eval_metric 'f1'; known: log_loss, error," in wrong
    wrong = cli.refused(*FIT, *args[1:], "-o", "n.bsm", silent=False)
    assert "--rounds sets it; leave out --rounds, or add --early-stopping" in wrong


def test_a_metric_chooses_the_rounds_of_a_committee(files: Path, cli: CommandLine) -> None:
    cli(*FIT, "--rounds", "auto", "--eval-metric", "error", "-o", "m.bsm")
    model = BoostSampleClassifier.load("m.bsm")
    assert (model.eval_metric, model.n_rounds, model.early_stopping) == ("error", "auto", False)


def test_numbers_or_auto(files: Path, cli: CommandLine) -> None:
    for text, value in (("auto", "auto"), ("0.5", 0.5), ("1e0", 1.0)):
        cli(*FIT, "--rounds", "3", "--smoothing", text, "-o", f"{text}.bsm")
        assert BoostSampleClassifier.load(f"{text}.bsm").smoothing == value
    rules = {"rounds": "a whole number", "smoothing": "a number"}
    for option, rule in rules.items():
        wrong = cli.refused(*FIT, f"--{option}", "ten", "-o", "n.bsm")
        assert f"--{option} must be {rule} or auto, got 'ten'" in wrong


def test_a_model_with_a_code(files: Path, cli: CommandLine) -> None:
    cli(*FIT, "-o", "m.bsm", "--code", "sparse:5", "--decoding", "hamming")
    model = BoostSampleClassifier.load("m.bsm")
    assert model.code_ is not None
    assert (model.code_.n_bits, model.code_.decoding) == (5, "hamming")
    assert len(cli("predict m.bsm flowers.csv --proba").splitlines()) == 151
    assert "error" in cli("evaluate m.bsm flowers.csv --target species")
    assert "petal" in cli("explain m.bsm --data flowers.csv --target species")
    assert "unknown code 'ecoc'" in cli.refused(*FIT, "-o", "n.bsm", "--code", "ecoc", silent=False)


def test_a_limit_of_looks_is_named(files: Path, cli: CommandLine) -> None:
    out = cli(*FIT, "--max-looks", "1", "--max-seconds", "1000", "-o", "m.bsm")
    assert re.search(r": 1 rounds, .* looks; training ended early: max_looks=1 is reached\n", out)
    assert BoostSampleClassifier.load("m.bsm").max_looks == 1
    wrong = cli.refused(*FIT, "--max-looks", "0", "-o", "n.bsm", silent=False)
    assert "max_looks must be an integer at least 1, got 0; None is no limit" in wrong


def test_a_model_of_several_labels_predicts_no_table(
    files: Path, table: Any, cli: CommandLine
) -> None:
    X = table.drop(columns=["species", "plot", "soil"])
    several = np.stack([table["species"] == name for name in ("setosa", "virginica")], axis=1)
    BoostSampleClassifier(n_rounds=5, random_state=0).fit(X, several.astype(int)).save(
        "several.bsm"
    )
    message = cli.refused("predict", "several.bsm", "flowers.csv", code=1)
    assert "predicts several labels of each row; predict in Python" in message
    cli(*FIT, "-o", "m.bsm")
    message = cli.refused(
        "predict", "m.bsm", "flowers.csv", "--target", "plot", code=1, silent=False
    )
    assert "label 'plot' must hold classes of the model ('setosa', 'versicolor', " in message


def test_explain_says_what_a_model_reads(files: Path, cli: CommandLine) -> None:
    cli(*FIT, "-o", "m.bsm")
    out = cli("explain", "m.bsm", "-n", "2", "-o", "m.svg")
    assert "The first 2 features:" in out
    model = BoostSampleClassifier.load("m.bsm")
    best = model.feature_names_in_[model.feature_importances_.argmax()]
    first = out.split("The first 2 features:")[1].splitlines()[1]
    assert str(best) in first
    assert f"{100 * model.feature_importances_.max():.1f} %" in first
    assert (files / "m.svg").read_text().startswith("<?xml")
    assert "must be new" in cli.refused("explain", "m.bsm", "-o", "m.svg")
    assert "-n must be an integer at least 1" in cli.refused(
        "explain", "m.bsm", "-n", "0", silent=False
    )


def test_the_help_names_the_defaults_of_the_classifier(cli: CommandLine) -> None:
    text = " ".join(cli("fit", "--help").split())
    default = BoostSampleClassifier()
    assert f"a fifth of the rows each, which choose up to {MOST_ROUNDS}; " in text
    assert f"of ten without a tenth above {MOST_WIDE:,} features, or above {MOST_NARROW} " in text
    assert f"with up to {MOST_ROWS_WIDE:,} rows]" in text
    assert (N_MEMBERS, N_MEMBERS_WIDE) == (5, 10)
    assert f"need more rounds. [default: {default.learning_rate:g}]" in text
    assert f"0.01 in MultiBoost. [default: {default.smoothing}: 1 for votes with steps" in text


MODEL = BoostSampleClassifier("full", "stump", n_rounds=20, random_state=0)
COPIES = 6


def write(name: str, y: Any, values: list[Any]) -> None:
    """A file with a column for each class, and the target."""
    X = np.tile(np.eye(len(values)), (COPIES, 1))
    frame = pandas.DataFrame(X, columns=[f"x{at}" for at in range(len(values))]).assign(y=y)
    if name.endswith(".csv"):
        frame.to_csv(name, index=False)
    else:
        frame.to_parquet(name)


def fitted(name: str) -> BoostSampleClassifier:
    table = read_training_table(name, "y")
    MODEL.fit(table.X, table.y).save("m.bsm", overwrite=True)
    return BoostSampleClassifier.load("m.bsm")


@pytest.mark.parametrize("container", ["array", "pandas Arrow", "pandas categories"])
@pytest.mark.parametrize("values", VALUES.values(), ids=VALUES)
def test_values_come_back_from_files(container: str, values: list[Any]) -> None:
    y = CONTAINERS[container](values * COPIES)
    for ending in ("csv", "parquet"):
        write(f"t.{ending}", y, values)
    for ending in ("csv", "parquet"):
        model = fitted(f"t.{ending}")
        assert model.classes_.tolist() == values
        assert [*map(type, model.classes_.tolist())] == [*map(type, values)]
        for other in ("csv", "parquet"):
            frame_of_predictions, error = predictions(model, f"t.{other}", "y", chances=True)
            assert error == 0.0
            assert frame_of_predictions["prediction"].tolist() == values * COPIES
            assert frame_of_predictions.columns[1:].tolist() == [
                f"probability of {class_name}" for class_name in values
            ]


def test_a_target_of_other_values_is_refused_or_read_as_text(cli: CommandLine) -> None:
    values = [datetime.date(2026, 1, 1), datetime.date(2026, 1, 2)]
    write("t.parquet", values * COPIES, values)
    fit = ["fit", "t.parquet", "--target", "y", "--rounds", "20", "--quiet"]
    for more in (["-o", "m.bsm"], ["--dry-run"]):
        line = cli.refused(*fit, *more, code=1)
        assert "t.parquet: the label 'y' must hold whole numbers or text, got " in line
        assert " in data row 1 " in line
        assert line.endswith("in boostsample fit by --category")
    with pytest.raises(DataError, match="the label 'y' must hold whole numbers or text, got"):
        load_dataset("t.parquet:label=y")
    cli(*fit, "--category", "y", "-o", "m.bsm")
    out = cli("predict m.bsm t.parquet --target y")
    assert cli.err == "wrong: 0.00 % of 12 rows\n"
    assert len(set(out.splitlines()[1:])) == 2


def test_foreign_targets_are_named() -> None:
    write("n.csv", [0, 1] * COPIES, [0, 1])
    write("w.parquet", ["0", "1"] * COPIES, [0, 1])
    write("o.csv", [2, 3] * COPIES, [0, 1])
    model = fitted("n.csv")
    text = "text instead of numbers, such as '0'"
    for name, labels in (("w.parquet", text), ("o.csv", "2 and no class of it")):
        with pytest.raises(DataError, match=rf"classes of the model \(0, 1\), got {labels}"):
            predictions(model, name, "y", chances=False)
