"""New names are read from one text, and fit the strategies of the results."""

from __future__ import annotations

import pytest

from boostsample.errors import SettingError
from boostsample.experiments.common.new_names import check_new_names, parse_new_names


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("laminating", "must be OLD=NEW pairs separated by commas, .*; got 'laminating'"),
        ("a=b,", "got ''"),
        ("a=", "got 'a='"),
        ("=b", "got '=b'"),
        ("a=b,a=c", "must name a strategy once, got 'a' twice"),
        ("a=c,b=c", "must give different new names, got 'c' twice"),
    ],
)
def test_texts_that_are_no_names(text: str, message: str) -> None:
    with pytest.raises(SettingError, match=message):
        parse_new_names(text)


def test_names_may_be_exchanged_but_not_be_given_twice() -> None:
    labels = ["full", "ucb", "ucb:n=2", "full"]
    check_new_names(parse_new_names("full=ucb,ucb=full,ucb:n=2=Two"), labels)
    with pytest.raises(SettingError, match=r"'fulll' \(did you mean 'full'\?\); known: full, ucb"):
        check_new_names({"fulll": "x"}, labels)
    with pytest.raises(SettingError, match="would give two strategies the name 'ucb'"):
        check_new_names({"full": "ucb"}, labels)
