from importlib.metadata import version
from pathlib import Path

import pytest

from simulator.formats.installed import installed_version


@pytest.mark.parametrize("package", ["torch", "numpy", "import-linter", "PySide6-Essentials"])
def test_a_version_is_that_of_the_metadata(package: str) -> None:
    assert installed_version(package) == version(package)


def test_a_package_that_is_not_installed() -> None:
    assert installed_version("ridgepoint-of-another-name") is None


def test_the_first_place_of_the_path_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "torch-9.8.7+cu1.dist-info").mkdir()
    (tmp_path / "torch_other-1.0.dist-info").mkdir()
    monkeypatch.syspath_prepend(tmp_path)
    assert installed_version("torch") == "9.8.7+cu1"


def test_an_installation_without_such_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = tmp_path / "of_old.egg-info"
    old.mkdir()
    (old / "PKG-INFO").write_text("Metadata-Version: 1.0\nName: of-old\nVersion: 0.3\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert installed_version("of-old") == "0.3"
