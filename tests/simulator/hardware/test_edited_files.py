"""A hardware file that was edited is read again."""

from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from simulator.cluster.cluster import FOLDER as CLUSTERS
from simulator.cluster.cluster import cluster
from simulator.hardware.gpu import PACKAGED
from simulator.hardware.host import FOLDER, host
from simulator.planning.step.traced_step import steps
from simulator.scenario.file_stamps import file_stamps
from simulator.scenario.scenario import Scenario, predict

TINY = Scenario("mlp-tiny", batch=32)


def write_host(path: Path, times: float) -> None:
    """The default host with all times multiplied by `times`."""
    text = (FOLDER / "xeon-h200.json").read_bytes()
    keys = msgspec.json.decode(text)
    keys["id"] = "own"
    keys["seconds"] = {name: s * times for name, s in keys["seconds"].items()}
    path.write_bytes(msgspec.json.encode(keys))


def write_gpu(path: Path, bandwidth: int) -> None:
    """A V100 with a different bandwidth, in GB/s."""
    text = (PACKAGED / "v100_sxm2_16.toml").read_text("utf-8")
    before = "bandwidth_gbytes_per_s = 900\n"
    assert before in text
    path.write_text(text.replace(before, f"bandwidth_gbytes_per_s = {bandwidth}\n"), "utf-8")


def write_cluster(path: Path, gpu: str, bandwidth: int) -> None:
    """Eight GPUs whose links have this bandwidth in GB/s."""
    text = (CLUSTERS / "8xh200.toml").read_text("utf-8")
    lines = [line for line in text.splitlines() if not line.startswith(("gpu =", "aliases"))]
    assert any(line.startswith("bandwidth_gbytes_per_s") for line in lines)
    lines = [
        f"bandwidth_gbytes_per_s = {bandwidth}"
        if line.startswith("bandwidth_gbytes_per_s")
        else line
        for line in lines
    ]
    path.write_text("\n".join([f'gpu = "{gpu}"', *lines]), "utf-8")


def test_an_edited_host_file_is_read_again(tmp_path: Path):
    path = tmp_path / "own.json"
    write_host(path, 1.0)
    scenario = replace(TINY, host=str(path))
    first, period_s, stamps = host(str(path)), predict(scenario).period_s, file_stamps(scenario)
    assert host(str(path)) is first and file_stamps(scenario) == stamps
    write_host(path, 2.0)
    assert host(str(path)).seconds["op"] == pytest.approx(2 * first.seconds["op"])
    # the step is host-bound: its period is host time, which doubled
    assert predict(scenario).period_s == pytest.approx(2 * period_s)
    assert file_stamps(scenario) != stamps
    path.unlink()
    assert file_stamps(scenario) != stamps


def test_a_plan_prices_the_edited_gpu_and_host(tmp_path: Path):
    gpu, own_host = tmp_path / "card.toml", tmp_path / "own.json"
    write_gpu(gpu, 900)
    write_host(own_host, 1.0)
    scenario = Scenario("bert-base", gpu=str(gpu), host=str(own_host), dtype="fp16")
    points = [(1, 128), (8, 128)]
    before = steps(scenario, points)
    write_gpu(gpu, 90)
    write_host(own_host, 2.0)
    after = steps(scenario, points)
    assert (after.gpu_busy_s > 1.5 * before.gpu_busy_s).all()
    assert after.host_s == pytest.approx(2 * before.host_s, rel=0.02)


def test_an_edited_cluster_or_its_gpu_is_read_again(tmp_path: Path):
    card, path = tmp_path / "card.toml", tmp_path / "own.toml"
    write_gpu(card, 900)
    write_cluster(path, "h200", 450)
    first = cluster(path)
    assert cluster(path) is first
    write_cluster(path, "h200", 300)
    assert cluster(path).link.bandwidth_bytes_per_s == 300e9
    assert first.link.bandwidth_bytes_per_s == 450e9
    write_cluster(path, str(card), 100)
    slow = cluster(path)
    write_gpu(card, 800)
    assert slow.gpu.bandwidth_bytes_per_s == 900e9
    assert cluster(path).gpu.bandwidth_bytes_per_s == 800e9
