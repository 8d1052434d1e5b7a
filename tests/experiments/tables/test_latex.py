"""LaTeX tables: widths, panels, alignment and units."""

from __future__ import annotations

import re
from pathlib import Path

import matplotlib
import pytest
from matplotlib.ft2font import FT2Font, LoadFlags

from boostsample.errors import SettingError
from boostsample.experiments.results.read_folder import Results
from boostsample.experiments.tables.latex import latex_width, parse_width, to_latex
from boostsample.experiments.tables.score_tables import result_table
from boostsample.experiments.tables.tables import ScoreTable
from tests.experiments import latex
from tests.experiments.fake_results import curve, results
from tests.paths import RESULTS, needs_results

SMALL = str(RESULTS / "df11-mnist-noise")


def made(*names: str, cost: int = 1000) -> Results:
    return results([curve(name, r, shift=0.5 * r, cost=cost) for name in names for r in range(3)])


def only(*names: str, metric: str = "loss", axis: str = "stumps", cost: int = 1000) -> ScoreTable:
    (table,) = result_table([made(*names, cost=cost)], metric, axis)
    return table


def test_no_character_is_narrower_than_in_computer_modern() -> None:
    font = FT2Font(str(Path(matplotlib.get_data_path()) / "fonts" / "ttf" / "cmr10.ttf"))
    for code in range(33, 127):
        text = chr(code)
        if text in "\"'<>\\_`{|}~^*$-":  # other glyphs in that font, or none
            continue
        glyph = font.load_char(code, LoadFlags.NO_SCALE)
        assert latex_width(text) >= 10 * glyph.horiAdvance / font.units_per_EM - 0.01, text


def test_a_wide_table_is_cut_into_panels_with_its_notes_once() -> None:
    names = [f"strategy-{number}" for number in range(9)]
    table = only(*names)
    whole, cut = to_latex(table, 2000), to_latex(table, 240)
    assert whole.count(r"\begin{tabular}") == 1
    assert cut.count(r"\begin{tabular}") > 2
    for text in (whole, cut):
        assert text.count(r"\caption") == text.count("minipage}{") == text.count("{table}") // 2
        assert all(text.count(name) == 1 for name in names)
    rows = [line for line in cut.splitlines() if re.match(r"10+ &", line)]
    assert len(rows) == 2 * cut.count(r"\toprule")


def test_settings_in_names_have_lines_of_their_own() -> None:
    head = to_latex(only("full", "ucb:a=1:b_c=2")).partition(r"\midrule")[0].splitlines()[-3:]
    assert head == [" &  & ucb \\\\", " &  & :a=1 \\\\", "stumps & full & :b\\_c=2 \\\\"]


def test_a_column_that_cannot_fit_is_refused() -> None:
    with pytest.raises(SettingError, match=r"column 'a{70}' and the names .* shorter names by"):
        to_latex(only("a" * 70, "b"))


def test_standard_deviations_are_filled_up_to_one_width() -> None:
    text = to_latex(only("a", "b", metric="error"))
    assert r"(5.00)" in text
    wide = results([curve("a", r, shift=s * r) for s, r in ((9.0, 0), (9.0, 1))])
    both = [row | {"test_error": 3.0} if row["stumps"] == 10 else row for row in wide.curves]
    (table,) = result_table([Results(wide.settings, both)], "error")
    assert r"3.00 \phantom{6}(0.00)" in to_latex(table)


def test_all_looks_of_a_table_have_one_unit() -> None:
    text = to_latex(only("a", metric="looks", cost=59_990))
    assert "in $10^{3}$ looks}" in text
    assert "10 & 599.90 (0.00)" in text
    assert "100 & 5,999.00 (0.00)" in text
    assert "e+0" not in text
    at = to_latex(only("a", axis="looks", cost=59_990))
    assert r"looks ($10^{3}$) & a \\" in at
    assert "\n599 & " in at
    assert "\n5,990 & " in at


def test_seconds_below_one_are_milliseconds() -> None:
    text = to_latex(only("a", metric="seconds"))
    assert ", in ms}" in text
    assert "10 & 20.00 (0.00)" in text


@pytest.mark.parametrize("text", ["345", "0pt", "-3in", "3.5 inch", "wide", "nanpt"])
def test_widths_are_lengths(text: str) -> None:
    with pytest.raises(SettingError, match="--width must be a length in pt, in, cm or mm"):
        parse_width(text)


@needs_results
@pytest.mark.parametrize(("fault", "code"), [("", 0), ("Overfull \\hbox (9pt too wide)", 1)])
def test_the_check_fails_on_an_overfull_box(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    fault: str,
    code: int,
) -> None:
    engine = tmp_path / "fake-latex"
    engine.write_text(f"#!/bin/sh\nprintf '%s\\n' '{fault}' > \"${{1%.tex}}.log\"\n", "utf-8")
    engine.chmod(0o755)
    monkeypatch.setattr(latex, "ENGINES", {str(engine): []})
    kept = tmp_path / "kept"
    assert latex.main([SMALL, "--keep", str(kept)]) == code
    assert capsys.readouterr().out.count(fault or "faults: 0") == len(latex.WIDTHS)
    for path in kept.glob("*.tex"):
        text = path.read_text("utf-8")
        assert text.count(r"\begin{tabular}") == text.count(r"\end{tabular}") > 10
