"""Commands that write files replace none of them, unless the user says --overwrite."""

from __future__ import annotations

from pathlib import Path

import pytest

from boostsample.experiments.commands.cli import main

pytest.importorskip("matplotlib", reason="pictures need the extra 'report'")
pytest.importorskip("jinja2", reason="reports need the extra 'report'")


@pytest.mark.parametrize(
    "args",
    [
        "plot R -o there.svg",
        "table R -o there.md",
        "compare --data chess(n=60) --plot there.svg",
        "calibrate --data chess(n=60) --plot there.svg",
        "calibrate --figure2 there.svg",
        "list families --picture there.svg",
    ],
)
def test_a_file_that_exists_is_kept(
    args: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    there = next(Path(word) for word in args.split() if word.startswith("there"))
    there.write_text("mine", encoding="utf-8")
    assert main(args.split()) == 2
    out, err = capsys.readouterr()
    assert out == ""
    message = f"must be new, but '{there}' exists; name another file, or replace it with"
    assert message in err.splitlines()[-1]
    assert there.read_text(encoding="utf-8") == "mine"
    assert list(tmp_path.iterdir()) == [tmp_path / there]


@pytest.mark.parametrize("args", ["calibrate --figure2 f.svg", "list families --picture f.svg"])
def test_overwrite_replaces_a_file(
    args: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("f.svg").write_text("mine", encoding="utf-8")
    assert main([*args.split(), "--overwrite"]) == 0
    assert Path("f.svg").read_bytes().startswith(b"<?xml")


@pytest.mark.parametrize("args", ["table R", "compare --data chess(n=60)", "list families"])
def test_overwrite_needs_a_file(args: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*args.split(), "--overwrite"]) == 2
    assert "error: --overwrite " in capsys.readouterr().err
