"""Reads documents with labels: JSON lines, Reuters-21578 and 20 Newsgroups (docs/documents.md).

`read_documents` returns the texts; `read_terms` makes a sparse table of 0 and 1 of them, with a
column for each term, as in R. Schapire and Y. Singer, BoosTexter: a boosting-based system for text
categorization, Machine Learning 39, 2000, sec. 3.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from boostsample.checks import check_known
from boostsample.errors import DataError
from boostsample.experiments.data.dataset import DataContent
from boostsample.experiments.data.table_reader import label_values, number_classes
from boostsample.files.atomic import readable_file

DOCUMENT_SUFFIXES = {".jsonl": "jsonl"}
DOCUMENT_FOLDERS = ("reuters-21578", "20newsgroups")
"""Kinds that are folders."""
DOCUMENT_OPTIONS = dict.fromkeys(("jsonl", *DOCUMENT_FOLDERS), ("ngrams", "min_df"))
"""Options of each kind, see `read_terms`."""

_STORY = re.compile(r"<REUTERS\b([^>]*)>(.*?)</REUTERS>", re.DOTALL)
_TOPICS = re.compile(r"<TOPICS>(.*?)</TOPICS>", re.DOTALL)
_TEXT = re.compile(r"<TEXT\b[^>]*>(.*?)</TEXT>", re.DOTALL)
_TEXT_TAGS = re.compile(r"</?(?:TITLE|AUTHOR|DATELINE|BODY)>")
_SPLITS = {"train": True, "test": False}


class Documents(NamedTuple):
    """n documents: their texts and labels, those to train on first.

    `labels` are n class values, text or whole numbers; or, if `multilabel`, n tuples of text.
    `n_train` is the number of documents to train on; None without a fixed split.
    """

    texts: list[str]
    labels: list[Any]
    multilabel: bool
    n_train: int | None


class _Document(NamedTuple):
    text: str
    labels: Any
    trains: bool | None


def read_documents(path: Path, kind: str) -> Documents:
    """Read the documents of a file or folder of one of the kinds of `DOCUMENT_OPTIONS`.

    ``jsonl``
        A file with an object in each line: ``text``, ``label`` (text or a whole number) or
        ``labels`` (a list of text), and ``split``, "train" or "test", in all lines or in none.
        Other keys are not read.
    ``reuters-21578``
        A folder with ``reut2-000.sgm`` and so on, in the ModApte split: stories with
        ``TOPICS="YES"`` train with ``LEWISSPLIT="TRAIN"`` and test with ``"TEST"``. The text is
        that of the element TEXT, the labels are those of TOPICS: none, one or several.
    ``20newsgroups``
        A folder with ``20news-bydate-train`` and ``20news-bydate-test``, which have a folder for
        each group, which has a file for each message. Headers are part of the text.

    SettingError if the kind is unknown; DataError if a file is missing or damaged.
    """
    check_known("kind of documents", kind, _READERS)
    with readable_file(path):
        documents = list(_READERS[kind](path))
    if not documents:
        raise DataError(f"{path} must have at least one document, got none")
    multilabel = isinstance(documents[0].labels, tuple)
    fixed = documents[0].trains is not None
    for number, document in enumerate(documents, 1):
        if isinstance(document.labels, tuple) != multilabel or (
            (document.trains is not None) != fixed
        ):
            raise DataError(
                f"{path}: all documents must have label or all labels, and all a split or none, "
                f"but document {number:,} differs from the first one"
            )
    documents.sort(key=lambda document: document.trains is False)
    texts = [document.text for document in documents]
    labels = [document.labels for document in documents]
    n_train = sum(document.trains is True for document in documents) if fixed else None
    if n_train in (0, len(documents)):
        raise DataError(
            f"{path} must have documents to train on and to test on, got {n_train:,} and "
            f"{len(documents) - n_train:,}"
        )
    return Documents(texts, labels, multilabel, n_train)


def read_terms(kind: str, path: Path, *, ngrams: int = 1, min_df: int = 2) -> DataContent:
    """The terms of documents: a sparse table of 0 and 1, float32 (n, number of terms).

    A term is one to `ngrams` words in a row, as of `boostsample.families.Text`, in at least
    `min_df` of the documents to train on; of all documents if there is no fixed split.
    """
    from boostsample.families.text import text_family  # slow to import

    documents = read_documents(path, kind)
    texts = documents.texts
    terms = text_family(texts[: documents.n_train], ngram_range=(1, ngrams), min_df=min_df)
    X = terms.table(texts).tocsc()
    X.sort_indices()
    y: Any
    if documents.multilabel:
        names = sorted({label for labels in documents.labels for label in labels})
        y, at = np.zeros((len(texts), len(names)), np.int8), {n: k for k, n in enumerate(names)}
        for row, labels in zip(y, documents.labels, strict=True):
            row[[at[label] for label in labels]] = 1
        classes = tuple(names)
    else:
        where = f"{path}: the labels"
        y, classes = number_classes(label_values(documents.labels, where), where)
    return DataContent(X, y, classes, terms.vocabulary, documents.n_train)


def _read_jsonl(path: Path) -> Iterator[_Document]:
    with path.open(encoding="utf-8-sig") as lines:
        for number, line in enumerate(lines, 1):
            if line.strip():
                yield _json_document(line, f"{path}, line {number:,}")


def _json_document(line: str, where: str) -> _Document:
    try:
        content = json.loads(line)
    except ValueError as error:
        raise DataError(f"{where} must be a JSON object: {error}") from error
    if not isinstance(content, dict) or not isinstance(content.get("text"), str):
        raise DataError(f"{where} must be a JSON object with a text, got {line.strip()!r:.60}")
    if ("label" in content) == ("labels" in content):
        raise DataError(f"{where} must have either label or labels, got both or none")
    labels = content.get("label")
    if "labels" in content:
        labels = content["labels"]
        if not isinstance(labels, list) or not all(isinstance(label, str) for label in labels):
            raise DataError(f"{where}: labels must be a list of text, got {labels!r:.60}")
        labels = tuple(labels)
    elif type(labels) not in (str, int):
        raise DataError(f"{where}: label must be text or a whole number, got {labels!r:.60}")
    split = content.get("split")
    if split is not None and split not in _SPLITS:
        raise DataError(f"{where}: split must be 'train' or 'test', got {split!r:.60}")
    return _Document(content["text"], labels, None if split is None else _SPLITS[split])


def _read_reuters(path: Path) -> Iterator[_Document]:
    files = sorted(path.glob("*.sgm"))
    if not files:
        raise DataError(f"{path} must have the files reut2-000.sgm and so on, got no .sgm file")
    for file in files:
        content = file.read_text("latin-1")
        stories = _STORY.findall(content)
        if not stories or len(stories) != content.count("<REUTERS "):
            raise DataError(f"{file} must have whole stories, <REUTERS ...> to </REUTERS>")
        for head, story in stories:
            attributes = dict(re.findall(r'(\w+)="([^"]*)"', head))
            split = attributes.get("LEWISSPLIT", "").removesuffix("ING").lower()
            if attributes.get("TOPICS") != "YES" or split not in _SPLITS:
                continue
            topics, text = _TOPICS.search(story), _TEXT.search(story)
            if topics is None or text is None:
                number = attributes.get("NEWID")
                raise DataError(f"{file}: story {number} must have the elements TOPICS and TEXT")
            words = html.unescape(_TEXT_TAGS.sub(" ", text[1]))
            labels = tuple(html.unescape(name) for name in re.findall("<D>(.*?)</D>", topics[1]))
            yield _Document(words, labels, _SPLITS[split])


def _read_newsgroups(path: Path) -> Iterator[_Document]:
    for split, trains in _SPLITS.items():
        folder = path / f"20news-bydate-{split}"
        if not folder.is_dir():
            raise DataError(f"{path} must have the folder {folder.name}, got none")
        for group in sorted(part for part in folder.iterdir() if part.is_dir()):
            for file in sorted(part for part in group.iterdir() if part.is_file()):
                yield _Document(file.read_text("latin-1"), group.name, trains)


_READERS: dict[str, Callable[[Path], Iterator[_Document]]] = {
    "jsonl": _read_jsonl,
    "reuters-21578": _read_reuters,
    "20newsgroups": _read_newsgroups,
}
