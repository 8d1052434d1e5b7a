"""skops keeps whole classifiers, and asks for no type of another package."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import skops.io

from boostsample import BoostSampleClassifier
from tests.problems import table


@pytest.mark.parametrize("learner", ["stump", "tree:n_leaves=3"])
def test_a_classifier_comes_back(learner: str) -> None:
    X, y = table(60), np.arange(60) % 3
    model = BoostSampleClassifier(n_rounds=5, learner=learner, random_state=0).fit(X, y)
    content = skops.io.dumps(model)
    types: Any = skops.io.get_untrusted_types(data=content)
    assert all(name.startswith("boostsample.") for name in types)
    loaded = skops.io.loads(content, trusted=types)
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    assert loaded.history_ == model.history_
    with pytest.raises(skops.io.exceptions.UntrustedTypesFoundException):
        skops.io.loads(content, trusted=[])
