"""Predictions as a whole: shares, scaling, modes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from msgspec.structs import asdict, replace

from simulator import predict, predict_trace
from simulator.hardware.gpu import GPU
from simulator.hardware.gpu import gpu as find_gpu
from simulator.hardware.host import Host
from simulator.hardware.host import host as find_host
from simulator.prediction import REGIMES
from simulator.simulate.step import simulate
from simulator.timing.profile import Profile, Tiles, Traffic, profile
from simulator.timing.rates import l2_bytes_per_s
from simulator.tracing import trace
from tests.simulator.conftest import small
from tests.simulator.simulate.steps import EAGER, NETWORKS, answer, traced

# The rate that determines each figure of a profile: times are divided by it, rates are multiplied.
TIMES = {
    "fixed_s": "overhead",
    "cold_s": "overhead",
    "step_s": "overhead",
    "cold_step_s": "overhead",
    "wave_s": "compute",
    "split_s": "compute",
    "run_clocks": "memory",
}
RATES = {"row": "memory", "stream": "memory", "feed": "compute"}
SHARES = {
    "l2", "issue", "dram", "shapes", "utilisation", "unaligned", "alone", "masked", "edge",
    "narrow",
}  # fmt: skip


def _faster(curve: Traffic | Tiles, factor: dict[str, float]) -> Any:
    figures = asdict(curve)
    assert set(figures) <= TIMES.keys() | RATES.keys() | SHARES, "a figure that depends on no rate"
    for name in figures:
        if name in TIMES:
            figures[name] /= factor[TIMES[name]]
        elif name in RATES:
            figures[name] *= factor[RATES[name]]
    return type(curve)(**figures)


def scaled(
    gpu: GPU,
    host: Host,
    curves: Profile,
    compute: float = 1.0,
    memory: float = 1.0,
    overhead: float = 1.0,
) -> tuple[GPU, Host, Profile]:
    """The machine with its compute, memory and overhead rates multiplied by these factors.

    The beginning and end of a tile and the joining of splits is time of the computing units; a
    row's rate and the bytes in flight are rates of the memory.
    """
    card = replace(
        gpu,
        tensor_flops_per_s={k: v * compute for k, v in gpu.tensor_flops_per_s.items()},
        vector_flops_per_s={k: v * compute for k, v in gpu.vector_flops_per_s.items()},
        bandwidth_bytes_per_s=gpu.bandwidth_bytes_per_s * memory,
        l2_bandwidth_bytes_per_s=l2_bytes_per_s(gpu, curves) * memory,
    )
    machine = replace(
        host,
        seconds={k: v / overhead for k, v in host.seconds.items()},
        latency_s=host.latency_s / overhead,
        sync_s=host.sync_s / overhead,
    )
    factor = {"compute": compute, "memory": memory, "overhead": overhead}
    traffic = {name: _faster(t, factor) for name, t in curves.traffic.items()}
    tiles = {name: _faster(t, factor) for name, t in curves.tiles.items()}
    learned = replace(
        curves,
        traffic=traffic,
        tiles=tiles,
        gap_s=curves.gap_s / overhead,
        graph_gap_s=curves.graph_gap_s / overhead,
        graph_launch_s=curves.graph_launch_s / overhead,
    )
    return card, machine, learned


def period_s(name: str, mode: str, **factors: float) -> float:
    """The period in seconds on a machine with other rates, at the clock that the power limit allows
    the original step.
    """
    machine = scaled(find_gpu("h200"), find_host(), profile(), **factors)
    power = answer(name, mode=mode).power
    assert power is not None
    return simulate(traced(name), *machine, mode, clock_limit=power.settled).period_s


MODED = [(name, "eager") for name in NETWORKS] + [(name, "cuda_graph") for name in EAGER]


# -- shares -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "mode"), MODED)
def test_shares_sum_to_1_and_each_kernels_too(name: str, mode: str) -> None:
    shown = answer(name, mode=mode)
    assert sum(shown.shares.values()) == pytest.approx(1, abs=1e-12)
    assert all(share >= 0 for share in shown.shares.values())
    assert shown.regime == max(REGIMES, key=lambda r: shown.shares[r])
    for kernel in shown.kernels:
        assert sum(kernel.shares.values()) == pytest.approx(1, abs=1e-12)
        assert all(-1e-12 <= share <= 1 for share in kernel.shares.values())


@pytest.mark.parametrize(("name", "mode"), MODED)
def test_a_share_is_what_a_faster_machine_buys(name: str, mode: str) -> None:
    """−∂ ln T / ∂ ln rate, by central differences of the machine's figures."""
    shares, step = answer(name, mode=mode).shares, 1e-4
    for rate in REGIMES:
        faster = period_s(name, mode, **{rate: 1 + step})
        slower = period_s(name, mode, **{rate: 1 - step})
        bought = -(np.log(faster) - np.log(slower)) / (np.log1p(step) - np.log1p(-step))
        assert bought == pytest.approx(shares[rate], abs=2e-3), rate


@pytest.mark.parametrize(("name", "mode"), MODED)
def test_twice_every_rate_is_half_the_time(name: str, mode: str) -> None:
    plain = period_s(name, mode)
    assert plain == pytest.approx(answer(name, mode=mode).period_s, rel=1e-12)
    twice = period_s(name, mode, compute=2, memory=2, overhead=2)
    assert twice == pytest.approx(plain / 2, rel=1e-9)


# -- kernels and the total ----------------------------------------------------------------------


@pytest.mark.parametrize("name", NETWORKS)
def test_kernels_add_up(name: str) -> None:
    shown = answer(name)
    kernels = shown.kernels
    assert len(kernels) == shown.kernel_count
    assert sum(k.duration_s for k in kernels) == pytest.approx(shown.gpu_busy_s, rel=1e-12)
    for kernel in kernels:
        assert kernel.duration_s == max(kernel.compute_s, kernel.memory_s) + kernel.fixed_s
        assert kernel.start_s >= kernel.issue_s
    assert sum(k.flops for k in kernels) == shown.flops
    # a repeated step takes at least as long as its kernels and as its host work, and a single step
    # takes at least as long as a repeated one
    assert shown.period_s >= max(shown.gpu_busy_s, shown.host_s) * (1 - 1e-12)
    assert shown.latency_s >= shown.period_s * (1 - 1e-9)


@pytest.mark.parametrize("gpu", ["h200", "a100", "t4"])
@pytest.mark.parametrize("name", NETWORKS)
def test_the_interval_holds_the_period(name: str, gpu: str) -> None:
    shown = answer(name, gpu)
    low, high = shown.interval_s
    assert 0 < low < shown.period_s < high
    # times measured on another GPU are less certain; the host is equally certain on both, but may
    # bound all of the step on one GPU and none of it on the other
    measured = answer(name)
    slowest_s, fastest_s = (measured.host_s * times for times in measured.host.spread[::-1])
    if slowest_s < 0.9 * measured.gpu_busy_s or fastest_s > 1.3 * shown.gpu_busy_s:
        assert high / low >= measured.interval_s[1] / measured.interval_s[0] * (1 - 1e-12)


def test_idle_time_and_busy_time_fill_the_period() -> None:
    for name in ("mlp-tiny", "mixtral-small", "bert-base"):
        shown = answer(name)
        gaps = shown.kernel_count * profile().gap_s
        filled = shown.gpu_busy_s + shown.idle.host_s + shown.idle.sync_s + gaps
        assert filled == pytest.approx(shown.period_s, rel=1e-9)
    assert answer("mixtral-small").idle.sync_s > 0
    assert answer("mlp-tiny").idle.sync_s == 0


def test_where_the_times_come_from() -> None:
    assert answer("mlp-tiny").tiers == {"interpolated": 1.0}
    assert answer("mlp-tiny", "a100").tiers == {"transferred": 1.0}


# -- cards --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("slower", "faster"),
    [("h100", "h200"), ("a100-40gb", "a100"), ("a100-pcie-40gb", "a100"), ("v100", "h100")],
)
@pytest.mark.parametrize("name", NETWORKS)
def test_the_faster_card_is_never_slower(name: str, slower: str, faster: str) -> None:
    assert answer(name, faster).period_s <= answer(name, slower).period_s * (1 + 1e-12)


@pytest.mark.parametrize("gpu", ["t4", "v100"])
def test_bfloat16_on_a_card_without_it_is_predicted_with_a_note(gpu: str) -> None:
    shown = answer("mlp-wide", gpu, dtype="bfloat16")
    name = find_gpu(gpu).name
    assert shown.notes == (f"{name} has no bfloat16 tensor cores: PyTorch computes it in fp32",)
    # four products of 2·1024·8192·8192 FLOPs, at most at the vector units' peak
    peak = find_gpu(gpu).vector_flops_per_s["fp32"]
    assert shown.period_s >= 4 * 2 * 1024 * 8192 * 8192 / peak
    assert answer("mlp-wide", "a100", dtype="bfloat16").notes == ()


# -- modes --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["mlp-tiny", "bert-base", "resnet18", "lstm"])
def test_a_graph_is_not_slower_where_launches_rule(name: str) -> None:
    eager, graph = answer(name), answer(name, mode="cuda_graph")
    assert graph.period_s <= eager.period_s
    if name == "lstm":  # two stacked layers, whose steps overlap in a graph
        assert graph.gpu_busy_s < 0.9 * eager.gpu_busy_s
    else:
        assert graph.gpu_busy_s == eager.gpu_busy_s
    assert graph.idle.host_s <= eager.idle.host_s


def test_a_graph_frees_a_tiny_network_from_its_host() -> None:
    eager, graph = answer("mlp-tiny"), answer("mlp-tiny", mode="cuda_graph")
    assert eager.regime == "overhead"
    assert graph.period_s < eager.period_s / 2 and graph.host_s < eager.host_s / 10


def test_predict_is_trace_and_predict_trace() -> None:
    module, inputs = small("bert-base", training=True)
    options: dict[str, Any] = dict(phase="training", optimizer="sgd", autocast="bf16")
    whole = predict(module, inputs, gpu="a100", **options)
    parts = predict_trace(trace(module, inputs, gpu="a100", **options), gpu="a100")
    assert whole.period_s == parts.period_s and whole.kernels == parts.kernels
    assert whole.trace.gpu == "a100_sxm_80"
