"""The noise of a measured kernel grows with its distance from what the other kernels predict."""

from __future__ import annotations

import gzip
from pathlib import Path

import msgspec
import numpy as np
import pytest

from calibration.fit import experts
from calibration.fit.gpu import written
from calibration.fit.student_noise import solved, student_noise
from simulator.timing.profile import Profile, profile
from simulator.timing.residuals import Residual


def test_one_value_by_hand() -> None:
    variance = 0.01
    for _ in range(3):  # K = 0.04 + w; four degrees of freedom
        own = 0.04 + variance
        expected = (variance * 0.5 / own) ** 2 + variance - variance**2 / own
        variance = (4 * 0.01 + expected) / 5
    noise = student_noise(np.zeros((1, 1)), np.array([0.5]), 0.2, 0.1)
    assert noise == pytest.approx([variance**0.5])


def test_a_value_unlike_its_neighbours_is_followed_less() -> None:
    points = tuple((x,) for x in np.linspace(0, 3, 31).tolist())
    values = [0.1] * 31
    values[15] = 1.0
    plain = Residual.measured(["bytes"], [1.0], points, values, 0.3, 0.1)
    robust = solved(plain)
    noise = student_noise(np.array(points), np.array(values), 0.3, 0.1)
    assert noise[15] > 3 * noise[[*range(15), *range(16, 31)]].max()
    at = np.array([[1.5]])
    assert 0.1 < robust.at(at)[0] < 0.5 * plain.at(at)[0]


@pytest.mark.parametrize("ending", [".json", ".json.gz"])
def test_the_residuals_of_a_file_are_solved_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    packaged = profile()
    name = "resample_scatter_cubic"
    unsolved = msgspec.structs.replace(packaged.residuals[name], experts=None)
    text = written(msgspec.structs.replace(packaged, residuals={name: unsolved}))
    path = tmp_path / f"mine{ending}"
    path.write_bytes(gzip.compress(text) if ending.endswith(".gz") else text)
    monkeypatch.setattr("sys.argv", ["experts", str(path)])
    experts.main()
    text = gzip.decompress(path.read_bytes()) if ending.endswith(".gz") else path.read_bytes()
    residual = msgspec.json.decode(text, type=Profile).residuals[name]
    assert residual == packaged.residuals[name]
