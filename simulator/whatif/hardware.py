"""What if the GPU were another, or had other figures?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, Literal

import msgspec

from simulator.errors import InputError
from simulator.hardware.gpu import DTYPES, GPU
from simulator.hardware.gpu import gpu as find_gpu
from simulator.scenario.apply import whatif
from simulator.scenario.parameters import Names, Range, Unit
from simulator.scenario.resolved import ResolvedScenario
from simulator.timing.power import supply

Times = Annotated[float, Range(0.1, 10, log=True), Unit("×")]
_CHANGED = "the GPU's figures were changed: kernels keep the utilisation measured on the real one"


@whatif("hardware")
def gpu(setting: ResolvedScenario, to: str) -> ResolvedScenario:
    """Another GPU, by name or TOML file; figures scaled before are forgotten."""
    card = find_gpu(to)
    if setting.ask.saved and card.compute_capability != setting.gpu.compute_capability:
        setting = setting.noted(
            f"the saved trace was made for {setting.gpu.name}: {card.name} may dispatch other ops"
        )
    changed = tuple(note for note in setting.notes if note != _CHANGED)
    return replace(setting, gpu=card, notes=changed)


def _scaled(setting: ResolvedScenario, times: float, *names: str) -> ResolvedScenario:
    """The GPU with these figures times a factor; a figure that is not known stays unknown."""
    if times == 1:
        return setting
    changes: dict[str, Any] = {}
    for name in names:
        value: Any = getattr(setting.gpu, name)
        if isinstance(value, Mapping):
            changes[name] = {key: each * times for key, each in value.items()}  # pyright: ignore
        elif value is not None:
            changes[name] = round(value * times) if isinstance(value, int) else value * times
    if not changes:
        raise InputError(
            f"the data sheet of {setting.gpu.name} lacks {', '.join(names)}: expected a figure to "
            "scale; set it with +figure, or choose another GPU"
        )
    card = msgspec.structs.replace(setting.gpu, **changes)
    return replace(setting.noted(_CHANGED), gpu=card)


@whatif("hardware")
def bandwidth(setting: ResolvedScenario, times: Times = 2.0) -> ResolvedScenario:
    """DRAM bandwidth, this many times the data sheet's; the units keep as many bytes in flight as
    before, which can be the limit."""
    return _scaled(setting, times, "bandwidth_bytes_per_s")


@whatif("hardware")
def tensor_peak(setting: ResolvedScenario, times: Times = 1.5) -> ResolvedScenario:
    """Peak FLOP/s of the tensor cores, at every dtype."""
    return _scaled(setting, times, "tensor_flops_per_s")


@whatif("hardware")
def vector_peak(setting: ResolvedScenario, times: Times = 1.5) -> ResolvedScenario:
    """Peak FLOP/s of the vector units, at every dtype; their issue rate follows."""
    return _scaled(setting, times, "vector_flops_per_s")


@whatif("hardware")
def l2(setting: ResolvedScenario, times: Times = 4.0) -> ResolvedScenario:
    """Size of the L2 cache."""
    return _scaled(setting, times, "l2_bytes")


@whatif("hardware")
def l2_bandwidth(setting: ResolvedScenario, times: Times = 2.0) -> ResolvedScenario:
    """Bandwidth of the L2 cache."""
    return _scaled(setting, times, "l2_bandwidth_bytes_per_s")


@whatif("hardware")
def memory(setting: ResolvedScenario, times: Times = 2.0) -> ResolvedScenario:
    """Size of the memory: what fits; it changes no time."""
    return _scaled(setting, times, "memory_bytes")


@whatif("hardware")
def sustained_clock(
    setting: ResolvedScenario, times: Annotated[float, Range(0.1, 2), Unit("×")] = 0.8
) -> ResolvedScenario:
    """The highest clock, this many times the data sheet's: peaks, issue and L2 follow, DRAM does
    not. A step that the power limit holds below it gains nothing."""
    return _scaled(
        setting,
        times,
        "boost_hz",
        "tensor_hz",
        "tensor_flops_per_s",
        "vector_flops_per_s",
        "l2_bandwidth_bytes_per_s",
    )


@whatif("hardware")
def power_limit(
    setting: ResolvedScenario, watts: Annotated[float, Range(5, 2000, log=True), Unit("W")] = 500.0
) -> ResolvedScenario:
    """A lower power limit of the card, as `nvidia-smi -pl` sets it: the clock settles where the
    mean power of the step is within it."""
    own = setting.gpu.power_limit_w or setting.gpu.tdp_w
    if own == watts:
        return setting
    if setting.gpu.tdp_w is not None and watts > setting.gpu.tdp_w:
        raise InputError(
            f"power_limit: watts is {watts:g}: {setting.gpu.name} is made for "
            f"{setting.gpu.tdp_w:g} W at most; choose a lower limit"
        )
    limit_w = None if watts == setting.gpu.tdp_w else watts
    card = msgspec.structs.replace(setting.gpu, power_limit_w=limit_w)
    if supply(card) is None:
        raise InputError(
            f"power_limit: nothing is known of the power that {card.name} draws: expected a card "
            "of a known architecture, with tdp_w in its file; choose another GPU"
        )
    return replace(setting, gpu=card)


@whatif("hardware")
def rate(
    setting: ResolvedScenario,
    of: Literal["compute", "memory", "overhead", "all"] = "all",
    times: Times = 2.0,
) -> ResolvedScenario:
    """Everything that computes, moves data or is overhead this many times as fast: the rates whose
    elasticities are the shares; with all three the step is as many times as fast."""
    names = ("compute", "memory", "overhead") if of == "all" else (of,)
    changes = {name: getattr(setting.rates, name) * times for name in names}
    return replace(setting, rates=replace(setting.rates, **changes))


_NUMBERS = (
    "memory_bytes", "bandwidth_bytes_per_s", "units", "boost_hz", "tensor_hz", "l2_bytes",
    "l2_bandwidth_bytes_per_s",
)  # fmt: skip
_PEAKS = tuple(f"{e}_flops_per_s.{d}" for e in ("tensor", "vector") for d in DTYPES)


@whatif("hardware")
def figure(
    setting: ResolvedScenario,
    of: Annotated[str, Names(lambda: (*_NUMBERS, *_PEAKS))],
    value: Annotated[float, Range(1, 1e18, log=True)],
) -> ResolvedScenario:
    """One figure of the GPU set, in SI units: bytes, bytes/s, FLOP/s, Hz."""
    name, _, dtype = of.partition(".")
    old: Any = getattr(setting.gpu, name)
    if dtype:
        changed: Any = dict(old) | {dtype: value}
    else:
        whole = name in ("memory_bytes", "units", "l2_bytes")
        changed = round(value) if whole else value
    if changed == old:
        return setting
    card: GPU = msgspec.structs.replace(setting.gpu, **{name: changed})
    return replace(setting.noted(_CHANGED), gpu=card)
