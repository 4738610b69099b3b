"""The energy of work by card, as data with sources.

A measured card has its own file in `profiles/energy`. Other cards use the figures of the measured
Hopper: chip energy is scaled by process, DRAM energy by memory type, and idle power by the power
limit (`others.json`).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from simulator.costs import Work
from simulator.errors import InputError
from simulator.hardware.gpu import GPU
from simulator.hardware.gpu import gpu as find_gpu
from simulator.timing.rates import peak_flops_per_s
from simulator.timing.voltage import Voltage
from simulator.varying import stacked

Floats = NDArray[np.float64]
Interval = tuple[float, float]
FOLDER = Path(__file__).parent / "profiles" / "energy"
_SHORT = {
    "float64": "fp64", "float32": "fp32", "tf32": "tf32", "float16": "fp16", "bfloat16": "bf16",
    "float8_e4m3fn": "fp8", "float8_e5m2": "fp8", "int8": "int8", "uint8": "int8",
    "float4_e2m1fn_x2": "fp4",
}  # fmt: skip
_Kind = TypeVar("_Kind")
_PRODUCTS = ("gemm", "gemv", "conv", "attention")
_COUNTED = ("pointwise", "foreach", "norm_apply", "softmax", "generated", "fused")
"""Families whose kernels execute the instructions that their costs count. In the machine code of
nvcc 13.0 for compute capability 9.0, a vectorized loop executes 30 instructions per element for a
cosine (27 counted), 30 for an exact GELU (27), 19 for a hyperbolic tangent (17) and 12 for an
exponential (10). The loop takes 1.7 times as long, because instructions wait for each other."""


class Energies(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Joules by unit of work on a card at its highest clock, `clock_hz`.

    idle_w              drawn without a process
    clocked_w           added while a context is open, which keeps the clock at its highest
    busy_w              added while any kernel runs
    tensor_j_per_flop   by dtype, loading operands from L2 included
    tensor_w            added while a kernel computes on tensor cores, whether they are busy or not
    vector_j_per_flop   for products on the vector lanes, by dtype
    instruction_j       for a vector instruction on one lane, in kernels whose cost counts the
                        instructions that they execute: loops over elements and softmaxes
    lane_j              for one clock of one lane, in all other kernels on vector lanes; they also
                        exchange operands through shared memory
    l2_j_per_byte       for a byte through L2
    dram_j_per_byte     added for a byte that is read from or written to DRAM
    launch_j            for a kernel's start and end
    collective_w        added while a collective runs, whose blocks poll for data
    link_j_per_byte     for a byte that the card sends to another or receives from it
    voltage             of the chip by its clock
    held                share of the limit at which the card settles
    interval            10th and 90th percentile of measured over predicted joules of a step
    """

    gpu: str
    source: str
    clock_hz: float
    idle_w: float
    clocked_w: float
    busy_w: float
    tensor_j_per_flop: dict[str, float]
    tensor_w: float
    vector_j_per_flop: dict[str, float]
    instruction_j: float
    lane_j: float
    l2_j_per_byte: float
    dram_j_per_byte: float
    launch_j: float
    collective_w: float
    link_j_per_byte: float
    voltage: Voltage
    held: float
    interval: Interval
    version: int = 1

    def each(self, feature: str) -> float:
        """Joules per unit of a feature (`features`) at the highest clock."""
        engine, _, dtype = feature.partition("_")
        if engine == "tensor":
            return self.tensor_j_per_flop.get(dtype, self.tensor_j_per_flop["bf16"])
        if engine == "vector":
            return self.vector_j_per_flop.get(dtype, self.vector_j_per_flop["fp32"])
        if engine == "instruction":
            return self.instruction_j
        return self.l2_j_per_byte if engine == "l2" else self.launch_j

    def computing_w(self, work: Work, gpu: GPU) -> Any:
        """Watts of a kernel while it computes, in addition to its features."""
        part = computing(work)
        if part == "tensor":
            return self.tensor_w * filled(work)
        return self.lane_j * lanes_per_s(gpu) if part == "lanes" else 0.0


class Process(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Energy of a chip's work, relative to the measured Hopper. `tensor` is that of tensor cores,
    if their design saves more than the process does."""

    times: float
    source: str
    tensor: float | None = None


class Others(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Factors for cards that were not measured, relative to the measured card `like`: for chip
    energy by the first letters of the architecture's name, for DRAM energy by the first letters of
    the memory's type. Idle power is the same share of the power limit."""

    like: str
    processes: dict[str, Process]
    memories: dict[str, Process]
    default_memory: float
    interval: Interval
    source: str


def energies(gpu: GPU) -> Energies | None:
    """The energies of a GPU; None if its architecture, its memory or its power limit is unknown."""
    if is_measured(gpu):
        return _measured(gpu.id)
    if gpu.tdp_w is None or gpu.architecture is None:
        return None
    return _carried(gpu.id, gpu.architecture, gpu.memory_type or "", gpu.tdp_w, gpu.boost_hz or 0.0)


def is_measured(gpu: GPU) -> bool:
    """Whether the energy of this card was measured."""
    return gpu.id in _packaged()


@lru_cache
def _packaged() -> frozenset[str]:
    return frozenset(path.stem for path in FOLDER.glob("*.json")) - {"others"}


@lru_cache
def _measured(gpu_id: str) -> Energies:
    return _decoded(FOLDER / f"{gpu_id}.json", Energies)


@lru_cache(maxsize=256)
def _carried(
    gpu_id: str, architecture: str, memory: str, limit_w: float, boost_hz: float
) -> Energies | None:
    others = _decoded(FOLDER / "others.json", Others)
    base = _measured(others.like)
    logic = _begins(others.processes, architecture)
    if logic is None or not boost_hz:
        return None
    dram = _begins(others.memories, memory)
    like = find_gpu(others.like)
    share = limit_w / (like.tdp_w or limit_w)
    t = logic.times
    on_tensor = t if logic.tensor is None else logic.tensor
    return msgspec.structs.replace(
        base,
        gpu=gpu_id,
        source=f"{logic.source}; {dram.source if dram else others.source}",
        clock_hz=base.clock_hz if architecture == like.architecture else boost_hz,
        idle_w=base.idle_w * share,
        clocked_w=base.clocked_w * share,
        busy_w=base.busy_w * share,
        tensor_j_per_flop={d: j * on_tensor for d, j in base.tensor_j_per_flop.items()},
        vector_j_per_flop={d: j * t for d, j in base.vector_j_per_flop.items()},
        tensor_w=base.tensor_w * share,
        instruction_j=base.instruction_j * t,
        lane_j=base.lane_j * t,
        l2_j_per_byte=base.l2_j_per_byte * t,
        dram_j_per_byte=base.dram_j_per_byte * (dram.times if dram else others.default_memory),
        launch_j=base.launch_j * share,
        collective_w=base.collective_w * share,
        link_j_per_byte=base.link_j_per_byte * t,
        interval=others.interval,
    )


def _begins(table: dict[str, Process], name: str) -> Process | None:
    """The entry of the longest key that is a prefix of the name."""
    known = [key for key in table if name.lower().startswith(key.lower())]
    return table[max(known, key=len)] if known else None


def _decoded(path: Path, kind: type[_Kind]) -> _Kind:
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except (OSError, msgspec.MsgspecError) as error:
        raise InputError(
            f"{path.name} is not a valid file of energies: {error}; fit again with "
            "`python -m calibration.fit.energy`"
        ) from None


class ChipJoules(NamedTuple):
    """Joules of works at the highest clock that depend on the voltage: `tensor_j` of the tensor
    cores, `chip_j` of all other parts of the chip. Neither includes DRAM."""

    chip_j: Floats
    tensor_j: Floats


def chip_joules(
    works: Sequence[Work],
    counts: Sequence[int] | None,
    compute_s: Floats,
    gpu: GPU,
    known: Energies,
) -> ChipJoules:
    """The joules of each work, which computes for `compute_s`."""
    amounts = [features(work, gpu) for work in works]
    watts = [known.computing_w(work, gpu) for work in works]
    on_tensor = [computing(work) == "tensor" for work in works]
    names = {name for each in amounts for name in each}
    joules_of = {name: known.each(name) for name in names}
    of_tensor = {name: name.startswith("tensor") for name in names}

    def joules(tensor: bool) -> Floats:
        of_amounts = [
            sum([joules_of[n] * x for n, x in each.items() if of_tensor[n] is tensor])
            for each in amounts
        ]
        of_time = [w if on is tensor else 0.0 for w, on in zip(watts, on_tensor, strict=True)]
        return stacked(of_amounts, counts) + stacked(of_time, counts) * compute_s

    return ChipJoules(joules(False), joules(True))


def lanes_per_s(gpu: GPU) -> float:
    """Instructions per second of all vector lanes."""
    return peak_flops_per_s(gpu, "vector", "float32") / 2


def computing(work: Work) -> str:
    """The part of the chip that draws power while a kernel computes, in addition to its `features`:
    "tensor" cores, vector "lanes", or neither ("")."""
    if work.engine == "tensor":
        return "tensor"
    return "" if _multiplies(work) or work.family in _COUNTED else "lanes"


def filled(work: Work) -> Any:
    """The share of the rows of an attention's tiles that are queries. The others are zeros, which
    draw little power: a decode has one query in a tile."""
    if work.family != "attention" or "tile" not in work.dims:
        return 1.0
    queries, rows = work.dims["sq"], work.dims["tile"][0]
    return queries / (-(-queries // rows) * rows)


def _multiplies(work: Work) -> bool:
    """Whether vector lanes multiply tiles in registers. False for a depthwise convolution, which
    loads the operands of each product."""
    return work.family in _PRODUCTS and not work.dims.get("depthwise")


def features(work: Work, gpu: GPU) -> dict[str, Any]:
    """The amounts of a work that cost energy on the chip: FLOPs as "tensor_bf16" or "vector_fp32",
    and the numbers of "instruction" (if they are counted), "l2_byte" and "launch"."""
    amounts: dict[str, Any] = {"l2_byte": work.bytes, "launch": 1}
    short = _SHORT.get(work.dtype, "fp32")
    flops = work.dims.get("fraction", 1.0) * work.flops
    if work.engine == "tensor" and gpu.peak("tensor", short):
        return {**amounts, f"tensor_{short}": flops}
    if work.engine == "tensor" or _multiplies(work):
        return {**amounts, f"vector_{short}": flops}
    return {**amounts, "instruction": work.instructions} if work.family in _COUNTED else amounts
