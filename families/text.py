"""Words and sequences of words in documents: 1 where the term occurs, else 0.

Cost: reading the documents once, then one value for each occurrence of a wanted term. Reference:
R. Schapire and Y. Singer, BoosTexter: a boosting-based system for text categorization, Machine
Learning 39, 2000, sec. 3 [SS00], whose weak hypotheses ask whether a term occurs in a document.
scikit-learn's CountVectorizer splits the documents. [SS00] takes each sequence up to a length that
occurs in the training documents; here rare ones are left out, and the vocabulary is a setting, for
families learn nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, SupportsIndex

import numpy as np

from boostsample.checks import check_integer
from boostsample.errors import DataError, SettingError
from boostsample.families.documents import (
    WORDS,
    PresenceFamily,
    check_analysis,
    check_documents,
)

__all__ = ["Text", "text_family"]


class Text(PresenceFamily):
    """Whether terms occur: feature j is 1 in documents that hold vocabulary[j], 0 in others.

    `text_family` finds the vocabulary in the training documents.

    Parameters
    ----------
    vocabulary : sequence of str
        Different terms, as the settings below make them of documents: in lower case, words of two
        characters or more with single spaces between.
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
        token_pattern: str = WORDS,
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
        """Occurrence of all terms, as `DocumentFamily.table`."""
        return self._vectorizer().transform(documents)

    def _vectorizer(self) -> Any:
        from sklearn.feature_extraction.text import CountVectorizer

        return CountVectorizer(
            vocabulary=self.vocabulary, binary=True, dtype=np.float32, **self.analysis
        )

    def _check_vocabulary(self) -> None:
        rule = f"vocabulary of family {self.name!r}"
        if not self.vocabulary:
            raise SettingError(f"{rule} must hold at least one term, got none")
        seen = set()
        terms = None if self.token_pattern != WORDS else self._vectorizer().build_analyzer()
        for term in self.vocabulary:
            if not isinstance(term, str):
                raise SettingError(f"{rule} must hold texts, got {term!r}")
            if term in seen:
                raise SettingError(f"{rule} must hold different terms, got {term!r} twice")
            seen.add(term)
            # A word pattern of the user's may look at what stands beside the word.
            if terms is not None and term not in terms(term):
                raise SettingError(
                    f"{rule} holds {term!r}, which no document can hold for {self.analysis}; leave "
                    "it out, write it as these settings would, or choose others"
                )


def text_family(
    documents: Iterable[str],
    *,
    ngram_range: tuple[int, int] = (1, 2),
    min_df: int = 2,
    max_features: int | None = None,
    analyzer: str = "word",
    lowercase: bool = True,
    token_pattern: str = WORDS,
    name: str = "text",
) -> Text:
    """A `Text` family of the terms that occur in some documents.

    Give it the training documents alone: what only test documents hold must not be known.

    Parameters
    ----------
    documents : iterable of str
    ngram_range, analyzer, lowercase, token_pattern, name
        See `Text`.
    min_df : int, default 2
        Terms that fewer documents hold are left out.
    max_features : int, optional
        At most so many terms, those that most documents hold; of equal ones the first in the order
        of the alphabet. Default: all.

    Returns
    -------
    family : Text
        Its vocabulary in the order of the alphabet.

    Raises
    ------
    SettingError
        A setting out of range.
    DataError
        No term is left, or a document is no text.

    Examples
    --------
    >>> text_family(["more boosting", "boosting once more", "the end"]).vocabulary
    ('boosting', 'more')
    """
    from sklearn.feature_extraction.text import CountVectorizer

    check_integer("min_df", min_df, 1)
    settings = check_analysis(ngram_range, analyzer, lowercase, token_pattern)
    terms = CountVectorizer(**settings).build_analyzer()
    counts: Counter[str] = Counter()
    texts = check_documents(documents, "text_family")
    for text in texts:
        counts.update(set(terms(text)))
    kept = sorted(term for term, n in counts.items() if n >= min_df)
    if not kept:
        raise DataError(
            f"text_family found no term that at least {min_df} of {len(texts)} documents hold; "
            "give more documents, or a smaller min_df"
        )
    if max_features is not None:
        check_integer("max_features", max_features, 1)
        kept = sorted(sorted(kept, key=lambda term: -counts[term])[:max_features])
    return Text(kept, name=name, **{"token_pattern": token_pattern, **settings})
