"""Four real folders, one import name: pyproject.toml, the links and the archives agree."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest

from tests.paths import ROOT

LINKED = ("strategies", "families", "experiments")
LINKS = tuple(f"boostsample/{name}" for name in LINKED)
IS_CHECKOUT = (ROOT / ".git").exists()
in_a_checkout = pytest.mark.skipif(not IS_CHECKOUT, reason="an unpacked sdist has no links")


def settings() -> dict[str, Any]:
    tools: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]
    return tools


def modules() -> set[str]:
    """Dotted names of all modules and packages, from the real folders."""
    names = set()
    for top in ("boostsample", *LINKED):
        prefix = "" if top == "boostsample" else "boostsample/"
        for folder, subfolders, files in os.walk(ROOT / top, followlinks=False):
            subfolders[:] = [name for name in subfolders if name != "__pycache__"]
            assert "__init__.py" in files or not any(f.endswith(".py") for f in files), folder
            for file in files:
                if file.endswith(".py"):
                    path = prefix + (Path(folder) / file).relative_to(ROOT).as_posix()
                    names.add(path.removesuffix(".py").removesuffix("/__init__").replace("/", "."))
    return names


def packages() -> set[str]:
    """Dotted names of the folders that have an `__init__.py`."""
    directories = settings()["setuptools"]["package-dir"]
    names = set()
    for module in modules():
        for name, folder in directories.items():
            if module == name or module.startswith(f"{name}."):
                tail = module.removeprefix(name).replace(".", "/")
                if (ROOT / f"{folder}{tail}" / "__init__.py").is_file():
                    names.add(module)
    return names


def python(code: str, *, path: Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(path)}
    command = [sys.executable, "-c", code]
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True)


def test_the_packages_listed_are_the_folders_there_are() -> None:
    assert set(settings()["setuptools"]["packages"]) == packages()


@in_a_checkout
@pytest.mark.parametrize("name", LINKED)
def test_the_links_are_relative_and_lead_to_the_real_folders(name: str) -> None:
    link = ROOT / "boostsample" / name
    assert link.is_symlink()
    assert Path(os.readlink(link)).as_posix() == f"../{name}"
    assert (ROOT / name).is_dir()
    assert not (ROOT / name).is_symlink()


def test_the_links_are_pruned_from_the_sdist() -> None:
    lines = (ROOT / "MANIFEST.in").read_text(encoding="utf-8").splitlines()
    assert {f"prune {link}" for link in LINKS} <= set(lines)


@pytest.mark.parametrize("name", LINKED)
def test_a_bare_name_is_refused_before_anything_is_imported(name: str, tmp_path: Path) -> None:
    code = (
        f"import sys\ntry:\n    import {name}\n"
        "except ImportError as error:\n"
        "    assert 'numpy' not in sys.modules and 'boostsample' not in sys.modules\n"
        "    print(error)\n"
    )
    done = python(code, path=ROOT, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert f"boostsample.{name}" in done.stdout


def files_imported(path: Path, cwd: Path) -> list[Path]:
    """The file of each of the linked packages, imported from a folder that is no installation."""
    code = "\n".join(
        f"import boostsample.{name} as package; print(package.__name__, package.__file__)"
        for name in LINKED
    )
    done = python(code, path=path, cwd=cwd)
    assert done.returncode == 0, done.stderr
    lines = [line.split(maxsplit=1) for line in done.stdout.splitlines()]
    assert [name for name, _ in lines] == [f"boostsample.{name}" for name in LINKED]
    return [Path(file) for _, file in lines]


def test_an_uninstalled_checkout_can_be_imported(tmp_path: Path) -> None:
    files = [file.resolve() for file in files_imported(ROOT, tmp_path)]
    assert files == [ROOT / name / "__init__.py" for name in LINKED]


@pytest.fixture(scope="module")
def archives(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The sdist of a copy of this tree, and the wheel that is built from that sdist."""
    setuptools = pytest.importorskip("setuptools", reason="setuptools is not installed")
    if int(setuptools.__version__.split(".")[0]) < 77:
        pytest.skip(f"setuptools must be 77 or newer, {setuptools.__version__} is installed")
    folder = tmp_path_factory.mktemp("archives")
    copy = folder / "copy"
    skipped = shutil.ignore_patterns(".*", "__pycache__", "*.egg-info")
    produced = {"build", "dist", "results"}

    def ignored(folder: str, names: list[str]) -> set[str]:
        return set(skipped(folder, names)) | (produced if folder == str(ROOT) else set())

    shutil.copytree(ROOT, copy, symlinks=True, ignore=ignored)
    shutil.copytree(ROOT / ".ci", copy / ".ci")
    _build("sdist", copy, folder)
    (sdist,) = folder.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        # Python 3.11.0 to 3.11.3 know no filter.
        safely: dict[str, Any] = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
        archive.extractall(folder, **safely)
    _build("wheel", folder / sdist.name.removesuffix(".tar.gz"), folder)
    (wheel,) = folder.glob("*.whl")
    return sdist, wheel


def _build(kind: str, source: Path, target: Path) -> None:
    code = f"from setuptools import build_meta; build_meta.build_{kind}({str(target)!r})"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=source, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_sdist_has_every_file_once(archives: tuple[Path, Path]) -> None:
    with tarfile.open(archives[0]) as archive:
        members = archive.getmembers()
    assert not any(member.issym() for member in members)
    names = [member.name.partition("/")[2] for member in members if member.isfile()]
    assert len(names) == len(set(names))
    assert not [name for name in names if name.startswith((*LINKS, "docs/results/"))]
    for name in LINKED:
        assert f"{name}/__init__.py" in names
    assert {"LICENSE", "CITATION.cff", "CHANGELOG.md", ".ci/run", "tests/conftest.py"} <= set(names)
    assert {"benchmarks/race.py", "benchmarks/references/amd_epyc.json"} <= set(names)


def test_the_wheel_has_every_module_once_below_boostsample(archives: tuple[Path, Path]) -> None:
    with zipfile.ZipFile(archives[1]) as archive:
        names = archive.namelist()
    assert len(names) == len(set(names))
    assert {name.partition("/")[0].partition("-")[0] for name in names} == {"boostsample"}
    files = [name.removesuffix(".py") for name in names if name.endswith(".py")]
    assert {file.removesuffix("/__init__").replace("/", ".") for file in files} == modules()
    assert "boostsample/py.typed" in names


def test_the_wheel_can_be_imported(archives: tuple[Path, Path], tmp_path: Path) -> None:
    with zipfile.ZipFile(archives[1]) as archive:
        archive.extractall(tmp_path)
    package = tmp_path / "boostsample"
    files = [package / name / "__init__.py" for name in LINKED]
    assert files_imported(tmp_path, tmp_path) == files
