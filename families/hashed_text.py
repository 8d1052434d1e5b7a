"""Presence of words and word n-grams in documents by hash, without a vocabulary.

Cost: as in `boostsample.families.text`. scikit-learn's HashingVectorizer splits the documents and
hashes the terms (K. Weinberger et al., Feature hashing for large scale multitask learning, ICML
2009). The terms of a feature are unknown, and terms with the same hash share one.
"""

from __future__ import annotations

from typing import Any, SupportsIndex

import numpy as np

from boostsample.checks import check_integer
from boostsample.families.documents import DOCUMENT_WORDS, PresenceFamily


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
        See `boostsample.families.DocumentFamily`.
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
