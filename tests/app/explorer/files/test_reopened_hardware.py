"""A GPU or host file that was edited and opened again changes every figure that depends on it."""

from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from app.answers.side import Side
from app.examples import FIRST
from app.explorer.files.opening import Opening
from app.scenes.regime_map.axes import elsewhere
from app.views.compare.view import _key  # pyright: ignore[reportPrivateUsage]
from simulator.hardware.gpu import PACKAGED
from simulator.hardware.host import FOLDER
from simulator.scenario.scenario import predict
from simulator.simulate import step
from tests.app.explorer.files.settling import settle


def write_host(path: Path, times: float) -> None:
    """The default host with all times multiplied by `times`."""
    keys = msgspec.json.decode((FOLDER / "xeon-h200.json").read_bytes())
    keys["seconds"] = {name: s * times for name, s in keys["seconds"].items()}
    path.write_bytes(msgspec.json.encode({**keys, "id": "own"}))


def write_gpu(path: Path, bandwidth: int) -> None:
    """A V100 with a different bandwidth, in GB/s."""
    text = (PACKAGED / "v100_sxm2_16.toml").read_text("utf-8")
    before = "bandwidth_gbytes_per_s = 900\n"
    assert before in text
    path.write_text(text.replace(before, f"bandwidth_gbytes_per_s = {bandwidth}\n"), "utf-8")


def answer_s(opening: Opening) -> tuple[float, float]:
    """The host seconds and the GPU's busy seconds of the current answer."""
    settle(opening)
    answer = opening.networks.answering.answer
    assert answer is not None
    return answer.prediction.host_s, answer.prediction.gpu_busy_s


def test_an_edited_host_changes_the_answer_when_it_is_opened_again(
    opening: Opening, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    # under a power limit, a slower host leaves the card more power and thus a higher clock
    monkeypatch.setattr(step, "supply", lambda _: None)
    path = tmp_path / "own.json"
    write_host(path, 1.0)
    opening.open([path])
    before, busy_s = answer_s(opening)
    earlier = opening.networks.answering.answer
    write_host(path, 2.0)
    opening.open([path])
    after, same_s = answer_s(opening)
    assert opening.networks.answering.answer is not earlier
    assert after == pytest.approx(2 * before) and same_s == busy_s
    assert opening.session.history.count() == 1  # the scenario is the same


def test_an_edited_gpu_changes_the_answer_when_it_is_opened_again(opening: Opening, tmp_path: Path):
    path = tmp_path / "own.toml"
    write_gpu(path, 900)
    opening.open([path])
    host_s, before = answer_s(opening)
    write_gpu(path, 90)
    opening.open([path])
    same_s, after = answer_s(opening)
    assert after > 1.5 * before and same_s == pytest.approx(host_s, rel=1e-3)


def test_views_tell_answers_before_and_after_an_edit_apart(tmp_path: Path):
    path = tmp_path / "own.json"
    write_host(path, 1.0)
    scenario = replace(FIRST, host=str(path))
    first = Side("A", "Today", scenario, predict(scenario))
    before = elsewhere(scenario, "batch")
    assert elsewhere(replace(scenario, batch=3), "batch") == before
    write_host(path, 2.0)
    second = Side("A", "Today", scenario, predict(scenario))
    assert elsewhere(scenario, "batch") != before
    assert _key((first, first)) != _key((first, second))
