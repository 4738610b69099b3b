"""Licences of what is installed, and advisories against pinned versions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
from packaging.version import Version

from tests.reliability import supply

PINS = {"torch": Version("2.13.0"), "pyyaml": Version("6.0.3")}


def advisory(name: str, *events: dict[str, str], **more: Any) -> dict[str, Any]:
    ranges = [{"type": "ECOSYSTEM", "events": list(events)}]
    affected = {"package": {"ecosystem": "PyPI", "name": name}, "ranges": ranges}
    return {"id": f"X-{name}", "affected": [affected], **more}


@pytest.mark.parametrize(
    ("found", "known"),
    [
        (advisory("torch", {"introduced": "0"}, {"fixed": "2.13.1"}), ["torch 2.13.0: X-torch"]),
        (advisory("torch", {"introduced": "0"}, {"fixed": "2.13.0"}), []),
        (advisory("torch", {"introduced": "2.14"}), []),
        (
            advisory("torch", {"introduced": "2"}, {"last_affected": "2.13.0"}),
            ["torch 2.13.0: X-torch"],
        ),
        (
            advisory("Torch", {"introduced": "0"}, {"fixed": "1"}, {"introduced": "2.12"}),
            ["torch 2.13.0: X-Torch"],
        ),
        (advisory("torch", {"introduced": "0"}, withdrawn="2026-01-01"), []),
        (advisory("numpy", {"introduced": "0"}), []),
        (
            {
                "id": "Y",
                "affected": [
                    {"package": {"ecosystem": "PyPI", "name": "PyYAML"}, "versions": ["6.0.3"]}
                ],
            },
            ["pyyaml 6.0.3: Y"],
        ),
        (
            {
                "id": "Z",
                "affected": [
                    {"package": {"ecosystem": "npm", "name": "torch"}, "versions": ["2.13.0"]}
                ],
            },
            [],
        ),
    ],
)
@pytest.mark.parametrize("zipped", [False, True])
def test_a_pinned_version_is_checked_against_advisories(
    found: dict[str, Any], known: list[str], zipped: bool, tmp_path: Path
) -> None:
    if zipped:
        with ZipFile(tmp_path / "all.zip", "w") as archive:
            archive.writestr("X.json", json.dumps(found))
    else:
        (tmp_path / "X.json").write_text(json.dumps(found), "utf-8")
    database = tmp_path / "all.zip" if zipped else tmp_path
    assert supply.vulnerable(PINS, database) == known


def test_an_invalid_database_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"no advisory: expected JSON files of osv\.dev"):
        supply.vulnerable(PINS, tmp_path)
    (tmp_path / "all.zip").write_text("no ZIP", "utf-8")
    with pytest.raises(ValueError, match=r"all\.zip: .*: expected a folder or a ZIP file"):
        supply.vulnerable(PINS, tmp_path / "all.zip")


def test_every_package_states_its_licence() -> None:
    needed = {package.name: package for package in supply.packages()}
    assert {"torch", "numpy", "msgspec", "typing-extensions"} <= needed.keys()
    assert [package.name for package in needed.values() if not package.licence] == []


def test_every_dependency_is_pinned() -> None:
    pins = supply.pinned(supply.ROOT / "constraints.txt")
    assert {"torch", "numpy", "scipy", "msgspec", "rich", "typer", "jinja2", "platformdirs"} <= (
        pins.keys()
    )
