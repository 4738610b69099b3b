"""Kernels that stream their operands: memory traffic, or the instructions of vector lanes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from simulator.hardware.gpu import GPU
from simulator.timing.l2_eviction import l2_reread_s, rereads
from simulator.timing.profile import Profile
from simulator.timing.rates import (
    dram_bytes_per_s,
    l2_bytes_per_s,
    loading_clocks_per_s,
    units_of,
)
from simulator.timing.terms import RooflineTerms, on_tensor, peaks, slowdown, written_back_s
from simulator.timing.transfer import issue, issuing, l2_share, traffic_of
from simulator.timing.work_columns import Group

Floats = NDArray[np.float64]

_IDLE_BLOCK_CLOCKS = 1.1
"""Clocks that a GPU takes to start and end a block without work. On an H200 51 of DenseNet-121's
concatenations take 0.45 µs for each MB of their result and 0.55 µs for each 1,000 idle blocks, and
those of Mamba-2 and Inception-v3 agree within 2 to 15%."""
_GRID_BLOCKS = 32
"""Assumed maximum number of blocks per multiprocessor in a grid with idle blocks."""


class Streaming(NamedTuple):
    """The traffic of curves on a GPU: numbers of one curve, or columns [works]. `dram` and `l2` are
    bytes per second; the other fields are those of `Traffic`, and `run_clocks` are clocks of this
    GPU's units."""

    issue: Any
    fixed_s: Any
    step_s: Any
    row: Any
    run_clocks: Any
    dram: Any
    l2: Any
    cold_s: Any
    cold_step_s: Any


def streamed(group: Group, gpu: GPU, profile: Profile) -> RooflineTerms:
    """The roofline terms of works without tiles."""
    rates = [_streaming(span.curve, gpu, profile) for span in group.spans]
    counts = [span.rows.stop - span.rows.start for span in group.spans]
    terms = _terms(group, Streaming(*np.repeat(np.array(rates).T, counts, axis=1)), gpu, profile)
    for span, rate in zip(group.spans, rates, strict=True):
        if rereads(span.curve):
            part = group.part([span])
            terms.cold_s[span.rows] += l2_reread_s(part, span.curve, gpu, profile, rate.dram)
    return terms


def _streaming(curve: str, gpu: GPU, profile: Profile) -> Streaming:
    traffic = traffic_of(curve, profile)
    return Streaming(
        issue=traffic.issue,
        fixed_s=traffic.fixed_s,
        step_s=traffic.step_s,
        row=traffic.row,
        run_clocks=traffic.run_clocks * issuing(gpu, profile),
        dram=dram_bytes_per_s(gpu, profile, traffic.stream),
        l2=l2_bytes_per_s(gpu, profile) * l2_share(traffic.l2, gpu, profile),
        cold_s=traffic.cold_s,
        cold_step_s=traffic.cold_step_s,
    )


def _terms(group: Group, rates: Streaming, gpu: GPU, profile: Profile) -> RooflineTerms:
    """The roofline terms of vector work: FLOPs at peak, or one instruction per lane and clock (half
    the FLOP peak)."""
    beside = issue(gpu, profile)
    vector_peaks = peaks(group, gpu, "vector")
    slots = group.instructions / (vector_peaks / 2 * beside)
    tensor = on_tensor(group)
    products = group.flops / peaks(group, gpu) * slowdown(group, gpu, profile, rates.issue)
    compute = np.maximum(slots, np.where(tensor, products, 0.0)) / rates.issue
    if beside > 1:  # the separate integer lanes run no FLOPs
        compute = np.maximum(compute, np.where(tensor, 0.0, group.flops / vector_peaks))
    compute = compute * _last_wave(group.programs, gpu)
    fixed = rates.fixed_s + rates.step_s * group.steps
    fixed = fixed + (profile.kernel_s if gpu.id == profile.card else 0.0) + _idle_s(group, gpu)
    with np.errstate(divide="ignore", invalid="ignore"):
        limited = (group.rows > 0) & (rates.row > 0)
        alone = np.where(limited, group.bytes / (group.rows * rates.row), 0.0)
    if gpu.boost_hz:
        alone = np.maximum(alone, group.runs * rates.run_clocks / loading_clocks_per_s(gpu))
    # the parts of a row are processed one by one
    alone = np.maximum(alone, (group.trips - 1) * group.steps * rates.step_s)
    hot = group.bytes * (1 + group.again) / rates.l2
    cold: Floats = group.bytes / rates.dram
    cold = np.where(group.again > 0, np.maximum(cold, hot), cold)
    return RooflineTerms(
        compute_s=compute,
        cold_s=np.maximum(cold, alone),
        hot_s=np.maximum(np.minimum(hot, cold), alone),
        fixed_s=fixed,
        latency_s=rates.cold_s + rates.cold_step_s * group.steps,
        written_back_s=written_back_s(group, gpu, profile),
    )


def _idle_s(group: Group, gpu: GPU) -> Floats:
    """Seconds of blocks without work, which exist because each operand gets as many blocks as the
    largest one."""
    most = _GRID_BLOCKS * units_of(gpu)
    each = np.minimum(group.widest_blocks, most)
    idle = each * group.others - np.minimum(group.other_blocks, most * group.others)
    return np.maximum(idle, 0) * _IDLE_BLOCK_CLOCKS / (gpu.boost_hz or np.inf)


def _last_wave(programs: Floats, gpu: GPU) -> Floats:
    """The time of the unit with the most programs, relative to the mean of all units."""
    units = units_of(gpu)
    most = np.ceil(programs / units) * units
    return np.where(programs > 0, most / np.maximum(programs, 1), 1.0)
