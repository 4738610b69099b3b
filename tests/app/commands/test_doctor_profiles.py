"""`ridgepoint doctor` reads every profile of the user."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from app.commands import doctor
from simulator.timing.profile import FOLDER
from tests.app.conftest import Run, stdout


@pytest.fixture
def profiles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the user's profiles; no prediction is tried."""
    monkeypatch.setattr("simulator.timing.profile.users", lambda: tmp_path)
    monkeypatch.setattr(doctor, "_prediction", lambda: "not tried")
    return tmp_path


def test_without_profiles(run: Run, profiles: Path) -> None:
    text = "".join(stdout(run("doctor")).split())
    assert f"worksyourprofilesnonein{profiles}workshosts" in text


def test_each_wrong_profile_is_reported_with_its_path(run: Run, profiles: Path) -> None:
    packaged = json.loads((FOLDER / "h200.json").read_bytes())
    (profiles / "h200_sxm.json").write_text(json.dumps(packaged | {"version": 2}))
    (profiles / "h100_sxm.json").write_text("{")
    result = run("doctor")
    text = "".join(result.stdout.split())  # paths are folded
    assert result.exit_code == 1
    assert f"doesnotworkyourprofiles{profiles}/h100_sxm.jsonisnotavalidprofile:Input" in text
    assert (
        f"{profiles}/h200_sxm.jsonisaprofileofversion2:expected3;fitagainwith`ridgepoint"
        "calibratefitFOLDER--install`"
    ) in text
    assert "workspackagedprofileh200:" in text


def test_profiles_that_are_used_and_one_that_no_gpu_uses(run: Run, profiles: Path) -> None:
    for name in ("h200_sxm", "backup"):
        (profiles / f"{name}.json").write_bytes((FOLDER / "h200.json").read_bytes())
    text = "".join(stdout(run("doctor")).split())
    assert f"worksyourprofilesh200_sxmin{profiles};noGPUhastheidofbackup.json" in text
