"""What-ifs of the GPU: another one, or one with other figures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from msgspec.structs import replace

from simulator.errors import InputError
from simulator.hardware.gpu import DTYPES, GPU
from simulator.hardware.gpu import gpu as find_gpu
from simulator.scenario.apply import whatif
from simulator.scenario.parameters import Names, Range, Unit
from simulator.scenario.resolved import ResolvedScenario
from simulator.scenario.trial import Trial
from simulator.timing.energies import energies

Times = Annotated[float, Range(0.1, 10, log=True), Unit("×")]
_CARDS = ("a100_sxm_80", "b200_sxm", "h100_sxm", "h200_sxm", "l40s", "mi300x", "rtx4090")
_CHANGED = "the GPU's figures were changed: kernels keep the utilisation measured on the real GPU"


@whatif(
    "hardware",
    *(Trial(f"+gpu={name}", (), "", "machine") for name in _CARDS),
    sentence=lambda a: f"Run on {find_gpu(str(a['to'])).name}",
)
def gpu(resolved: ResolvedScenario, to: str) -> ResolvedScenario:
    """Another GPU, by name or TOML file. Earlier changes of GPU figures no longer apply."""
    card = find_gpu(to)
    if resolved.request.saved and card.compute_capability != resolved.gpu.compute_capability:
        resolved = resolved.noted(
            f"the saved trace was made for {resolved.gpu.name}: {card.name} may dispatch other ops"
        )
    changed = tuple(note for note in resolved.notes if note != _CHANGED)
    return replace(resolved, gpu=card, notes=changed)


def _scaled(resolved: ResolvedScenario, times: float, *names: str) -> ResolvedScenario:
    """Scale figures of the GPU. A figure that is not known stays unknown."""
    if times == 1:
        return resolved
    changes: dict[str, Any] = {}
    for name in names:
        value: Any = getattr(resolved.gpu, name)
        if isinstance(value, Mapping):
            changes[name] = {key: peak * times for key, peak in value.items()}  # pyright: ignore
        elif value is not None:
            changes[name] = round(value * times) if isinstance(value, int) else value * times
    if not changes:
        raise InputError(
            f"the data sheet of {resolved.gpu.name} lacks {', '.join(names)}: expected a figure to "
            "scale; set it with +figure, or choose another GPU"
        )
    card = replace(resolved.gpu, **changes)
    return replace(resolved.noted(_CHANGED), gpu=card)


@whatif(
    "hardware",
    Trial("+bandwidth=2", ("memory",), "DRAM twice as fast", "machine"),
    sentence="Use memory with {times} the bandwidth",
)
def bandwidth(resolved: ResolvedScenario, times: Times = 2.0) -> ResolvedScenario:
    """DRAM bandwidth, as a multiple of the data sheet's. The number of bytes in flight does not
    change, and can become the limit."""
    return _scaled(resolved, times, "bandwidth_bytes_per_s")


@whatif(
    "hardware",
    Trial("+tensor_peak=2", ("compute",), "tensor cores twice as fast", "machine"),
    sentence="Use tensor cores {times} as fast",
)
def tensor_peak(resolved: ResolvedScenario, times: Times = 1.5) -> ResolvedScenario:
    """Peak FLOP/s of the tensor cores, at every dtype."""
    return _scaled(resolved, times, "tensor_flops_per_s")


@whatif(
    "hardware",
    Trial("+vector_peak=2", ("compute",), "vector units twice as fast", "machine"),
    sentence="Use vector units {times} as fast",
)
def vector_peak(resolved: ResolvedScenario, times: Times = 1.5) -> ResolvedScenario:
    """Peak FLOP/s of the vector units, at every dtype; their issue rate follows."""
    return _scaled(resolved, times, "vector_flops_per_s")


@whatif(
    "hardware",
    Trial("+l2=4", ("memory",), "more of the data just written is read from L2", "machine"),
    sentence="Use an L2 cache of {times} the size",
)
def l2(resolved: ResolvedScenario, times: Times = 4.0) -> ResolvedScenario:
    """Size of the L2 cache."""
    return _scaled(resolved, times, "l2_bytes")


@whatif(
    "hardware",
    Trial("+l2_bandwidth=2", ("memory",), "data in L2 is read twice as fast", "machine"),
    sentence="Use an L2 cache with {times} the bandwidth",
)
def l2_bandwidth(resolved: ResolvedScenario, times: Times = 2.0) -> ResolvedScenario:
    """Bandwidth of the L2 cache."""
    return _scaled(resolved, times, "l2_bandwidth_bytes_per_s")


@whatif(
    "hardware",
    untried="the size of memory does not change the time; use seek to find what fits",
)
def memory(resolved: ResolvedScenario, times: Times = 2.0) -> ResolvedScenario:
    """Size of the memory. It decides whether a step fits; times do not change."""
    return _scaled(resolved, times, "memory_bytes")


@whatif(
    "hardware",
    Trial("+sustained_clock=1.1", ("compute",), "a higher clock", "machine"),
    sentence="Raise the clock to {times} its value",
)
def sustained_clock(
    resolved: ResolvedScenario, times: Annotated[float, Range(0.1, 2), Unit("×")] = 0.8
) -> ResolvedScenario:
    """The highest clock, as a multiple of the data sheet's. Peaks, issue rate and L2 scale with it,
    DRAM does not. A step that the power limit keeps below this clock gains nothing."""
    return _scaled(
        resolved,
        times,
        "boost_hz",
        "tensor_hz",
        "tensor_flops_per_s",
        "vector_flops_per_s",
        "l2_bandwidth_bytes_per_s",
    )


@whatif("hardware", untried="a lower limit makes nothing faster")
def power_limit(
    resolved: ResolvedScenario,
    watts: Annotated[float, Range(5, 2000, log=True, by_whatif=True), Unit("W")] = 500.0,
) -> ResolvedScenario:
    """A lower power limit of the GPU, as `nvidia-smi -pl` sets it: more than the GPU draws without
    work, up to its TDP. The clock settles at the value at which the mean power of the step meets
    the limit."""
    card = resolved.gpu
    if (card.power_limit_w or card.tdp_w) == watts:
        return resolved
    known = energies(card)
    if known is None or card.tdp_w is None:
        raise InputError(
            f"power_limit: the power draw of {card.name} is unknown: expected a GPU of a known "
            "architecture with tdp_w in its file; choose another GPU"
        )
    if not known.idle_w < watts <= card.tdp_w:
        raise InputError(
            f"power_limit: watts is {watts:g}: expected more than {known.idle_w:.0f}, which "
            f"{card.name} draws without work, up to its TDP of {card.tdp_w:g}; correct it"
        )
    limit_w = None if watts == card.tdp_w else watts
    return replace(resolved, gpu=replace(card, power_limit_w=limit_w))


@whatif("hardware", untried="the shares show its effect")
def rate(
    resolved: ResolvedScenario,
    of: Literal["compute", "memory", "overhead", "all"] = "all",
    times: Times = 2.0,
) -> ResolvedScenario:
    """Speed up all compute, data movement or overhead by a factor. The shares are the
    elasticities of these rates; all three together speed up the step by the same factor."""
    names = ("compute", "memory", "overhead") if of == "all" else (of,)
    changes = {name: getattr(resolved.rates, name) * times for name in names}
    return replace(resolved, rates=replace(resolved.rates, **changes))


_NUMBERS = (
    "memory_bytes", "bandwidth_bytes_per_s", "units", "boost_hz", "tensor_hz", "l2_bytes",
    "l2_bandwidth_bytes_per_s",
)  # fmt: skip
_PEAKS = tuple(f"{e}_flops_per_s.{d}" for e in ("tensor", "vector") for d in DTYPES)


@whatif("hardware", untried="the figures are tried by name")
def figure(
    resolved: ResolvedScenario,
    of: Annotated[str, Names(lambda: (*_NUMBERS, *_PEAKS))],
    value: Annotated[float, Range(1, 1e18, log=True)],
) -> ResolvedScenario:
    """Set one figure of the GPU, in SI units: bytes, bytes/s, FLOP/s, Hz."""
    name, _, dtype = of.partition(".")
    old: Any = getattr(resolved.gpu, name)
    if dtype:
        changed: Any = dict(old) | {dtype: value}
    else:
        whole = name in ("memory_bytes", "units", "l2_bytes")
        changed = round(value) if whole else value
    if changed == old:
        return resolved
    card: GPU = replace(resolved.gpu, **{name: changed})
    return replace(resolved.noted(_CHANGED), gpu=card)
