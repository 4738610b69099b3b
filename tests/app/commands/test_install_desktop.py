"""`install-desktop` in a temporary folder."""

import shlex
import sys
from configparser import RawConfigParser
from pathlib import Path
from xml.etree import ElementTree

import pytest

from app.commands.install_desktop import _quoted
from tests.app.conftest import Run, stdout

ENTRY, MIME, ICON = (
    "applications/ridgepoint.desktop",
    "mime/packages/ridgepoint.xml",
    "icons/hicolor/scalable/apps/ridgepoint.svg",
)


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setattr("sys.platform", "linux")
    return tmp_path


def test_it_writes_an_entry_a_type_and_an_icon(
    data: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.argv", ["/opt/my tools/ridgepoint"])
    assert stdout(run("install-desktop")) == (
        f"Installed Ridgepoint in {data}: .ridge files and ridgepoint:// links open it"
    )
    entry = RawConfigParser()
    entry.optionxform = str  # pyright: ignore
    entry.read(data / ENTRY, "utf-8")
    fields = dict(entry["Desktop Entry"])
    assert shlex.split(fields["Exec"]) == ["/opt/my tools/ridgepoint", "explore", "%u"]
    assert fields["MimeType"] == ("application/x-ridgepoint-session;x-scheme-handler/ridgepoint;")
    kind = ElementTree.parse(data / MIME).getroot()[0]
    assert kind.attrib["type"] == "application/x-ridgepoint-session"
    assert [each.attrib.get("pattern") for each in kind][-1] == "*.ridge"
    assert ElementTree.parse(data / ICON).getroot().tag.endswith("svg")


def test_without_the_command_the_entry_starts_this_python(
    data: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.argv", ["/usr/bin/pytest"])
    run("install-desktop")
    line = f'Exec="{sys.executable}" "-m" "app.cli" explore %u\n'
    assert line in (data / ENTRY).read_text("utf-8")


def test_remove_takes_its_files_away_alone(data: Path, run: Run) -> None:
    run("install-desktop")
    other = data / "applications" / "other.desktop"
    other.write_text("", "utf-8")
    for _ in range(2):
        assert stdout(run("install-desktop", "--remove")) == f"Removed Ridgepoint from {data}"
    assert not any((data / name).exists() for name in (ENTRY, MIME, ICON)) and other.exists()


def test_another_system_is_refused(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "darwin")
    result = run("install-desktop")
    assert (result.exit_code, result.stderr) == (
        2,
        "error: install-desktop on darwin: expected Linux; open files with File → Open …\n",
    )


def test_a_path_is_quoted_as_the_standard_says() -> None:
    assert _quoted("/a b/100%") == '"/a b/100%%"'
    assert _quoted('/a"$b') == '"/a\\\\"\\\\$b"'
