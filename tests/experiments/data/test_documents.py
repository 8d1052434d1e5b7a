"""Documents of small files in the formats of JSON lines, Reuters-21578 and 20 Newsgroups."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from boostsample.errors import DataError, SettingError
from boostsample.experiments.commands.cli import main
from boostsample.experiments.data.datasets import load_dataset
from boostsample.experiments.data.documents import read_documents
from boostsample.experiments.results.read_folder import read_results

REUTERS = """<!DOCTYPE lewis SYSTEM "lewis.dtd">
<REUTERS TOPICS="YES" LEWISSPLIT="TRAIN" CGISPLIT="TRAINING-SET" OLDID="5544" NEWID="1">
<DATE>26-FEB-1987 15:01:01.79</DATE>
<TOPICS><D>cocoa</D><D>grain</D></TOPICS>
<PLACES><D>el-salvador</D></PLACES>
<UNKNOWN>
&#5;&#5;&#5;C T
&#22;&#22;&#1;f0704&#31;reute
</UNKNOWN>
<TEXT>&#2;
<TITLE>BAHIA COCOA &amp; GRAIN REVIEW</TITLE>
<DATELINE>    SALVADOR, Feb 26 - </DATELINE><BODY>Showers continued &lt;XYZ> in
the cocoa zone.
 Reuter
&#3;</BODY></TEXT>
</REUTERS>
<REUTERS TOPICS="YES" LEWISSPLIT="TEST" CGISPLIT="TRAINING-SET" OLDID="5545" NEWID="2">
<TOPICS><D>grain</D></TOPICS>
<TEXT TYPE="BRIEF">&#2;
<TITLE>GRAIN SHIPS</TITLE>
&#3;
</TEXT>
</REUTERS>
"""
MORE = """<REUTERS TOPICS="NO" LEWISSPLIT="TRAIN" CGISPLIT="TRAINING-SET" OLDID="7" NEWID="3">
<TOPICS><D>cocoa</D></TOPICS>
<TEXT>not of this split: COCOA</TEXT>
</REUTERS>
<REUTERS TOPICS="YES" LEWISSPLIT="NOT-USED" CGISPLIT="TRAINING-SET" OLDID="8" NEWID="4">
<TOPICS></TOPICS>
<TEXT>neither of this one: COCOA</TEXT>
</REUTERS>
<REUTERS TOPICS="YES" LEWISSPLIT="TRAIN" CGISPLIT="PUBLISHED-TESTSET" OLDID="9" NEWID="5">
<TOPICS></TOPICS>
<TEXT TYPE="UNPROC">&#2;
Cocoa in the zone, caf\xe9
&#3;</TEXT>
</REUTERS>
"""


@pytest.fixture(name="reuters")
def _reuters(tmp_path: Path) -> Path:
    folder = tmp_path / "reuters21578"
    folder.mkdir()
    (folder / "reut2-000.sgm").write_text(REUTERS, "latin-1")
    (folder / "reut2-001.sgm").write_text(MORE, "latin-1")
    (folder / "all-topics-strings.lc.txt").write_text("acq\n")
    return folder


@pytest.fixture(name="groups")
def _groups(tmp_path: Path) -> Path:
    messages = {
        "train/sci.space/1": "Subject: orbit\n\nThe orbit of the moon",
        "train/rec.autos/2": "Subject: car\n\nA caf\xe9 racer, the car",
        "train/sci.space/10": "Subject: moon\n\nThe moon orbit",
        "test/rec.autos/3": "Subject: new car\n",
    }
    for name, text in messages.items():
        file = tmp_path / "news" / f"20news-bydate-{name}"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "latin-1")
    return tmp_path / "news"


def jsonl(tmp_path: Path, *documents: Any) -> Path:
    file = tmp_path / "documents.jsonl"
    lines = [text if isinstance(text, str) else json.dumps(text) for text in documents]
    file.write_text("\n".join(lines), "utf-8")
    return file


def test_reuters_in_the_modapte_split(reuters: Path) -> None:
    documents = read_documents(reuters, "reuters-21578")
    assert documents.labels == [("cocoa", "grain"), (), ("grain",)]
    assert documents.n_train == 2
    first, second = (" ".join(text.split()) for text in documents.texts[:2])
    assert first == (
        "BAHIA COCOA & GRAIN REVIEW SALVADOR, Feb 26 - Showers continued <XYZ> in the cocoa zone. "
        "Reuter"
    )
    assert second == "Cocoa in the zone, caf\xe9"
    data = load_dataset(f"{reuters}:kind=reuters-21578:ngrams=2:min_df=1")
    assert data.name == "reuters21578"
    assert data.classes == ("cocoa", "grain")
    assert data.y.tolist() == [[1, 1], [0, 0], [0, 1]]
    assert data.columns is not None
    of_terms = dict(zip(data.columns, data.X.toarray().T.tolist(), strict=True))
    assert [of_terms[term] for term in ("grain", "in the", "cocoa zone", "the zone")] == [
        [1, 0, 1],
        [1, 1, 0],
        [1, 0, 0],
        [0, 1, 0],
    ]
    assert "ships" not in of_terms  # no training document has it
    assert (data.X.format, data.X.dtype) == ("csc", np.float32)


def test_newsgroups_by_date(groups: Path) -> None:
    documents = read_documents(groups, "20newsgroups")
    assert documents.labels == ["rec.autos", "sci.space", "sci.space", "rec.autos"]
    data = load_dataset(f"{groups}:kind=20newsgroups:min_df=1:name=news")
    assert (data.name, data.n_train, data.classes) == ("news", 3, ("rec.autos", "sci.space"))
    assert data.y.tolist() == [0, 1, 1, 0]
    assert data.columns is not None
    assert "caf\xe9" in data.columns
    assert "new" not in data.columns  # no training document has it


def test_json_lines(tmp_path: Path) -> None:
    file = jsonl(
        tmp_path,
        {"text": "a red apple", "label": 2, "split": "test"},
        {"text": "red apple, red car", "label": 10, "split": "train", "id": 7},
        {"text": "red car", "label": 2, "split": "train"},
        "",
        {"text": "no words at all", "label": 2, "split": "train"},
    )
    data = load_dataset(file)
    assert (data.n_train, data.classes, data.y.tolist()) == (3, ("2", "10"), [1, 0, 0, 0])
    assert data.columns == ("car", "red")
    assert data.X.toarray().tolist() == [[1, 1], [1, 1], [0, 0], [0, 1]]
    several = jsonl(
        tmp_path,
        {"text": "red apple", "labels": ["red", "fruit"]},
        {"text": "apple tree", "labels": []},
        {"text": "red", "labels": ["red"]},
    )
    data = load_dataset(several, min_df=1)
    assert (data.n_train, data.classes) == (None, ("fruit", "red"))
    assert data.y.tolist() == [[1, 1], [0, 0], [0, 1]]


GOOD = {"text": "a b", "label": "x"}


@pytest.mark.parametrize(
    ("documents", "says"),
    [
        ([], "at least one document, got none"),
        (["{"], "line 1 must be a JSON object: "),
        (["[1]"], r"line 1 must be a JSON object with a text, got '\[1\]'"),
        ([GOOD, {"label": "x"}], "line 2 must be a JSON object with a text"),
        ([{"text": "a"}], "either label or labels, got both or none"),
        ([{**GOOD, "labels": []}], "either label or labels, got both or none"),
        ([{"text": "a", "labels": "x"}], "labels must be a list of text, got 'x'"),
        ([{"text": "a", "label": 1.5}], "label must be text or a whole number, got 1.5"),
        ([{**GOOD, "split": "dev"}], "split must be 'train' or 'test', got 'dev'"),
        ([GOOD, {**GOOD, "split": "test"}], "document 2 differs from the first one"),
        ([GOOD, {"text": "a", "labels": ["x"]}], "document 2 differs from the first one"),
        ([{**GOOD, "split": "test"}], "to train on and to test on, got 0 and 1"),
    ],
)
def test_wrong_lines(tmp_path: Path, documents: list[Any], says: str) -> None:
    with pytest.raises(DataError, match=says):
        read_documents(jsonl(tmp_path, *documents), "jsonl")


def test_wrong_folders(reuters: Path, groups: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"data folder '.*none' must be an existing folder"):
        load_dataset(tmp_path / "none", kind="20newsgroups")
    with pytest.raises(DataError, match=r"must have the files reut2-000\.sgm"):
        load_dataset(groups, kind="reuters-21578")
    with pytest.raises(DataError, match="must have the folder 20news-bydate-train, got none"):
        load_dataset(reuters, kind="20newsgroups")
    file = reuters / "reut2-002.sgm"
    file.write_text(MORE[:-12], "latin-1")
    with pytest.raises(DataError, match=r"reut2-002.sgm must have whole stories"):
        load_dataset(reuters, kind="reuters-21578")
    file.write_text(MORE.replace("TEXT", "WORDS"), "latin-1")
    with pytest.raises(DataError, match="story 5 must have the elements TOPICS and TEXT"):
        load_dataset(reuters, kind="reuters-21578")
    with pytest.raises(SettingError, match="ngrams must be a whole number, at least 1, got '0'"):
        load_dataset(f"{reuters}:kind=reuters-21578:ngrams=0")
    with pytest.raises(SettingError, match="unknown kind of documents 'csv'"):
        read_documents(reuters, "csv")


def test_a_comparison_ranks_labels(tmp_path: Path) -> None:
    """A label of the test documents alone has no positive training row."""
    rng = np.random.default_rng(0)
    topics = {"wheat": "grain farm", "gold": "mine ounce", "oil": "barrel crude"}
    documents = []
    for number in range(80):
        labels = [name for name in topics if rng.random() < 0.5]
        words = rng.permutation([*" ".join(topics[name] for name in labels).split(), "the", "of"])
        split = "test" if number % 4 == 0 else "train"
        labels += ["rare"] if number == 0 else []
        documents.append({"text": " ".join(words), "labels": labels, "split": split})
    file = jsonl(tmp_path, *documents)
    command = f"compare --data {file} --strategies full --learner stump --rounds 30"
    options = "--objective real-mh:abstains=1 --weight-init uniform --results results"
    assert main([*command.split(), *options.split()]) == 0
    last = read_results("results").table.iloc[-1]
    assert last["one_error"] == 0
    data = load_dataset(file)
    assert data.classes == ("gold", "oil", "rare", "wheat")
    assert data.y[: data.n_train, 2].sum() == 0
