"""Presence of words and word n-grams in documents, by vocabulary or by hash: 1 or 0.

Cost: one pass over the documents, then one value for each occurrence of a wanted term. Reference:
R. Schapire and Y. Singer, BoosTexter: a boosting-based system for text categorization, Machine
Learning 39, 2000, sec. 3 [SS00], whose weak hypotheses test whether a term occurs in a document.
[SS00] uses all n-grams up to a length in the training documents; here rare ones are left out, and
the vocabulary is a setting, because families learn nothing from data. `HashedText` has none: the
terms of a feature are unknown, and terms with the same hash share one (K. Weinberger et al.,
Feature hashing for large scale multitask learning, ICML 2009). scikit-learn's CountVectorizer and
HashingVectorizer split the documents.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, SupportsIndex

import numpy as np

from boostsample.checks import check_integer
from boostsample.errors import DataError, SettingError
from boostsample.families.documents import (
    DOCUMENT_WORDS,
    PresenceFamily,
    check_document_settings,
    check_documents,
)


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
            if terms is not None and term not in terms(term):
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
