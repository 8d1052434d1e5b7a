"""Presence of words and word n-grams in documents, by vocabulary or by hash: 1 or 0.

Cost: one pass over the documents, whatever the number of features, then one value for each
occurrence of a wanted term. The sparse table of the documents is kept as long as their array. A
lazy bank passes other documents each time, which are processed again; use it with precomputed
sparse tables instead.

Reference: R. Schapire and Y. Singer, BoosTexter: a boosting-based system for text categorization,
Machine Learning 39, 2000, sec. 3 [SS00], whose weak hypotheses test whether a term occurs. [SS00]
uses all n-grams up to a length in the training documents; here rare ones are left out, and the
vocabulary is a setting, because families learn nothing from data. `HashedText` has none: the terms
of a feature are unknown, and terms with the same hash share one (K. Weinberger et al., Feature
hashing for large scale multitask learning, ICML 2009). scikit-learn's CountVectorizer and
HashingVectorizer split the documents.
"""

from __future__ import annotations

import abc
import re
import threading
import weakref
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, NDArray

from boostsample.checks import check_flag, check_integer, check_known
from boostsample.errors import DataError, SettingError
from boostsample.families.columns import sparse_columns
from boostsample.family import Family, check_name

DOCUMENT_WORDS = r"(?u)\b\w\w+\b"
"""scikit-learn's default words: two or more letters, digits or underscores."""

_ANALYZERS = ("word", "char", "char_wb")
_TURNS = threading.RLock()
"""One thread at a time processes documents: the others would repeat the same work."""


class DocumentFamily(Family):
    """Base class of families whose examples are documents: a sequence of str, shape (n,).

    A subclass sets `n_features` and implements `table` and `feature_name`. `analysis` holds the
    settings as scikit-learn's vectorizers take them.

    Parameters
    ----------
    ngram_range : tuple of int, (shortest, longest)
        Numbers of consecutive words or characters in a term.
    analyzer : {"word", "char", "char_wb"}
        Whether terms consist of words, of characters, or of characters within words.
    lowercase : bool
        Whether documents are converted to lower case first.
    token_pattern : str
        Regular expression of a word.
    name : str
    """

    reads_numbers = False

    def __init__(
        self,
        ngram_range: tuple[int, int],
        analyzer: str,
        lowercase: bool,
        token_pattern: str,
        name: str,
    ) -> None:
        self.name = check_name(name)
        self.analysis = check_document_settings(ngram_range, analyzer, lowercase, token_pattern)
        self.ngram_range: tuple[int, int] = self.analysis["ngram_range"]
        self.analyzer = analyzer
        self.lowercase = bool(lowercase)
        self.token_pattern = token_pattern

    @abc.abstractmethod
    def table(self, documents: list[str]) -> Any:
        """Values of all features of at least one document: sparse matrix (n, n_features).

        Each row depends on its document only.
        """

    def compute(self, X: Any, features: ArrayLike) -> NDArray[np.float32]:
        """Values of some features for some documents, see `Family.compute`; feature-major."""
        wanted = self.check_features(features)
        array = X if isinstance(X, np.ndarray) else np.asarray(X, dtype=object)
        if array.ndim != 1:
            raise DataError(
                f"family {self.name!r} takes documents, a sequence of texts of shape (n,), got "
                f"shape {array.shape}; give it such examples or other families"
            )
        documents = check_documents(array.tolist(), f"family {self.name!r}")
        if not documents or not wanted.size:
            return np.empty((len(wanted), len(documents)), np.float32).T
        with _TURNS:
            matrix = self._table(array, documents)
        return sparse_columns(matrix, wanted).T

    def _table(self, array: NDArray[Any], documents: list[str]) -> Any:
        """The table of these documents in CSC format; reuses the last one for equal documents."""
        last = self.__dict__.get("_last")
        if last is not None and last[0] == documents:
            return last[1]
        matrix = self.table(documents).tocsc()
        self._last = documents, matrix
        weakref.finalize(array, self.__dict__.pop, "_last", None)
        return matrix

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in self.__dict__.items() if key != "_last"}


class PresenceFamily(DocumentFamily):
    """Base class of families of documents whose features are 0 or 1."""

    def value_range(self, features: NDArray[Any]) -> tuple[ArrayLike, ArrayLike]:
        """A range with 0.5 as the only bin edge, also of a term that no row contains."""
        edge = np.full(len(features), 0.5, np.float32)
        return np.nextafter(edge, np.float32(0)), edge


class Text(PresenceFamily):
    """Presence of terms: feature j is 1 in documents that contain vocabulary[j], 0 in others.

    `text_family` collects the vocabulary from the training documents.

    Parameters
    ----------
    vocabulary : sequence of str
        Distinct terms, as the settings below produce them from documents: by default in lower case,
        words of at least two characters, separated by single spaces.
    ngram_range : tuple of int, (shortest, longest), default (1, 2)
    analyzer : {"word", "char", "char_wb"}, default "word"
    lowercase : bool, default True
    token_pattern : str
        See `DocumentFamily`.
    name : str, default "text"

    Examples
    --------
    >>> text = Text(["boosting", "weak learner"])
    >>> text.feature_name(1)
    "term 'weak learner'"
    >>> text.compute(["Boosting a weak learner", "a strong learner is weak"], [0, 1]).tolist()
    [[1.0, 1.0], [0.0, 0.0]]
    """

    def __init__(
        self,
        vocabulary: Sequence[str],
        ngram_range: tuple[int, int] = (1, 2),
        analyzer: str = "word",
        lowercase: bool = True,
        token_pattern: str = DOCUMENT_WORDS,
        name: str = "text",
    ) -> None:
        super().__init__(ngram_range, analyzer, lowercase, token_pattern, name)
        self.vocabulary = (vocabulary,) if isinstance(vocabulary, str) else tuple(vocabulary)
        self.n_features = len(self.vocabulary)
        self._check_vocabulary()

    def feature_name(self, feature: SupportsIndex) -> str:
        """Like "term 'weak learner'"."""
        return f"term {self.vocabulary[self.check_feature(feature)]!r}"

    def table(self, documents: list[str]) -> Any:
        """Presence of all terms, see `DocumentFamily.table`."""
        return self._vectorizer().transform(documents)

    def _vectorizer(self) -> Any:
        from sklearn.feature_extraction.text import CountVectorizer

        return CountVectorizer(
            vocabulary=self.vocabulary, binary=True, dtype=np.float32, **self.analysis
        )

    def _check_vocabulary(self) -> None:
        family = f"family {self.name!r}"
        if not self.vocabulary:
            raise SettingError(f"vocabulary of {family} must hold at least one term, got none")
        seen = set()
        terms = (
            None if self.token_pattern != DOCUMENT_WORDS else self._vectorizer().build_analyzer()
        )
        for term in self.vocabulary:
            if not isinstance(term, str):
                raise SettingError(f"vocabulary of {family} must hold texts, got {term!r}")
            if term in seen:
                raise SettingError(f"vocabulary of {family}: terms must differ, got {term!r} twice")
            seen.add(term)
            # Not checked for a user's word pattern, which may depend on neighbouring characters.
            # Characters within words have a blank on both sides of each word.
            if terms is not None and term not in terms("a a" if term == " " else term):
                raise SettingError(
                    f"vocabulary of {family} holds {term!r}, which no document can contain with "
                    f"{self.analysis}; remove it, write it as these settings produce it, or change "
                    "the settings"
                )


class HashedText(PresenceFamily):
    """Presence of terms by hash: 1 in documents that contain a term of the hash, 0 in others.

    Parameters
    ----------
    n_features : int, default 16384
        Number of hashes; more hashes mean fewer collisions.
    ngram_range : tuple of int, (shortest, longest), default (1, 2)
    analyzer : {"word", "char", "char_wb"}, default "word"
    lowercase : bool, default True
    token_pattern : str
        See `DocumentFamily`.
    name : str, default "hashed-text"

    Examples
    --------
    >>> text = HashedText(1024)
    >>> text.feature_name(5)
    'terms of hash 5 of 1024'
    >>> text.compute(["a weak learner", "nothing at all"], range(1024)).sum(axis=1).tolist()
    [3.0, 5.0]
    """

    def __init__(
        self,
        n_features: int = 2**14,
        ngram_range: tuple[int, int] = (1, 2),
        analyzer: str = "word",
        lowercase: bool = True,
        token_pattern: str = DOCUMENT_WORDS,
        name: str = "hashed-text",
    ) -> None:
        super().__init__(ngram_range, analyzer, lowercase, token_pattern, name)
        self.n_features = check_integer("n_features", n_features, 1)

    def feature_name(self, feature: SupportsIndex) -> str:
        """Like "terms of hash 5 of 1024"."""
        return f"terms of hash {self.check_feature(feature)} of {self.n_features}"

    def table(self, documents: list[str]) -> Any:
        """Presence of terms by hash, see `DocumentFamily.table`."""
        from sklearn.feature_extraction.text import HashingVectorizer

        vectorizer = HashingVectorizer(
            n_features=self.n_features,
            binary=True,
            norm=None,
            alternate_sign=False,
            dtype=np.float32,
            **self.analysis,
        )
        return vectorizer.transform(documents)


def text_family(
    documents: Iterable[str],
    *,
    ngram_range: tuple[int, int] = (1, 2),
    min_df: int = 2,
    max_features: int | None = None,
    analyzer: str = "word",
    lowercase: bool = True,
    token_pattern: str = DOCUMENT_WORDS,
    name: str = "text",
) -> Text:
    """A `Text` family of the terms in the given documents.

    Pass training documents only, so that no information leaks from test documents.

    Parameters
    ----------
    documents : iterable of str
    ngram_range, analyzer, lowercase, token_pattern, name
        See `Text`.
    min_df : int, default 2
        Minimum number of documents that contain a term.
    max_features : int, optional
        Maximum number of terms; those in the most documents are kept, ties in alphabetical
        order. Default: all.

    Returns
    -------
    family : Text
        With the vocabulary in alphabetical order.

    Raises
    ------
    SettingError
        If a setting is out of range.
    DataError
        If no term is left, or a document is not text.

    Examples
    --------
    >>> text_family(["more boosting", "boosting once more", "the end"]).vocabulary
    ('boosting', 'more')
    """
    from sklearn.feature_extraction.text import CountVectorizer

    check_integer("min_df", min_df, 1)
    settings = check_document_settings(ngram_range, analyzer, lowercase, token_pattern)
    terms = CountVectorizer(**settings).build_analyzer()
    counts: Counter[str] = Counter()
    texts = check_documents(documents, "text_family")
    for text in texts:
        counts.update(set(terms(text)))
    frequent = sorted(term for term, n in counts.items() if n >= min_df)
    if not frequent:
        raise DataError(
            f"text_family found no term in at least {min_df} of {len(texts)} documents; give more "
            "documents or a smaller min_df"
        )
    if max_features is not None:
        check_integer("max_features", max_features, 1)
        frequent = sorted(sorted(frequent, key=lambda term: -counts[term])[:max_features])
    return Text(frequent, name=name, **{"token_pattern": token_pattern, **settings})


def check_document_settings(
    ngram_range: Any, analyzer: str, lowercase: bool, token_pattern: str
) -> dict[str, Any]:
    """Checked settings as scikit-learn's vectorizers take them; SettingError if out of range."""
    shortest, longest = ngram_range if np.shape(ngram_range) == (2,) else (0, 0)
    if not (isinstance(shortest, int) and isinstance(longest, int) and 1 <= shortest <= longest):
        raise SettingError(
            "ngram_range must be (shortest, longest), integers with 1 <= shortest <= longest, got "
            f"{ngram_range!r}"
        )
    check_known("analyzer", analyzer, _ANALYZERS)
    try:
        n_groups = re.compile(token_pattern).groups
    except (TypeError, re.error) as error:
        raise SettingError(
            f"token_pattern must be a regular expression, got {token_pattern!r}: {error}"
        ) from None
    if n_groups > 1:
        raise SettingError(f"token_pattern must have at most one group, got {token_pattern!r}")
    settings = {
        "ngram_range": (shortest, longest),
        "analyzer": analyzer,
        "lowercase": check_flag("lowercase", lowercase, numbers=True),
    }
    if analyzer == "word":  # scikit-learn warns if it is unused
        settings["token_pattern"] = token_pattern
    return settings


def check_documents(documents: Iterable[Any], who: str) -> list[str]:
    """Documents as a list of texts; a DataError names the first that is not text."""
    texts = list(documents)
    for row, document in enumerate(texts):
        if not isinstance(document, str):
            raise DataError(
                f"{who}: each document must be text, but document {row} is {document!r}; "
                "decode bytes, and give missing documents as ''"
            )
    return texts
