"""The commands on svmlight and .npz files: the results are those of a dense table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
from scipy import sparse
from sklearn.datasets import dump_svmlight_file

from boostsample import BoostSampleClassifier
from boostsample.experiments.results.read_folder import read_results
from boostsample.families import Columns
from boostsample.formats.h5ad import read_h5ad
from boostsample.formats.plink import read_plink
from tests.experiments.conftest import CommandLine

FEW = ("--rounds", "6", "--quiet", "--strategy", "laminating")
NAMES = [f"g{column}" for column in range(9)]


@pytest.fixture
def table() -> tuple[Any, Any]:
    """Counts (120, 9) and two classes; the last column is 0 in the last 40 rows."""
    rng = np.random.default_rng(0)
    X = (rng.integers(1, 5, (120, 9)) * (rng.random((120, 9)) < 0.4)).astype(float)
    X[80:, 8] = 0
    return X, np.where(X[:, 1] + X[:, 4] - X[:, 5] + rng.normal(size=120) > 1, 1, -1)


@pytest.fixture(autouse=True)
def files(table: tuple[Any, Any]) -> None:
    X, y = table
    for name, rows in (("train", slice(80)), ("test", slice(80, 120))):
        dump_svmlight_file(sparse.csr_array(X[rows]), y[rows], f"{name}.svmlight")
        saved = sparse.csc_matrix(X[rows])
        sparse.save_npz(f"{name}.npz", saved)
        np.save(f"{name}.npy", y[rows])
        parts = {part: getattr(saved, part) for part in ("format", "shape", "data")}
        parts |= {"indices": saved.indices, "indptr": saved.indptr, "columns": NAMES}
        np.savez(f"{name}_named.npz", **parts, y=y[rows])
        np.savez(f"{name}_dense.npz", X=X[rows], y=y[rows], columns=NAMES)
        frame = pandas.DataFrame(X[rows], columns=NAMES)
        frame.assign(y=y[rows]).to_csv(f"{name}.csv", index=False)


FILES = Path(__file__).parents[2] / "formats" / "files"
KINDS = {
    "svmlight": ("{}.svmlight", ""),
    "npz": ("{}.npz", "{}.npy"),
    "named": ("{}_named.npz", ""),
    "dense": ("{}_dense.npz", ""),
    "csv": ("{}.csv", "y"),
}


def arguments(kind: str, part: str) -> list[str]:
    """The file of a part, and its target."""
    file, target = (text.format(part) for text in KINDS[kind])
    return [file, *(["--target", target] if target else [])]


def test_models_are_those_of_a_dense_table(cli: CommandLine, table: tuple[Any, Any]) -> None:
    X, y = table
    printed: dict[str, list[str]] = {}
    for kind in KINDS:
        fitted = cli("fit", *arguments(kind, "train"), *FEW, "-o", f"{kind}.bsm").splitlines()
        name, _ = KINDS[kind]
        chances = cli("predict", f"{kind}.bsm", name.format("test"), "--proba")
        scores = cli("evaluate", f"{kind}.bsm", *arguments(kind, "test"))
        explained = cli("explain", f"{kind}.bsm", "--data", *arguments(kind, "test"))
        as_columns = explained.replace("column ", "g")
        assert ("column 4" in explained) == (kind in ("svmlight", "npz"))
        printed[kind] = [*fitted[2:3], *fitted[4:], chances, scores.partition("\n")[2], as_columns]
    for kind, texts in printed.items():
        words = [text.replace(" ", "").replace("-", "") for text in texts]  # widths of tables
        assert words == [text.replace(" ", "").replace("-", "") for text in printed["csv"]], kind
    model = BoostSampleClassifier.load("svmlight.bsm")
    assert model.predict(sparse.csr_array(X[80:])).tolist() == model.predict(X[80:]).tolist()
    assert printed["csv"][2].splitlines()[0] == "prediction,probability of -1,probability of 1"
    error = 100 * np.mean(model.predict(X[80:]) != y[80:])
    assert f"error % {error:.2f}" in " ".join(printed["csv"][3].split())


def test_names_do_not_choose_the_columns_of_a_very_wide_matrix(cli: CommandLine) -> None:
    rng = np.random.default_rng(1)
    y = np.repeat([0, 1], 40)
    X = sparse.random_array((80, 3200), density=0.06, rng=rng, format="lil")
    X[:, 7] = y[:, None] * rng.integers(1, 4, (80, 1))
    X = X.tocsc()
    enough = np.flatnonzero(np.diff(X.indptr) >= 5)
    assert 7 in enough
    assert 0 < enough.size < 3000
    parts: dict[str, Any] = {
        part: getattr(X, part) for part in ("format", "shape", "data", "indices", "indptr")
    }
    names = [f"g{column}" for column in range(3200)]
    models = {}
    for kind, arrays in (("plain", parts), ("named", dict(parts, columns=names))):
        np.savez(f"{kind}.npz", **arrays, y=y)
        cli("fit", f"{kind}.npz", "--rounds", "2", "--no-check", "--quiet", "-o", f"{kind}.bsm")
        models[kind] = BoostSampleClassifier.load(f"{kind}.bsm")
        (family,) = models[kind].model_.families
        assert isinstance(family, Columns)
        assert [*family.columns] == enough.tolist()
    scores = [model.decision_function(X).tolist() for model in models.values()]
    assert scores[0] == scores[1]
    assert cli("predict", "plain.bsm", "plain.npz") == cli("predict", "named.bsm", "named.npz")


def test_what_a_matrix_holds_is_said(cli: CommandLine) -> None:
    out = cli("fit", "train.svmlight", *FEW, "-o", "m.bsm", "--dry-run").splitlines()
    assert out[0] == "train.svmlight: 80 x 9 values, of which 298 are not 0 (41.4 %)"
    assert out[1].startswith("labels: 2 classes: -1 ")
    assert out[-1] == "dry run: one round on 80 rows; nothing is written"


def test_comparisons_are_those_of_a_dense_table(cli: CommandLine) -> None:
    few = "--rounds 3 --repeats 2 --strategies uniform-naive,laminating --quiet --results"
    rows = {}
    for kind, data in (
        ("svmlight", "train.svmlight"),
        ("npz", "train.npz:label=train.npy"),
        ("named", "train_named.npz"),
        ("csv", "train.csv:label=y"),
    ):
        cli("compare", "--data", f"{data}:name=x", *few.split(), kind)
        rows[kind] = [{**row, "seconds": 0} for row in read_results(kind).rows]
    assert rows["svmlight"] == rows["npz"] == rows["named"] == rows["csv"]


@pytest.mark.parametrize(
    ("code", "command", "says"),
    [
        (2, "fit train.csv -o m.bsm", "train.csv needs the column of the classes; add --target"),
        (
            2,
            "fit train.svmlight --target y -o m.bsm",
            "holds its labels, got --target 'y'; leave out",
        ),
        (
            2,
            "fit train.svmlight --drop 3 -o m.bsm",
            "--drop selects columns of tables by name, but",
        ),
        (
            1,
            "fit train.npz -o m.bsm",
            "train.npz must hold labels, the array y; add it by numpy.sav",
        ),
        (2, "fit train.npz:label=a.npy --target b.npy -o m.bsm", "label must be given once"),
        (2, "fit train.svmlight:lable=x -o m.bsm", "unknown option of svmlight files 'lable'"),
        (1, "fit no.svmlight -o m.bsm", "the file 'no.svmlight' does not exist"),
        (
            1,
            "fit train.svmlight:multilabel=true -o m.bsm",
            "must have one label in each row, got se",
        ),
        (
            1,
            "evaluate svm.bsm wide.svm",
            "must have indices below 9, the number of columns, got 11",
        ),
        (
            1,
            "predict svm.bsm wide.npz",
            "must have the 9 columns that the model was fitted on, got 12",
        ),
        (1, "predict svm.bsm test.csv", "the model was fitted without names of columns"),
        (
            1,
            "predict named.bsm test.svmlight",
            "must name its columns, since the model was fitted on",
        ),
        (
            1,
            "predict named.bsm other.npz",
            "the 9 columns that the model was fitted on, but 1 are mis",
        ),
        (
            2,
            "predict svm.bsm test.svmlight --keep y",
            "--keep copies columns of tables, but test.svm",
        ),
        (1, "evaluate svm.bsm test.npz", "test.npz must hold labels, the array y"),
    ],
)
def test_refusals(cli: CommandLine, code: int, command: str, says: str) -> None:
    X = np.zeros((4, 9))
    np.savez("other.npz", X=X, columns=[*NAMES[:8], "h"])
    sparse.save_npz("wide.npz", sparse.csr_array((4, 12)))
    Path("wide.svm").write_text("1 11:1\n", "utf-8")
    for name in {"svm", "named"} & {*command.replace(".", " ").split()}:
        file = {"svm": "train.svmlight", "named": "train_named.npz"}[name]
        cli("fit", file, *FEW, "--no-check", "-o", f"{name}.bsm")
    assert says in cli.refused(*command.split(), code=code)


def test_columns_of_archives_are_found_by_name(cli: CommandLine, table: tuple[Any, Any]) -> None:
    X, _ = table
    for kind in ("named", "dense"):
        cli("fit", *arguments(kind, "train"), *FEW, "--no-check", "-o", f"{kind}.bsm")
        want = cli("predict", f"{kind}.bsm", f"test_{kind}.npz", "--proba")
        np.savez("turned.npz", X=X[80:, ::-1], columns=NAMES[::-1])
        assert cli("predict", f"{kind}.bsm", "turned.npz", "--proba") == want


def test_a_large_sparse_file_is_compared_by_columns(cli: CommandLine) -> None:
    """Bins of all columns would take more than the 64 MiB that are kept in memory."""
    columns = np.arange(0, 4_000_000, 50_000)
    X = sparse.csr_array((np.ones(80), (np.arange(80), columns)), shape=(80, 4_000_000)).tolil()
    y = np.arange(80) % 2
    X[:, 7] = y[:, None]
    dump_svmlight_file(X.tocsr(), y, "large.svm")
    few = "--rounds 2 --repeats 1 --strategies uniform-naive --quiet --results"
    cli("compare", "--data", "large.svm", *few.split(), "large")
    assert read_results("large").settings["bank"]["form"] == "columns"
    cli("calibrate", "--data", "large.svm", "--rounds", "1", "--repeats", "2", "--quiet")
    cli("compare", "--data", "train.svmlight", "--data", "large.svm", *few.split(), "both")
    assert read_results("both").settings["bank"]["form"] == "auto"


@pytest.mark.filterwarnings("ignore:.* people are left out because:RuntimeWarning")
def test_genotypes_of_plink_files(cli: CommandLine) -> None:
    """A table by columns; `part` counts the other allele of a variant."""
    file = str(FILES / "study.bed")
    fit = ("fit", file, "--no-check", "--rounds", "3", "--quiet", "-o", "m.bsm")
    out = cli(*fit).splitlines()
    assert out[:2] == [
        "study.bed: 7 x 10 values, which are read when they are needed",
        "labels: 2 classes: 1 3, 2 4",
    ]
    model = BoostSampleClassifier.load("m.bsm")
    everyone = read_plink(file, labels=False).table
    printed = cli("predict", "m.bsm", file).split()[1:]
    assert printed == [str(label) for label in model.predict(everyone)]
    part = read_plink(FILES / "part", labels=False).table
    printed = cli("predict", "m.bsm", str(FILES / "part.bed")).split()[1:]
    assert printed == [str(label) for label in model.predict(part)]
    explained = cli("explain", "m.bsm", "--data", file)
    assert f" {model.model_.feature_name(int(model.model_.feature[0]))} (columns)" in explained
    few = "--rounds 2 --repeats 1 --strategies laminating --quiet --results r"
    cli("compare", "--data", file, *few.split())
    assert len(read_results("r").rows) == 1


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ("{file} --target nope", "--target (or :label=) must choose a column of a file of phenot"),
        ("{file}:pheno={pheno} --target nope", "'nope'; known: first, second"),
        ("{file}:pheno={pheno}", "--target (or :label=) must choose one of the 2 phenotypes of "),
    ],
)
def test_phenotypes_are_chosen_by_target(cli: CommandLine, options: str, says: str) -> None:
    files = {"file": FILES / "study.bed", "pheno": FILES / "study.pheno"}
    refused = cli.refused("fit", *options.format(**files).split(), "--dry-run")
    assert says in refused
    assert "phenotype_name" not in refused


def test_the_way_out_of_phenotypes_0_and_1_is_an_option(cli: CommandLine) -> None:
    pheno = (FILES / "study.pheno").read_text(encoding="utf-8").splitlines()[1:]
    lines = [f"{' '.join(line.split()[:2])} {at % 2}" for at, line in enumerate(pheno)]
    Path("zeros").write_text("\n".join(lines), encoding="utf-8")
    fit = ("fit", f"{FILES / 'study.bed'}:pheno=zeros", "--dry-run")
    assert cli.refused(*fit, code=1).endswith("; :missing=-9,NA makes 0 a class")


def test_cells_of_anndata_files(cli: CommandLine) -> None:
    """A CSR matrix, read into memory; genes that the model does not read may be missing."""
    file = str(FILES / "csr.h5ad")
    out = cli("fit", file, "--target", "kind", *FEW, "--no-check", "-o", "m.bsm").splitlines()
    assert out[0] == "csr.h5ad: 30 x 14 values, of which 252 are not 0 (60 %)"
    assert out[1].startswith("labels kind: 3 classes: B cell 10, T cell 10, ")
    predicted = cli("predict", "m.bsm", file, "--proba")
    data = read_h5ad(file, "kind")
    model = BoostSampleClassifier.load("m.bsm")
    assert predicted.splitlines()[0].startswith("prediction,probability of B cell,")
    assert [row.split(",")[0] for row in predicted.splitlines()[1:]] == [*model.predict(data.X)]
    used = np.unique(model.model_.feature).tolist()
    names = [data.gene_names[column] for column in used]
    parts = sparse.csr_array(data.X)[:, used[::-1]]
    saved = {part: getattr(parts, part) for part in ("format", "shape", "data")}
    saved |= {"indices": parts.indices, "indptr": parts.indptr}
    np.savez("used.npz", **saved, columns=names[::-1])
    assert cli("predict", "m.bsm", "used.npz", "--proba") == predicted
    np.savez("used.npz", **saved, columns=[*names[:0:-1], "another"])
    missing = cli.refused("predict", "m.bsm", "used.npz", code=1)
    assert missing.startswith("used.npz: the table must have the 14 columns that were learned")
    assert f"but 1 are missing: {names[0]!r}; add them" in missing
    assert "add --target COLUMN" in cli.refused("evaluate", "m.bsm", file)
    by_columns = str(FILES / "csc.h5ad")  # the same cells
    cli("fit", by_columns, "--target", "kind", *FEW, "--no-check", "-o", "c.bsm")
    for model_file, cells in (("m.bsm", by_columns), ("c.bsm", file), ("c.bsm", by_columns)):
        assert cli("predict", model_file, cells, "--proba") == predicted
        assert cli.err == ""
    few = "--rounds 2 --repeats 1 --strategies laminating --quiet --results r"
    cli("compare", "--data", f"{file}:label=kind:layer=messy", *few.split())
    assert len(read_results("r").rows) == 1


def test_queries_of_a_file_are_those_of_the_fit(cli: CommandLine, table: tuple[Any, Any]) -> None:
    X, y = table
    queries = np.arange(120) // 6
    dump_svmlight_file(sparse.csr_array(X), y, "ranked.svmlight", query_id=queries)
    cli("fit ranked.svmlight --objective rank --rounds 9 --no-check --quiet -o ranked.bsm")
    cli("fit ranked.svmlight --rounds 9 --no-check --quiet -o classes.bsm")
    X32, scores = X.astype(np.float32), dict[str, Any]()
    for file, objective, groups in (
        ("ranked.bsm", "rank", queries),
        ("classes.bsm", "auto", None),
    ):
        model = BoostSampleClassifier(objective=objective, n_rounds=9, random_state=0)
        scores[file] = BoostSampleClassifier.load(file).decision_function(X32)
        in_python = model.fit(X32, y, groups=groups).decision_function(X32)
        np.testing.assert_array_equal(scores[file], in_python)
    model = BoostSampleClassifier(objective="rank", n_rounds=9, random_state=0).fit(X32, y)
    assert not np.array_equal(model.decision_function(X32), scores["ranked.bsm"])


def test_held_out_queries_are_whole(cli: CommandLine) -> None:
    """Equal rows of a query, with a class by chance: its other rows would tell it."""
    rng = np.random.default_rng(0)
    queries = np.repeat(np.arange(60), 4)
    X, y = rng.normal(size=(60, 3))[queries], (rng.random(60) < 0.5)[queries]
    for name, numbers in (("rows", None), ("queries", queries)):
        dump_svmlight_file(X, y, f"{name}.svmlight", query_id=numbers)
        text = cli(f"fit {name}.svmlight --rounds 60 --learner tree --quiet -o {name}.bsm")
        error = float(text.split(": error ")[1].split(" %")[0])
        assert (error > 30) == (name == "queries"), text


def test_few_queries_have_no_held_out_score(cli: CommandLine, table: tuple[Any, Any]) -> None:
    X, y = table
    dump_svmlight_file(sparse.csr_array(X), y, "few.svmlight", query_id=np.arange(120) // 30)
    cli("fit few.svmlight --rounds 2 --quiet -o few.bsm")
    assert "no held-out score: at least 5 queries are needed, got 4" in cli.err
    queries = np.where(y == 1, 0, np.arange(120))
    dump_svmlight_file(sparse.csr_array(X), y, "one.svmlight", query_id=queries)
    cli("fit one.svmlight --rounds 2 --quiet -o one.bsm")
    assert "no held-out score: a fifth of the queries has all rows of a class" in cli.err
