"""The wheel of the tracked files contains all files that the command, the app and the API read."""

import shutil
import subprocess
import sys
import tomllib
from email.parser import HeaderParser
from pathlib import Path
from zipfile import ZipFile

import pytest

HERE = Path(__file__).parents[1]
PACKAGES = ("app/", "simulator/", "calibration/")
LEFT_OUT = ("app/pictures/", "calibration/measurements/README.md")
"""The pictures of the README, and notes on measurements."""


@pytest.fixture(scope="module")
def tracked() -> list[str]:
    if not (HERE / ".git").exists() or not shutil.which("git"):
        pytest.skip("the test needs a git clone, which lists the files of the project")
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=HERE, capture_output=True, text=True, check=True
    )
    return [name for name in listed.stdout.split("\0") if name and (HERE / name).is_file()]


@pytest.fixture(scope="module")
def wheel(tracked: list[str], tmp_path_factory: pytest.TempPathFactory) -> ZipFile:
    """The wheel, built from a copy: a build leaves files that the next one would take for its own.

    The backend builds it as for `pip wheel`, which would ask for the metadata twice before."""
    source = tmp_path_factory.mktemp("source")
    needed = ("pyproject.toml", "README.md", "LICENSE", *PACKAGES)
    for name in tracked:
        if name.startswith(needed):
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            (source / name).symlink_to(HERE / name)
    backend = tomllib.loads((source / "pyproject.toml").read_text("utf-8"))["build-system"]
    build = f"import {backend['build-backend']} as backend; backend.build_wheel({{!r}})"
    target = tmp_path_factory.mktemp("wheel")
    built = subprocess.run(
        [sys.executable, "-c", build.format(str(target))],
        cwd=source,
        capture_output=True,
        text=True,
    )
    assert built.returncode == 0, built.stderr
    (path,) = target.glob("*.whl")
    assert path.name == "ridgepoint-0.1.0-py3-none-any.whl"  # no compiler was needed
    return ZipFile(path)


def test_it_holds_every_file_of_the_packages_and_no_test(
    wheel: ZipFile, tracked: list[str]
) -> None:
    contents = {name for name in wheel.namelist() if ".dist-info/" not in name}
    expected = {
        name for name in tracked if name.startswith(PACKAGES) and not name.startswith(LEFT_OUT)
    }
    assert expected - contents == set()
    assert contents - expected == {"app/pictures/__init__.py", "app/pictures/__main__.py"}
    for kind, least in (
        ("simulator/hardware/gpus/", 70),
        ("simulator/scenario/packaged/families/", 280),
        ("simulator/timing/profiles/", 5),
        ("simulator/hardware/hosts/", 3),
        ("app/lessons/", 14),
        ("app/desktop/", 3),
        ("simulator/py.typed", 1),
    ):
        assert sum(name.startswith(kind) for name in contents) >= least, kind


def test_its_files_are_the_tracked_ones(wheel: ZipFile) -> None:
    for name in ("simulator/scenario/packaged/index.json", "app/html/sliders.js"):
        assert wheel.read(name) == (HERE / name).read_bytes()


def test_it_names_the_command_the_notebook_and_the_extras(wheel: ZipFile) -> None:
    (folder,) = {name.partition("/")[0] for name in wheel.namelist() if ".dist-info/" in name}
    points = wheel.read(f"{folder}/entry_points.txt").decode()
    assert "[console_scripts]\nridgepoint = app.cli:main\n" in points
    assert "[ridgepoint.notebook]\nhtml = app.html.notebook:html\n" in points
    metadata = HeaderParser().parsestr(wheel.read(f"{folder}/METADATA").decode())
    assert {"gui", "hf", "timm"} <= set(metadata.get_all("Provides-Extra", []))
    assert metadata["Requires-Python"] == ">=3.11"
