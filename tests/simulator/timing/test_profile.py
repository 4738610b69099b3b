"""Profiles as files: reading single curves of a packaged profile gives the same as reading the
whole file.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from calibration.fit.gpu import written
from simulator.errors import InputError
from simulator.timing.profile import FOLDER, Profile, learned, packaged, profile
from simulator.timing.residuals import Residual, Residuals

AGAIN = (
    "fit again with `ridgepoint calibrate fit FOLDER --install`, where FOLDER holds the GPU's "
    "measurements, or remove the file to use the packaged profile"
)


def test_a_packaged_profile_equals_its_file() -> None:
    text = (FOLDER / "h200.json").read_bytes()
    whole = msgspec.json.decode(text, type=Profile)
    read = profile("h200")
    assert isinstance(read.residuals, Residuals)
    assert dict(read.residuals) == whole.residuals  # this decodes each curve, and so checks it
    assert msgspec.structs.replace(read, residuals={}) == msgspec.structs.replace(
        whole, residuals={}
    )
    assert written(read) == written(whole) == text


def test_a_packaged_file_is_read_once() -> None:
    profile.cache_clear()
    assert learned("h200") is learned("a100") is profile("h200")  # the A100 uses it by transfer
    assert profile.cache_info().misses == len(packaged())


def test_other_gaps_leave_the_kernels_as_they_are() -> None:
    read = profile("h200")
    gaps = dict.fromkeys(("gap_s", "graph_gap_s", "graph_launch_s"), 1e-6)
    assert msgspec.structs.replace(read, **gaps).has_kernels_of(read)
    for name in set(read.__struct_fields__) - set(gaps):
        assert not msgspec.structs.replace(read, **{name: object()}).has_kernels_of(read)


def test_a_residual_is_decoded_on_request() -> None:
    line = {"features": ["bytes"], "lengths": [1], "points": "LAE=", "values": "iBM="}
    encoded = msgspec.json.encode({**line, "spread": 0.1, "noise": 0.01})
    table = Residuals({"line": msgspec.Raw(encoded), "torn": msgspec.Raw(b"{")})
    assert list(table) == ["line", "torn"] and len(table) == 2 and "torn" in table
    assert table["line"] is table["line"] is table.get("line")
    assert table["line"] == Residual(("bytes",), (1.0,), b"\x2c\x01", b"\x88\x13", 0.1, 0.01)
    assert table["line"] == Residual.measured(
        ["bytes"], [1.0], [[3.0]], [0.5], 0.1, 0.01
    )  # 300, 5000
    assert table.get("other") is None
    with pytest.raises(msgspec.DecodeError):
        table["torn"]


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"points": "AQACAA=="}, "4 bytes of points: expected 2 for each of 1 values"),
        ({"values": "AQACAA=="}, "2 bytes of points: expected 2 for each of 2 values"),
        ({"values": "AQAC"}, "2 bytes of points: expected 2 for each of 1 values"),
        ({"lengths": [1.0, 2.0]}, "2 lengths for 1 features"),
        ({"lengths": [0.0]}, "a length that is not above 0 and at most 1e+09"),
        (
            {"experts": {"size": 1, "points": "AQA=", "weights": "AACAPw=="}},  # point 1, weight 1
            "experts of points beyond the 1 that were measured",
        ),
    ],
)
def test_a_profile_of_a_user_is_checked_whole(
    tmp_path: Path, change: dict[str, Any], complaint: str
) -> None:
    file = json.loads((FOLDER / "h200.json").read_bytes())
    line = {"features": ["bytes"], "lengths": [1.0], "points": "LAE=", "values": "iBM="}
    file["residuals"] = {"line": {**line, "spread": 0.1, "noise": 0.01, **change}}
    path = tmp_path / "mine.json"
    path.write_text(json.dumps(file))
    with pytest.raises(InputError) as caught:
        profile(str(path))
    assert str(caught.value) == (
        f"{path} is not a valid profile: {complaint} - at `$.residuals[...]`; {AGAIN}"
    )


def test_a_profile_of_an_older_release_names_its_version(tmp_path: Path) -> None:
    file = json.loads((FOLDER / "h200.json").read_bytes())
    line = {"features": ["bytes"], "lengths": [1.0], "points": [[3.0]], "values": [0.5]}
    file |= {"version": 2, "residuals": {"line": {**line, "spread": 0.1, "noise": 0.01}}}
    path = tmp_path / "mine.json"
    path.write_text(json.dumps(file))
    with pytest.raises(InputError) as caught:
        profile(str(path))
    assert str(caught.value) == (f"{path} is a profile of version 2: expected 3; {AGAIN}")


def test_a_profile_under_another_gpus_name_is_refused_with_its_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("simulator.timing.profile.users", lambda: tmp_path)
    path = tmp_path / "h100_sxm.json"
    path.write_bytes((FOLDER / "h200.json").read_bytes())
    with pytest.raises(InputError) as caught:
        learned("h100_sxm")
    assert str(caught.value) == (
        f"{path} is a profile of h200_sxm: expected a profile of h100_sxm; name the file "
        "h200_sxm.json, or calibrate h100_sxm again"
    )


def test_a_file_of_no_profiles_size_is_refused_before_it_is_decoded(tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    path.write_bytes(b"9" * (2**26 + 1))
    with pytest.raises(InputError) as caught:
        profile(str(path))
    assert str(caught.value) == (
        f"{path}: too large: expected 67108864 bytes at most; check that it is a profile"
    )
