"""Tables of figures in Markdown, as the pages in docs have them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd


def table(
    head: Sequence[str], rows: Iterable[Sequence[str]], left: Collection[int] = (0,)
) -> list[str]:
    """The lines of a table; all columns but those at `left` are aligned to the right."""
    rule = ["---" if at in left else "---:" for at in range(len(head))]
    return ["| " + " | ".join(cells) + " |" for cells in (head, rule, *rows)]


def frame_table(head: Sequence[str], texts: pd.DataFrame, name: str = "`{}`") -> list[str]:
    """The lines of a table of texts, whose first column has the names of the rows."""
    return table(head, ([name.format(key), *row] for key, *row in texts.itertuples()))


def best_in_bold(
    means: pd.DataFrame,
    spreads: pd.DataFrame,
    digits: int,
    form: str = "{} ({})",
    largest: bool = False,
    missing: str = "",
) -> pd.DataFrame:
    """Means with their spreads as text, the best of each column in bold."""
    show = f"{{:.{digits}f}}".format
    best = means.max() if largest else means.min()
    texts = means.copy().astype(object)
    for column in means:
        for row, mean in means[column].items():
            text = form.format(show(mean), show(spreads.loc[row, column]))
            is_best = show(mean) == show(best[column])
            texts.loc[row, column] = f"**{text}**" if is_best else text
    return texts.where(means.notna(), missing)


def marked(tables: Mapping[str, Sequence[str]]) -> str:
    """Tables between the marks by which tests find them on the pages."""
    return "".join(
        "\n".join([f"<!-- {name} -->", "", *lines, "", "<!-- end -->", "", ""])
        for name, lines in tables.items()
    )


def write_rows(path: Path, rows: Iterable[Mapping[str, Any]], mode: str = "w") -> None:
    """Write rows to a CSV file, or add them to it (mode "a"), each as soon as it is known."""
    with path.open(mode, newline="", encoding="ascii") as stream:
        for row in rows:
            pd.DataFrame([row]).to_csv(
                stream, index=False, header=stream.tell() == 0, lineterminator="\n"
            )
            stream.flush()
