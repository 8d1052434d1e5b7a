"""Tables in files: `fit`, `predict`, `compare` and Python read the same columns and classes."""

from __future__ import annotations

import datetime
import gzip
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest

from boostsample import BoostSampleClassifier, DataError
from boostsample.experiments.commands.cli import main
from boostsample.experiments.data.dataset import Dataset
from boostsample.experiments.data.datasets import load_dataset
from boostsample.experiments.data.table_reader import (
    label_values,
    number_classes,
    read_table,
    split_label,
)
from boostsample.experiments.fitting.table_models import TrainingTable
from tests.experiments.conftest import CommandLine

N = 40
DAY = ["day.days", "day.year", "day.month", "day.day", "day.weekday"]
ONE_ROUND = ("--rounds", "1", "--strategy", "full", "--learner", "stump", "--quiet")
MODEL = BoostSampleClassifier("full", "stump", n_rounds=1, random_state=0)


def lines(*rows: str, header: str = "x,v,y") -> str:
    return "\n".join([header, *rows]) + "\n"


def write(content: Any) -> str:
    """The file of a text, of bytes, or of a data frame."""
    if isinstance(content, pandas.DataFrame):
        content.to_parquet("t.parquet")
        return "t.parquet"
    raw = content.encode() if isinstance(content, str) else content
    name = "t.tsv" if raw.startswith(b"x\t") else "t.csv"
    Path(name).write_bytes(raw)
    return name


def parquet(**columns: Any) -> pandas.DataFrame:
    return pandas.DataFrame({"x": [1.0, 2.0, 3.0, 4.0], **columns, "y": list("abab")})


#: The content of a file, its columns and classes, and options if it needs some.
GOOD: dict[str, tuple[Any, ...]] = {
    "missing values": (
        "x,colour,y\n1,red,no\nNA,n/a,yes\n?,None,no\n2,NULL,yes\nnan,<NA>,no\n#N/A,blue,yes\n-nan,,no\n",
        ["x", "colour=blue", "colour=red"],
        ["no", "yes"],
    ),
    "spaces": (
        'x, colour ,y\n 1 ,red,no \n2,red , no\n3, "red",yes\n   \n',
        ["x", "colour=red"],
        ["no", "yes"],
    ),
    "codes as asked": (
        lines("1,01,a", "2,1,b", "3,2,a"),
        ["x", "v=01", "v=1", "v=2"],
        ["a", "b"],
        ":category=v",
    ),
    "dates": (
        lines("1,2024-02-29,a", "2,,b", "3,2024-05-31,a", header="x,day,y"),
        ["x", *DAY],
        ["a", "b"],
    ),
    "dates of Parquet": (
        parquet(day=[datetime.date(2024, 2, at) for at in (1, 2, 3, 4)]),
        ["x", *DAY],
        ["a", "b"],
    ),
    "decimal commas": ("x;v;y\n0,5;1;a\n1,5;-2;b\n;3;a\n", ["x", "v"], ["a", "b"], ":decimal=,"),
    "truth values": (lines("1,True,a", "2,,b", "3,FALSE,a"), ["x", "v"], ["a", "b"]),
    "another delimiter": ("x|v|y\n1|2|a\n3|4|b\n", ["x", "v"], ["a", "b"], ":delimiter=|"),
    "gzip": (gzip.compress(b"x,v,y\n1,2,a\n3,4,b\n"), ["x", "v"], ["a", "b"]),
    "byte order mark": ("\ufeff\n\nx,v,y\r\n1,2,a\r\n3,4,b\r\n", ["x", "v"], ["a", "b"]),
    "quotes": (
        '"x","v","y"\n1,"two\nlines",a\n2,"a ""b"", c",b\n',
        ["x", 'v=a "b", c', "v=two\nlines"],
        ["a", "b"],
    ),
    "many categories": (
        lines(*(f"{at},{at % 300},{'ab'[at % 2]}" for at in range(600))),
        ["x", *(f"v={name}" for name in sorted(map(str, range(300)))[:254]), "v=(other)"],
        ["a", "b"],
        ":category=v",
    ),
    "text of Parquet": (parquet(v=["1", " 1", "na", "2 "]), ["x", "v=1", "v=2"], ["a", "b"]),
    "an index of Parquet": (
        parquet(v=[True, False, True, True]).set_index(pandas.Index(list("klmn"))),
        ["x", "v"],
        ["a", "b"],
    ),
    "labels 01": (lines("1,1,01", "2,2,02"), ["x", "v"], ["01", "02"]),
    "labels 1.0": (lines("1,1,1.0", "2,2,-1.0"), ["x", "v"], [-1, 1]),
    "labels TRUE": (lines("1,1,TRUE", "2,2,FALSE"), ["x", "v"], [False, True]),
    "labels True and true": (
        lines("1,1,True", "2,2,true", "3,3,False"),
        ["x", "v"],
        ["False", "True", "true"],
    ),
}


@pytest.mark.parametrize("case", GOOD.values(), ids=GOOD)
def test_every_way_reads_the_same(case: tuple[Any, ...], cli: CommandLine) -> None:
    content, columns, classes, *options = case
    file = "".join([write(content), *options])
    table = read_table(file, label="y")
    in_python = MODEL.fit(table.drop(columns="y"), table["y"])
    cli("fit", file, "--target", "y", *ONE_ROUND, "--no-check", "-o", "m.bsm")
    by_fit = BoostSampleClassifier.load("m.bsm")
    for model in (in_python, by_fit):
        made = model.feature_names_in_ if model.columns_ is None else model.columns_.names
        assert [*made] == columns
        assert model.classes_.tolist() == classes
    data = load_dataset(f"{file}:label=y")
    assert data.columns == tuple(columns)
    assert data.classes == tuple(map(str, classes))
    assert [classes[code] for code in data.y] == table["y"].tolist()
    learned = by_fit.columns_
    if learned is not None:
        X = learned.transform(table.drop(columns="y"))
        np.testing.assert_array_equal(data.X, X)
    out = cli("predict", "m.bsm", file, "--target", "y")
    assert out.count("\n") == len(table) + 1 == len(data.X) + 1


def index(values: Any) -> bytes:
    width = np.arange(N) * 0.5
    frame = pandas.DataFrame({"x": width, "y": np.where(width > 3, "a", "b")}, values)
    return bytes(frame.to_csv(), "utf-8")


INDEX = "features must not number the rows, but the column 'Unnamed: 0' had no name, as the index"
#: The content of a file, what the error says, and options.
BAD: dict[str, tuple[Any, ...]] = {
    "no row": ("x,v,y\n", "must have at least one row of data, got none"),
    "one column": ("y\na\nb\n", "at least two columns, a feature and the label, got 1; add :del"),
    "a short line": (
        "\nx,v,y\n1,2,a\n\n3,b\n",
        "line 5: every line must have 3 fields like the first, got 2",
    ),
    "a name twice to drop": (
        "x,x,y\n1,2,a\n3,4,b\n",
        "drop must name one column, but t.csv has 'x' at the positions 0, 1; give",
        ":drop=x",
    ),
    "an unknown column": (
        "x,v,yy\n1,2,a\n3,4,b\n",
        "t.csv has no column 'y' (did you mean 'yy'?); its columns: x, v, yy",
    ),
    "all left out": (
        lines("1,2,a", "3,4,b"),
        "drop must leave at least one feature of t.csv",
        ":drop=0,1",
    ),
    "a position": (
        lines("1,2,a", "3,4,b"),
        "drop must be a column name or a position from -3 to 2 for t.csv, got 9",
        ":drop=9",
    ),
    "decimal commas": (
        "x;v;y\n0,5;1;a\n1,5;2;b\n",
        "t.csv: column 'x' holds numbers with decimal commas, such as '0,5'; add :decimal=, ",
    ),
    "a missing label": (
        lines("1,2,a", "3,4,na"),
        "t.csv: the label 'y' must have a label in every row, but contains NaN in data row 2: ",
    ),
    "a class in two ways": (
        lines("1,2,1", "3,4,1.0"),
        "t.csv: the label 'y' must write each class in one way, got '1' and '1.0'",
    ),
    "a measured label": (
        lines("1,2,0.5", "3,4,1"),
        "the label 'y' must hold whole numbers or text, got 0.5 in data row 1",
    ),
    "an infinite value": (
        lines("1,inf,a", "3,4,b"),
        "column 'v': values must be finite as float32 (at most 3.4e38) or missing, got inf in row",
    ),
    "an index": (index(np.arange(N)[::-1]), INDEX),
    "an index of Parquet": (parquet().rename(columns={"x": "__index_level_0__"}), INDEX[:45]),
    "bytes": (
        b"x,v,y\n1,2,caf\xe9\n3,4,b\n",
        "t.csv cannot be read, it is damaged or in another format",
    ),
    "other values": (parquet(v=[b"a", b"b", b"c", b"d"]), "column 'v'"),
}


@pytest.mark.parametrize("case", BAD.values(), ids=BAD)
def test_every_way_refuses_the_same(
    case: tuple[Any, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    content, says, *options = case
    file = "".join([write(content), *options])
    code = main(["fit", file, "--target", "y", *ONE_ROUND, "-o", "m.bsm"])
    (fit_error,) = capsys.readouterr().err.splitlines()
    assert says in fit_error
    assert main(["compare", "--data", f"{file}:label=y", "--quiet"]) == code
    (compare_error,) = capsys.readouterr().err.splitlines()
    assert says in compare_error
    assert code in (1, 2)


def test_numbers_have_the_bits_of_python() -> None:
    rng = np.random.default_rng(0)
    exact = rng.normal(size=999) * 10.0 ** rng.integers(-38, 38, 999)
    forms = ("{!r}", "{:.17g}", "{:+.5f}", "{:.9e}", " {:.25g} ")
    texts = [forms[at % 5].format(value) for at, value in enumerate(exact.tolist())]
    texts += ["1.", ".5", "007", "1e400"[:3], "-0"]
    Path("t.csv").write_text(
        lines(*(f"{text},{at % 2}" for at, text in enumerate(texts)), header="x,y")
    )
    expected = np.array([*map(float, texts)]).astype(np.float32)
    assert load_dataset("t.csv").X[:, 0].tobytes() == expected.tobytes()


def test_a_typo_among_numbers_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    values = [*map(str, range(19)), "7 o", *["", "12.5"] * 10]
    content = lines(*(f"{at},{value},{'ab'[at % 2]}" for at, value in enumerate(values)))
    says = r"t\.csv: column 'v' becomes categories, because 1 of its 30 values is no number, such "
    says += "as '7 o'; correct them or leave them empty"
    fit = ["fit", "t.csv", "--target", "y", *ONE_ROUND, "--no-check", "-o", "m.bsm", "--overwrite"]
    write(content)
    compare = ["compare", "--data", "t.csv:label=y", "--rounds", "1", "--strategies", "full"]
    for command in (fit, [*compare, "--repeats", "1", "--quiet"]):
        with pytest.warns(RuntimeWarning, match=says):
            assert main(command) == 0
    write(content.replace("7 o", "70"))
    assert main(fit) == 0
    write(content)
    capsys.readouterr()
    with pytest.warns(RuntimeWarning, match=says):
        assert main(["predict", "m.bsm", "t.csv"]) == 1
    dtype = pandas.Series(["7 o"]).dtype
    message = f"column 'v' ({dtype}) must hold numbers as in training, got '7 o'"
    assert message in capsys.readouterr().err

    def show(*warning: Any, **_: Any) -> None:
        sys.stderr.write(warnings.formatwarning(*warning))

    with warnings.catch_warnings(action="default"):
        warnings.showwarning = show
        assert main([*fit, "--dry-run"]) == 0
    assert capsys.readouterr().err.startswith("note: t.csv: column 'v' becomes categories, ")
    read_table("t.csv:category=v", label="y")  # no warning: it is a category
    write(lines(*(f"{at},{at % 9 or '9+'},{'ab'[at % 2]}" for at in range(40))))
    read_table("t.csv", label="y")  # nor here: these are too many


# ----------------------------------------------------------------------- data sets, options, labels


def dataset(text: str, **options: Any) -> Dataset:
    Path("mine.csv").write_text(text, "utf-8")
    return load_dataset("mine.csv", **options)


@pytest.mark.parametrize(
    ("text", "options", "rows", "columns"),
    [
        ("1,2,0\n3,4,1\n", {}, [[1, 2], [3, 4]], None),
        ("0,2,1\n1,4,3\n", {"label": "-3"}, [[2, 1], [4, 3]], None),
        ("5,6,7\n1,2,0\n3,4,1\n", {"header": True}, [[1, 2], [3, 4]], ("5", "6")),
        ("1,y,v\n1,a,2\n3,b,4\n", {"label": "y"}, [[1, 2], [3, 4]], ("1", "v")),
        (
            "1,u,a\n3,v,b\n",
            {"header": False},
            [[1, 1, 0], [3, 0, 1]],
            ("column 0", "column 1=u", "column 1=v"),
        ),
        ("1 2 a\n3 4 b\n", {"delimiter": "space"}, [[1, 2], [3, 4]], None),
    ],
)
def test_headers_are_guessed_for_data_sets(
    text: str, options: dict[str, Any], rows: list[list[float]], columns: tuple[str, ...] | None
) -> None:
    data = dataset(text, **options)
    assert (data.X.tolist(), data.y.tolist(), data.columns) == (rows, [0, 1], columns)
    assert data.X.dtype == np.float32
    assert data.X.flags.c_contiguous
    assert (data.name, data.n_train) == ("mine", None)


@pytest.mark.parametrize(
    ("text", "options", "says"),
    [
        (
            "39,State-gov,a\n50,Private,b\n",
            {},
            "mine.csv has numbers and text; add :header=true if",
        ),
        (
            "1,2,0\n3,4,1\n",
            {"label": "y", "header": False},
            "no column 'y'; the file has no header",
        ),
        ("u,v,y\n1,2,a\n3,4,b\n", {"decimal": ";"}, "decimal must be '.' or ',', got ';'"),
        (
            "u,v,y\n1,2,a\n3,4,b\n",
            {"delimiter": "||"},
            "delimiter must be one character, or tab or",
        ),
    ],
)
def test_bad_data_sets_are_one_clear_line(text: str, options: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=r"^[^\n]*$") as raised:
        dataset(text, **options)
    assert says in str(raised.value)


def test_options_of_tables_in_python() -> None:
    write("x,v,y\n1,01,a\n2,1,b\n")
    assert read_table("t.csv", category=["v"], only=["v", "w"])["v"].tolist() == ["01", "1"]
    for options, says in (
        ({"labels": "y"}, "unknown option of csv files 'labels' .did you mean 'label'"),
        ({"label": "w"}, "t.csv has no column 'w'"),
    ):
        with pytest.raises(ValueError, match=says):
            read_table(Path("t.csv"), **options)
    with pytest.raises(DataError, match=r"'no\.csv' does not exist"):
        read_table("no.csv")
    for damage in (b"PAR1 and nothing else", b""):
        Path("t.parquet").write_bytes(damage)
        with pytest.raises(DataError, match=r"t\.parquet cannot be read, it is damaged"):
            read_table("t.parquet")


def test_parquet_files_keep_categories_of_text_only() -> None:
    columns = {"v": [1, 2, 1, 3], "t": list("abac")}
    frame = pandas.DataFrame({name: pandas.Categorical(of) for name, of in columns.items()})
    frame.to_parquet("t.parquet")
    assert read_table("t.parquet")["v"].dtype == np.int64
    named = read_table("t.parquet", category=["v"])
    assert named["v"].tolist() == ["1", "2", "1", "3"]
    assert read_table("t.parquet")["t"].tolist() == named["t"].tolist() == columns["t"]


def test_values_that_float32_merges_are_named() -> None:
    frame = pandas.DataFrame(
        {"height": np.arange(N), "width": np.arange(N) + 1e9, "y": np.arange(N) % 2}
    )
    frame.to_csv("t.csv", index=False)
    frame.assign(colour="red").to_parquet("t.parquet")
    for name in ("t.csv", "t.parquet"):
        with pytest.warns(RuntimeWarning, match=f"become equal: .*{name}: column 'width'"):
            load_dataset(f"{name}:label=y")


@pytest.mark.parametrize(
    ("values", "codes", "classes"),
    [
        (["10", "9", "10"], [1, 0, 1], ("9", "10")),
        (["10", "9", "x"], [0, 1, 2], ("10", "9", "x")),
        ([1.0, -1.0, 1.0], [1, 0, 1], ("-1", "1")),
        (["1_0", "10"], [1, 0], ("10", "1_0")),
        (["été", "zoo", "B"], [2, 1, 0], ("B", "zoo", "été")),
        (["none", " mild", "NA"], [2, 1, 0], ("NA", "mild", "none")),
    ],
)
def test_classes_are_numbered_by_number_or_name(
    values: list[object], codes: list[int], classes: tuple[str, ...]
) -> None:
    found, names = number_classes(label_values(values, "here"), "here")
    assert (found.tolist(), names) == (codes, classes)
    assert found.dtype == np.int64


@pytest.mark.parametrize("missing", ["", " ", "nan", "None", "<NA>", "NaT"])
def test_texts_of_python_for_a_missing_label_are_no_class(missing: str) -> None:
    with pytest.raises(DataError, match=r"here must have a label in every row.* data row 2"):
        label_values(["a", missing, "b"], "here")


@pytest.mark.filterwarnings("ignore:The number of unique classes:UserWarning")
@pytest.mark.parametrize(("kind", "share"), [(int, 1.0), (str, 0.55)])
def test_a_target_that_numbers_the_rows_is_refused(kind: type, share: float) -> None:
    n = 3000
    y: Any = np.where(np.arange(n) < share * n, np.arange(n), 0).astype(kind)
    X = np.random.default_rng(0).normal(size=(n, 2))
    with pytest.raises(DataError, match=r"y must have classes with several rows each, got [13],"):
        MODEL.fit(X, y)
    with pytest.raises(DataError, match=r"here must have classes with .* the only row of their"):
        number_classes(y, "here")
    for accepted in (np.arange(100), np.arange(300) // 2):
        assert len(number_classes(accepted.astype(kind), "here")[1]) == len(np.unique(accepted))


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_a_wide_table_is_read_as_a_narrow_one(tmp_path: Path, ending: str) -> None:
    """From 1,001 columns of numbers on, these are one block of the frame."""
    rng = np.random.default_rng(0)
    values = rng.standard_normal((6, 1500)).round(3)
    values[2, 7] = np.nan
    frame = pandas.DataFrame(values, columns=[f"x{at}" for at in range(1500)])
    frame.insert(3, "y", ["a", "b"] * 3)
    frame.insert(900, "count", range(6))
    frame.insert(901, "colour", ["red", None, "blue"] * 2)
    frame["day"] = pandas.to_datetime(["2024-05-31", "2024-06-01"] * 3)
    path = tmp_path / f"wide{ending}"
    if ending == ".csv":
        frame.to_csv(path, index=False)
    else:
        frame.to_parquet(path)
    wide = read_table(path, label="y", drop=["x0"])
    names = [name for name in frame.columns if name != "x0"]
    assert list(wide.columns) == names
    few = ["y", "x7", "count", "colour", "day"]
    narrow = read_table(path, label="y", only=few)
    pandas.testing.assert_frame_equal(wide[narrow.columns], narrow)
    numbers = [name for name in names if name.startswith("x")]
    np.testing.assert_array_equal(wide[numbers].to_numpy(), frame[numbers].to_numpy())
    assert len(wide._mgr.blocks) < 10
    X, y = split_label(wide, "y", path)
    table = TrainingTable(path, "target y", X, y)
    assert table.lines()[0].startswith(f"wide{ending}: 6 rows; columns: 1,500 of numbers (x1, x2, ")
    assert table.lines()[0].endswith(
        "1 of dates (day), 1 of categories (colour); missing values: 3"
    )
