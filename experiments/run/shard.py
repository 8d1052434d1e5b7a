"""Shards of a comparison, ``--shard I/N``: processes divide its cells without communicating."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from boostsample.errors import SettingError


@dataclass(frozen=True)
class RunShard:
    """One process's share of the cells: number `index` of `count`, counted from 1.

    Cells are dealt out in the order of their keys, so that processes need not communicate.
    """

    index: int
    count: int

    @classmethod
    def parse(cls, text: str) -> RunShard:
        """Parse I/N as in ``2/8``."""
        match = re.fullmatch(r"([0-9]{1,6})/([0-9]{1,6})", text)
        if not match or not 1 <= int(match[1]) <= int(match[2]):
            raise SettingError(
                f"shard must be I/N with 1 <= I <= N < 1,000,000 as in 2/8, got {text!r}"
            )
        return cls(int(match[1]), int(match[2]))

    def mine(self, keys: Sequence[str]) -> set[str]:
        """The keys of this share."""
        return set(sorted(set(keys))[self.index - 1 :: self.count])
