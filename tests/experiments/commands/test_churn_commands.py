"""`fit`, `predict`, `evaluate` and `explain` on a table of dates, ids, categories and noise."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
from sklearn.calibration import calibration_curve
from sklearn.metrics import balanced_accuracy_score, brier_score_loss, log_loss, roc_auc_score

from boostsample import BoostSampleClassifier
from boostsample.classifier.prediction.held_importances import held_importances
from boostsample.experiments.commands.cli import main
from boostsample.experiments.fitting import table_models
from boostsample.experiments.fitting.table_models import Evaluation, TrainingTable, held_out_score
from boostsample.experiments.plots.explained import reliability_figure
from tests.churn import NOISE, USEFUL, churn_table
from tests.experiments.conftest import CommandLine

DROPPED = ("customer_id", "country")


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("churn")
    churn_table(500, 0).to_csv(folder / "train.csv", index=False)
    churn_table(400, 1).to_csv(folder / "test.csv", index=False)
    return folder


@pytest.fixture(scope="module")
def fitted(files: Path) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(files)
        drop = [part for name in DROPPED for part in ("--drop", name)]
        args = ["fit", "train.csv", "--target", "left", *drop, "--rounds", "60", "--no-check"]
        args += ["--strategy", "full", "--learner", "tree:n_leaves=8", "--learning-rate", "1"]
        assert main([*args, "--quiet", "-o", "m.bsm"]) == 0
    return BoostSampleClassifier.load(files / "m.bsm")


@pytest.fixture(autouse=True)
def _in_the_folder(files: Path, fitted: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(files)


def test_dates_ids_and_constant_columns_are_named(cli: CommandLine) -> None:
    out = cli("fit", "train.csv", "--target", "left", "--dry-run", "--quiet").splitlines()
    assert "8 of numbers (months, calls, noise_1, " in out[0]
    assert "1 of dates (signed_up), 3 of categories (customer_id, plan, country); " in out[0]
    assert out[2] == "the same value in all rows: country; --drop leaves such columns out"
    assert out[3] == (
        "another value in each row, as ids have: customer_id; --drop leaves such columns out"
    )


@pytest.mark.parametrize(
    ("name", "values", "is_id"),
    [
        ("row", range(100, 130), True),
        ("account ID", np.arange(30) ** 4, True),
        ("paid", np.arange(30) ** 4, False),
        ("code", [f"a{at}" for at in range(30)], True),
        ("code", [f"a{at // 2}" for at in range(30)], False),
        ("id", [None, *range(29)], False),
    ],
)
def test_what_looks_like_an_id(name: str, values: Any, is_id: bool) -> None:
    frame = pandas.DataFrame({name: values})
    lines = TrainingTable(Path("t.csv"), "y", frame, np.arange(len(frame)) % 2).lines()
    assert any(line.startswith("another value in each row") for line in lines) == is_id


@pytest.mark.parametrize(("most", "n_fits"), [(1000, 5), (99, 1)])
def test_no_row_is_predicted_by_a_fit_that_has_seen_it(
    monkeypatch: pytest.MonkeyPatch, most: int, n_fits: int
) -> None:
    """And each class but that of a single row has its share."""
    monkeypatch.setattr(table_models, "_CROSS_CHECKED", most)
    seen: list[tuple[list[int], list[int]]] = []

    class Spy(BoostSampleClassifier):
        def fit(self, X: Any, y: Any, **settings: Any) -> Any:  # type: ignore[override]  # fewer parameters
            self.rows = X["row"].tolist()
            return super().fit(X, y, **settings)

        def predict(self, X: Any) -> Any:
            seen.append((self.rows, X["row"].tolist()))
            return super().predict(X)

    y = np.array(["a"] * 60 + ["b"] * 30 + ["c"] * 9 + ["d"])
    X = pandas.DataFrame({"row": range(100)})
    model = Spy(n_rounds=1, learner="stump", random_state=0)
    model.classes_ = np.unique(y)
    text = held_out_score(model, TrainingTable(Path("t.csv"), "y", X, y))
    assert len(seen) == n_fits
    for others, held in seen:
        assert sorted(others + held) == list(range(100))
        counts = Counter(y[held].tolist())
        assert (counts["a"], counts["b"], counts["d"]) == (12, 6, 0)
        assert counts["c"] in (1, 2)
    n = sum(len(held) for _, held in seen)
    assert text.startswith(f"held out: {n} of 100 rows, predicted by ")
    assert n == (99 if n_fits == 5 else len(seen[0][1]))


def test_no_held_out_score_is_said_and_why(cli: CommandLine) -> None:
    drop = [part for name in DROPPED for part in ("--drop", name)]
    args = ["fit", "train.csv", "--target", "left", *drop, "--rounds", "2"]
    cli(*args, "-o", "slow.bsm")
    assert re.search("note: the held-out score takes about .* s; --no-check leaves", cli.err)
    args.append("--quiet")
    assert "held out" not in cli(*args, "--no-check", "-o", "short.bsm")
    cli(*args, "-o", "other.bsm", "--init-model", "short.bsm")
    assert "no held-out score: the model of --init-model may have learned from all rows" in cli.err
    Path("few.csv").write_text("x,gap,y\n1,,a\n2,1,b\n3,1,c\n4,1,c\n5,1,c\n6,1,c\n")
    out = cli("fit few.csv --target y --quiet -o few.bsm --rounds 2")
    assert "same value" not in out
    assert out.splitlines()[-1].startswith("model: few.bsm, ")
    assert "no held-out score: at least 5 rows of classes with more rows" in cli.err


def test_columns_are_kept_as_they_are(cli: CommandLine, files: Path) -> None:
    """Also columns that the model reads, texts with zeros in front, and marks of missing values."""
    table = pandas.read_csv(files / "test.csv", dtype=str, keep_default_na=False)
    table["customer_id"] = [f"00{at}" for at in range(len(table))]
    table["country"] = ["NA", "none", "?", "", *["DE"] * (len(table) - 4)]
    table["=note"] = ["", *["=1+1"] * (len(table) - 1)]
    table.to_csv("keep.csv", index=False)
    out = cli("predict", "m.bsm", "keep.csv", "--keep", "customer_id", "--keep", "calls")
    predicted = pandas.read_csv(io.StringIO(out), dtype=str, keep_default_na=False)
    assert predicted.columns.tolist() == ["customer_id", "calls", "prediction"]
    for name in ("customer_id", "calls"):
        assert predicted[name].tolist() == table[name].tolist()
    typed = pandas.read_csv(files / "test.csv").assign(country=table["country"])
    typed.to_parquet("keep.parquet")
    for file in ("keep.csv", "keep.parquet"):
        lines = cli("predict", "m.bsm", file, "--keep", "country").splitlines()[1:]
        assert [line.split(",")[0] for line in lines] == table["country"].tolist()
    plain = cli("predict", "m.bsm", "test.csv").split()[1:]
    assert predicted["prediction"].tolist() == plain
    guarded = cli("predict", "m.bsm", "keep.csv", "--keep", "=note").splitlines()
    assert guarded[:3] == ["'=note,prediction", f",{plain[0]}", f"'=1+1,{plain[1]}"]
    columns = ", ".join(pandas.read_csv(files / "test.csv").columns)
    for names, message in (
        (["calls", "other"], f"has no column 'other'; its columns: {columns}"),
        (["plan", "plan"], "--keep must name each column once, got 'plan', 'plan'"),
    ):
        keep = [part for name in names for part in ("--keep", name)]
        assert message in cli.refused("predict", "m.bsm", "test.csv", *keep)


def test_dates_are_the_same_in_other_files(cli: CommandLine, files: Path) -> None:
    """As dates of Parquet, and in a file with a date that is none."""
    table = pandas.read_csv(files / "test.csv")
    plain = cli("predict", "m.bsm", "test.csv", "--proba")
    table["signed_up"] = pandas.to_datetime(table["signed_up"])
    table.to_parquet("dates.parquet")
    assert cli("predict", "m.bsm", "dates.parquet", "--proba") == plain
    table["signed_up"] = table["signed_up"].dt.date
    table.to_parquet("days.parquet")
    assert cli("predict", "m.bsm", "days.parquet", "--proba") == plain
    table["signed_up"] = table["signed_up"].astype(str).where(table.index > 0, "2024-02-30")
    table.to_csv("bad.csv", index=False)
    message = cli.refused("predict", "m.bsm", "bad.csv", code=1)
    dtype = pandas.Series(["2024-02-30"]).dtype
    assert f"'signed_up' ({dtype}) must hold dates as in training, got '2024-02-30'" in message


def test_the_evaluation_has_the_metrics_of_scikit_learn(
    cli: CommandLine, files: Path, fitted: Any
) -> None:
    out = cli("evaluate", "m.bsm", "test.csv", "--target", "left", "--format", "csv")
    cells = {tuple(row[:3]): row[3] for row in csv.reader(io.StringIO(out))}
    test = pandas.read_csv(files / "test.csv", parse_dates=["signed_up"])
    X, y = test.drop(columns=[*DROPPED, "left"]), test["left"]
    chances, predicted = fitted.predict_proba(X), fitted.predict(X)
    expected = {
        "error %": 100 * np.mean(predicted != y),
        "balanced error %": 100 - 100 * balanced_accuracy_score(y, predicted),
        "log loss": log_loss(y, chances),
        "AUC": roc_auc_score(y, chances[:, 1]),
        "Brier score": brier_score_loss(y == "yes", chances[:, 1]),
    }
    for name, value in expected.items():
        assert float(cells["metric", name, "value"]) == pytest.approx(value, rel=1e-12)
    for truth in ("no", "yes"):
        for other in ("no", "yes"):
            count = int(np.sum((y == truth) & (predicted == other)))
            assert cells["confusion", truth, other] == str(count)
    shares, means = calibration_curve(y == "yes", chances[:, 1], n_bins=10)
    bins = [f"{at / 10:.1f}" for at in range(10) if cells["calibration", f"{at / 10:.1f}", "mean"]]
    for name, values in (("mean", means), ("true", shares)):
        printed = [float(cells["calibration", cell, name]) for cell in bins]
        np.testing.assert_allclose(printed, values)
    assert sum(int(cells["calibration", f"{at / 10:.1f}", "rows"]) for at in range(10)) == 400


def test_metrics_of_more_classes() -> None:
    rng = np.random.default_rng(0)
    chances = rng.dirichlet(np.ones(4), 60)
    truth, predicted = rng.integers(0, 3, 60), chances.argmax(axis=1)
    judged = Evaluation("", ("a", "b", "c", "d"), truth, predicted, chances)
    areas = [roc_auc_score(truth == k, chances[:, k]) for k in range(3)]
    recalls = [np.mean(predicted[truth == k] == k) for k in range(3)]
    squares = np.sum((chances - np.eye(4)[truth]) ** 2, axis=1)
    assert judged.metrics == pytest.approx(
        {
            "error %": 100 * np.mean(truth != predicted),
            "balanced error %": 100 - 100 * np.mean(recalls),
            "log loss": log_loss(truth, chances, labels=range(4)),
            "AUC": np.mean(areas),
            "Brier score": np.mean(squares),
        }
    )
    counts, means, shares = judged.calibration.T
    assert counts.sum() == 60
    assert np.nansum(counts * means) == pytest.approx(chances.max(axis=1).sum())
    assert np.nansum(counts * shares) == np.sum(truth == predicted)
    alone = Evaluation("", ("a", "b"), np.zeros(3, int), np.zeros(3, int), np.full((3, 2), 0.5))
    assert np.isnan(alone.metrics["AUC"])
    assert alone.tables()[0].rows[3] == ("AUC", "-")


def test_the_evaluation_in_words_and_as_a_picture(cli: CommandLine, files: Path) -> None:
    args = ("evaluate", "m.bsm", "test.csv", "--target", "left")
    out = cli(*args, "--picture", "c.svg")
    assert out.startswith("test.csv: 400 rows\nmetric ")
    assert "true classes below, predicted ones to the right\ntrue " in out
    assert "calibration: the probability of the class yes, and how often it is true\n" in out
    assert out.endswith("picture: c.svg\n")
    assert "Mean probability of the class yes and how often it is true: 0.0" in (
        (files / "c.svg").read_text()
    )
    assert cli(*args, "-o", "e.md") == "tables: e.md\n"
    assert "\n| error % | " in (files / "e.md").read_text()
    assert "must be new" in cli.refused(*args, "-o", "e.md")
    assert "must end in one of .txt, .md, .csv, got" in cli.refused(*args, "-o", "e.tex")
    assert cli.refused(*args, "--format", "latex").endswith("; known: text, markdown, csv")
    table = pandas.read_csv(files / "test.csv")
    table.loc[[4, 7], "left"] = "perhaps"
    table.to_csv("other.csv", index=False)
    message = cli.refused("evaluate", "m.bsm", "other.csv", "--target", "left", code=1)
    assert "2 of 400 rows have others, the first is 'perhaps' in data row 5; leave these" in message


def test_bins_of_few_rows_have_errors() -> None:
    """Also those whose rows are all of a class."""
    figure = reliability_figure(
        np.array([[4, 0.2, 1], [0, np.nan, np.nan], [25, 0.5, 0.4]]), "", "yes"
    )
    ((_, _, (lines,)),) = figure.axes[0].containers
    spans = np.array(lines.get_segments())[:, :, 1]
    np.testing.assert_allclose(spans, [[0.8, 1.2], [0.3, 0.5]])


def test_noise_is_worth_nothing_on_held_out_rows(cli: CommandLine, files: Path) -> None:
    """In training it is worth more than some of the useful columns."""
    out = cli("explain", "m.bsm", "--data", "test.csv", "--target", "left", "-o", "h.svg")
    assert out.endswith("picture: h.svg\n")
    assert "On held-out rows: " in (files / "h.svg").read_text()
    out = out.removesuffix("picture: h.svg\n")
    title, _, _, *rows = out[out.index("importance of columns") :].strip().splitlines()
    assert title.startswith("importance of columns on 400 held-out rows: rise of their log loss, ")
    cells = [re.fullmatch(r"(\S+) +(\S+) \((\S+)\) +(\S+)", row) for row in rows]
    held = {cell[1]: float(cell[2]) for cell in cells if cell}
    trained = {match[1]: float(match[4]) for match in cells if match}
    assert set(list(held)[:4]) == set(USEFUL)
    assert set(held) == {*USEFUL, *NOISE}
    assert max(trained[name] for name in NOISE) > trained["plan"]
    assert sum(trained.values()) == pytest.approx(100, abs=0.5)
    alone = cli("explain", "m.bsm", "-n", "3")
    assert "columns by their share in training; --data gives their importance on other" in alone
    message = cli.refused("explain", "m.bsm", "--data", "test.csv")
    assert "test.csv needs the column of the classes; add --target COLUMN" in message


def test_held_importances_are_rises_of_the_log_loss(files: Path, fitted: Any) -> None:
    """Of all rounds, with the whole column in another order."""
    test = pandas.read_csv(files / "test.csv", parse_dates=["signed_up"])
    X, y = test.drop(columns=[*DROPPED, "left"])[:100], test["left"][:100]
    codes = (y == "yes").to_numpy().astype(np.int64)

    def loss(table: Any) -> float:
        return -float(fitted.predict_log_proba(table)[np.arange(100), codes].mean())

    held = held_importances(fitted, X, codes, n_repeats=2, seed=5)
    assert held.names == tuple(X.columns)
    assert held.log_loss == pytest.approx(loss(X))
    rng = np.random.default_rng(5)
    for column, rises in zip(X.columns, held.rises, strict=True):
        for rise in rises:
            order = rng.permutation(100)
            shuffled = X.assign(**{column: X[column].to_numpy()[order]})
            assert rise == pytest.approx(loss(shuffled) - loss(X), abs=1e-12)
