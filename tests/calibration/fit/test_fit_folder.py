from __future__ import annotations

from pathlib import Path

import pytest

from calibration.fit.folder import graph_gap, host_profile, main
from calibration.measure.log import Measurements
from simulator.errors import InputError
from simulator.hardware.host import host


def _measured(index: dict[str, float]) -> Measurements:
    return Measurements({"cpu": "a laptop"}, [{"cpu": "a laptop", "host_index": index}])


def test_a_host_half_as_fast() -> None:
    known = host()
    profile = host_profile(_measured({name: 2 * s for name, s in known.reference.items()}))
    assert profile.seconds == pytest.approx({n: 2 * s for n, s in known.seconds.items()}, rel=1e-3)
    assert profile.cpu == "a laptop"


def test_a_host_whose_python_alone_is_slow() -> None:
    known = host()
    python = ("pythoncalls", "identities")
    slow = {n: s * (4 if n.startswith(python) else 1) for n, s in known.reference.items()}
    profile = host_profile(_measured(slow))
    # the geometric mean of 4 for the host's loops and 1 for its ops
    assert profile.seconds["python_call"] == pytest.approx(
        2 * known.seconds["python_call"], rel=1e-3
    )
    assert profile.seconds["op"] == pytest.approx(known.seconds["op"], rel=1e-3)


def test_the_gap_of_a_graph_by_hand() -> None:
    kernels = [["increment", 1e-6, 2e-6]] * 8
    sample = {
        "point": {"operation": "cuda_kernel_chain", "params": {}},
        "warm": {"median_s": 10e-6},
        "kernels": kernels,
    }
    # (10 − 8·1) / 8 = 0.25 µs
    assert graph_gap(Measurements({}, samples={"a": sample})) == pytest.approx(0.25e-6)
    assert graph_gap(Measurements({})) is None


def test_an_empty_folder_is_refused_with_a_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.argv", ["fit", str(tmp_path)])
    with pytest.raises(InputError, match=r"neither samples.jsonl nor host.jsonl: .*Measure first"):
        main()


def test_the_help_says_that_the_folder_may_be_left_out(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["fit", "--help"])
    with pytest.raises(SystemExit) as caught:
        main()
    text = " ".join(capsys.readouterr().out.split())
    assert caught.value.code == 0
    assert text.startswith("usage: ridgepoint calibrate fit [-h] [--install] [FOLDER]")
    assert (
        "without it, and without options, the packaged hosts and the H200's profile are fitted "
        "again to the packaged measurements, and their files are overwritten"
    ) in text


def test_installing_needs_a_folder(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["fit", "--install"])
    with pytest.raises(SystemExit) as caught:
        main()
    assert caught.value.code == 2
    assert (
        "no FOLDER: expected the folder that `measure` filled; name it" in capsys.readouterr().err
    )
