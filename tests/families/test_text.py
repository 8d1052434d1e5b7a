"""Documents as examples: terms by vocabulary and by hash, and the work on documents done once."""

from __future__ import annotations

import itertools
import re
from typing import Any

import numpy as np
import pytest

from boostsample.banks.bank import FeatureBank
from boostsample.errors import DataError, SettingError
from boostsample.families import DocumentFamily, HashedText, Text, text_family
from boostsample.families.text import DOCUMENT_WORDS
from boostsample.testing import check_family

DOCUMENTS = [
    "Boosting picks a weak learner, then another weak learner.",
    "A learner is weak where it is hardly better than chance",
    "",
    "Sampling: look at few examples, and at few features!",
    "weak weak weak",
    "Boosting by sampling; boosting by weighting.",
]


def families() -> list[DocumentFamily]:
    return [
        Text(["boosting", "weak learner", "few", "missing everywhere"]),
        Text(["a", "is"], ngram_range=(1, 1), token_pattern=r"(?u)\b\w+\b"),
        Text(["Boosting", "boosting"], lowercase=False),
        text_family(DOCUMENTS),
        text_family(DOCUMENTS, analyzer="char_wb", ngram_range=(3, 4), max_features=20),
        text_family(DOCUMENTS, analyzer="char", ngram_range=[1, 2]),  # type: ignore[arg-type]  # as JSON has it
        HashedText(50),
        HashedText(7, analyzer="char_wb", ngram_range=(2, 2), lowercase=False, name="letters"),
    ]


@pytest.mark.parametrize("family", families(), ids=repr)
def test_families_of_documents_pass(family: DocumentFamily) -> None:
    check_family(family, DOCUMENTS)


def words_of(document: str) -> list[str]:
    """The definition: words of two letters or more in lower case, and pairs of neighbours."""
    words = [w for w in re.split(r"[^a-z0-9_]+", document.lower()) if len(w) > 1]
    return words + [f"{a} {b}" for a, b in itertools.pairwise(words)]


def test_values_say_whether_a_term_occurs() -> None:
    family = text_family(DOCUMENTS, min_df=1)
    values = family.compute(DOCUMENTS, range(family.n_features))
    for i, document in enumerate(DOCUMENTS):
        held = {family.vocabulary[j] for j in np.flatnonzero(values[i])}
        assert held == set(words_of(document))
    assert set(np.unique(values)) == {0, 1}


def test_the_vocabulary_is_what_enough_documents_hold() -> None:
    counts: dict[str, int] = {}
    for document in DOCUMENTS:
        for term in set(words_of(document)):
            counts[term] = counts.get(term, 0) + 1
    for min_df in (1, 2, 3):
        want = tuple(sorted(term for term, n in counts.items() if n >= min_df))
        assert text_family(iter(DOCUMENTS), min_df=min_df).vocabulary == want
    best = sorted(counts, key=lambda term: (-counts[term], term))
    for most in (1, 4, 1000):
        family = text_family(DOCUMENTS, min_df=1, max_features=most)
        assert family.vocabulary == tuple(sorted(best[:most]))
    assert "weak learner" not in text_family(DOCUMENTS, ngram_range=(1, 1)).vocabulary


def test_the_blank_beside_each_word_is_a_term_of_characters_within_words() -> None:
    family = text_family(DOCUMENTS, analyzer="char_wb", ngram_range=(1, 2))
    blank = family.vocabulary.index(" ")
    assert family.compute(DOCUMENTS, [blank]).ravel().tolist() == [1, 1, 0, 1, 1, 1]
    assert family == Text(**family.settings())
    with pytest.raises(SettingError, match="holds ' ', which no document can contain"):
        Text([" "], ngram_range=(2, 3), analyzer="char_wb")


def test_hashes_gather_the_terms() -> None:
    one = HashedText(1).compute(DOCUMENTS, [0])
    assert one.ravel().tolist() == [1, 1, 0, 1, 1, 1]
    many = HashedText(2**20)
    values = many.compute(["weak learner"], range(2**20))
    assert values.sum() == 3
    (first,) = np.flatnonzero(many.compute(["weak"], range(2**20)))
    assert values[0, first] == 1
    assert many.feature_name(first) == f"terms of hash {first} of 1048576"


class Counting(DocumentFamily):
    """Length of each document, and how often documents were read."""

    n_features = 2

    def __init__(self) -> None:
        super().__init__((1, 1), "word", True, DOCUMENT_WORDS, "lengths")
        self.read: list[int] = []

    def feature_name(self, feature: Any) -> str:
        return f"length {self.check_feature(feature)}"

    def settings(self) -> dict[str, Any]:
        return {}

    def table(self, documents: list[str]) -> Any:
        from scipy import sparse

        self.read.append(len(documents))
        return sparse.csr_array([[len(document), 1.0] for document in documents])


def test_the_same_documents_are_read_once() -> None:
    family = Counting()
    X = np.array(DOCUMENTS, dtype=object)
    for feature in (0, 1, 0):
        family.compute(X, [feature])
    assert family.read == [6]
    assert family.compute(X.copy(), [0])[0, 0] == len(DOCUMENTS[0])
    assert family.read == [6]
    assert family.compute(X[::-1], [0])[-1, 0] == len(DOCUMENTS[0])
    assert family.read == [6, 6]


def test_documents_that_were_changed_are_read_again() -> None:
    family, X = Counting(), np.array(DOCUMENTS, dtype=object)
    family.compute(X, [0])
    X[0] = "now"
    assert family.compute(X, [0])[0, 0] == 3
    assert family.read == [6, 6]


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ("weak", r"sequence of texts of shape \(n,\), got shape \(\)"),
        (np.eye(3), r"got shape \(3, 3\)"),
        (["weak", None], "document 1 is None; decode bytes, and give missing documents as ''"),
        ([b"weak"], "document 0 is b'weak'"),
    ],
)
def test_other_examples_are_refused(X: Any, message: str) -> None:
    with pytest.raises(DataError, match=f"family 'text'.*{message}"):
        Text(["weak"]).compute(X, [0])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"min_df": 0}, "min_df must be an integer at least 1, got 0"),
        ({"max_features": 0}, "max_features must be an integer at least 1, got 0"),
        ({"min_df": 7}, "no term in at least 7 of 6 documents"),
        ({"documents": ["weak", 3.0]}, "text_family: each document must be text, .* 1 is 3.0"),
    ],
)
def test_bad_settings_of_the_helper(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        text_family(**{"documents": DOCUMENTS, **settings})


@pytest.mark.parametrize("family", [text_family(DOCUMENTS), HashedText(40)], ids=repr)
def test_half_is_the_only_bin_edge_of_terms(family: DocumentFamily) -> None:
    """Also of a term that no training row holds, whatever the rows that edges are found from."""
    bank = FeatureBank.build([family], np.array(DOCUMENTS, dtype=object), np.array([2]))
    assert bank.n_bins.tolist() == [3] * family.n_features
    assert {bank.threshold(j, 2) for j in range(family.n_features)} == {0.5}
    values = family.compute(DOCUMENTS, range(family.n_features))
    np.testing.assert_array_equal(bank.bins.T, 1 + values)
