"""Compiles LaTeX tables in several text widths and fails on errors and overfull boxes.

    python -m tests.experiments.latex [FOLDER...] [--keep DIR]

Takes the results folders of docs/results unless others are named. Needs tectonic, lualatex or
pdflatex, and the package booktabs. Exit code 1 tells of a fault, 2 of a missing LaTeX.
"""

from __future__ import annotations

import argparse
import itertools
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from boostsample.errors import BoostSampleError
from boostsample.experiments.results.read_folder import read_results
from boostsample.experiments.tables.latex import TEXT_WIDTH, to_latex
from boostsample.experiments.tables.renamed import renamed_tables
from boostsample.experiments.tables.score_tables import result_table
from boostsample.experiments.tables.tables import ScoreTable
from tests.experiments.fake_results import curve, results
from tests.paths import ROOT

ENGINES = {
    "tectonic": ["--keep-logs"],
    "lualatex": ["-interaction=nonstopmode", "-halt-on-error"],
    "pdflatex": ["-interaction=nonstopmode", "-halt-on-error"],
}
WIDTHS = (240.0, TEXT_WIDTH, 500.0)
VIEWS = (("loss", "stumps"), ("error", "looks"), ("looks", "stumps"), ("seconds", "stumps"))


def made_tables(folders: list[Path]) -> Iterator[ScoreTable]:
    """All views of the folders, and tables of names that are hard to set."""
    folders_read = [read_results(folder) for folder in folders]
    for (metric, axis), charged in itertools.product(VIEWS, (False, True)):
        yield from (
            table
            for part in folders_read
            for table in result_table([part], metric, axis, None, charged)
        )
    hard = {"a": r"100 % & #1_{x}^2 ~\$", "b": "[*]", "c": "<<--''|>"}
    made = results([curve(name, r, shift=0.01 * r) for name in "abc" for r in range(3)])
    yield from renamed_tables(result_table([made], "loss"), hard)
    long = "epsilon-greedy:arms=feature:epsilon=0.05:n_features=64"
    made = results([curve(name, r) for name in (long, "full") for r in range(3)])
    yield from result_table([made], "loss")


def rendered(tables: Sequence[ScoreTable], width: float) -> str:
    """Tables as LaTeX of a width, transposed ones too if it holds long names and a column."""
    turned = [table.transposed() for table in tables] if width >= TEXT_WIDTH else []
    return "\n\n".join(to_latex(table, width) for table in [*tables, *turned])


def document(content: str, width: float) -> str:
    """An article with this text width; floats fill their pages."""
    return "\n".join(
        [
            r"\documentclass{article}",
            r"\usepackage{booktabs}",
            rf"\setlength{{\textwidth}}{{{width}pt}}\setlength{{\textheight}}{{700pt}}",
            r"\setcounter{totalnumber}{50}",
            r"\begin{document}",
            content.replace(r"\end{table}", "\\end{table}\n\\clearpage"),
            r"\end{document}",
        ]
    )


def faults(log: str) -> list[str]:
    """The lines of a log that tell of an error or an overfull box.

    >>> faults("Underfull\\nOverfull \\\\hbox (2.1pt too wide)\\n! Undefined control sequence.")
    ['Overfull \\\\hbox (2.1pt too wide)', '! Undefined control sequence.']
    """
    return re.findall(r"^(?:Overfull|! ).*", log, re.MULTILINE)


def main(args: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", type=Path, nargs="*")
    parser.add_argument("--keep", type=Path, help="folder for the documents, to look at")
    options = parser.parse_args(args)
    folders = options.folders or [path.parent for path in ROOT.glob("docs/results/*/plan.json")]
    tables = list(made_tables(folders))
    engine = next(filter(shutil.which, ENGINES), None)
    with tempfile.TemporaryDirectory() as scratch:
        target = Path(scratch) if options.keep is None else options.keep
        target.mkdir(parents=True, exist_ok=True)
        failed = False
        for width in WIDTHS:
            name = f"tables-{width:.0f}pt"
            try:
                content = rendered(tables, width)
            except BoostSampleError as error:
                sys.stderr.write(f"{name}: {error}\n")
                failed = True
                continue
            (target / f"{name}.tex").write_text(document(content, width), encoding="utf-8")
            if engine is None:
                continue
            command = [engine, *ENGINES[engine], f"{name}.tex"]
            done = subprocess.run(command, cwd=target, capture_output=True, text=True)
            log = (target / f"{name}.log").read_text(encoding="utf-8", errors="replace")
            wrong = faults(log)
            failed |= bool(wrong or done.returncode)
            n_tables = content.count(r"\end{table}")
            lines = [f"{name}: {n_tables} tables, {engine}, faults: {len(wrong)}", *wrong]
            sys.stdout.write("\n  ".join(lines) + "\n")
    if engine is None:
        sys.stderr.write(f"this check needs one of {', '.join(ENGINES)}; there is none\n")
        return 2
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
