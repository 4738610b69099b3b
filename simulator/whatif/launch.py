"""What if the host launched otherwise?"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import msgspec

from simulator.fusion.rules import level_of
from simulator.hardware.host import PYTHON, hosts
from simulator.hardware.host import host as find_host
from simulator.modes import Mode, compiles
from simulator.scenario.apply import whatif
from simulator.scenario.parameters import Names, Range, Unit
from simulator.scenario.resolve import faster_host
from simulator.scenario.resolved import ResolvedScenario
from simulator.whatif.edits.waiting import Unwaited


@whatif("launch")
def cuda_graph(setting: ResolvedScenario) -> ResolvedScenario:
    """The step captured once and replayed: one launch, and a gap between kernels; a compiled step
    as its fused kernels, all in one (torch.compile's own graphs are mode=reduce-overhead)."""
    if compiles(setting.mode):
        level = setting.fusion or level_of(setting.mode)
        return replace(setting, mode="cuda_graph", fusion=level)
    return replace(setting, mode="cuda_graph")


@whatif("launch")
def mode(setting: ResolvedScenario, to: Mode = "eager") -> ResolvedScenario:
    """How the host drives the GPU; compiled is torch.compile, reduce-overhead the same in CUDA
    graphs."""
    return replace(setting, mode=to, fusion=None)


@whatif("launch")
def no_python(setting: ResolvedScenario) -> ResolvedScenario:
    """Python takes no time, and nothing is fused: a step driven from C++, or traced
    by torch.jit or torch.fx; dispatch remains."""
    seconds = {n: 0.0 if n in PYTHON else s for n, s in setting.host.seconds.items()}
    return replace(setting, host=msgspec.structs.replace(setting.host, seconds=seconds))


@whatif("launch")
def host_speed(
    setting: ResolvedScenario, times: Annotated[float, Range(0.01, 100, log=True), Unit("×")] = 2.0
) -> ResolvedScenario:
    """A host that does everything this many times as fast, launches and waits included."""
    return replace(setting, host=faster_host(setting.host, times))


@whatif("launch")
def host(setting: ResolvedScenario, to: Annotated[str, Names(hosts)]) -> ResolvedScenario:
    """Another host of the catalogue."""
    return replace(setting, host=find_host(to))


@whatif("launch")
def launch_latency(
    setting: ResolvedScenario,
    microseconds: Annotated[float, Range(0, 1000), Unit("µs")] = 2.5,
) -> ResolvedScenario:
    """From a launch call to the kernel's start on an idle GPU."""
    changed = msgspec.structs.replace(setting.host, latency_s=microseconds / 1e6)
    return replace(setting, host=changed)


@whatif("launch")
def launch_cost(
    setting: ResolvedScenario, times: Annotated[float, Range(0.01, 100, log=True), Unit("×")] = 0.5
) -> ResolvedScenario:
    """Everything that a launch costs, this many times as now: the host's call, its way to the GPU,
    and the gaps between kernels and between a graph's nodes."""
    old = setting.host
    host = msgspec.structs.replace(
        old,
        latency_s=old.latency_s * times,
        seconds=dict(old.seconds) | {"launch": old.launch_s * times},
    )
    return replace(setting, host=host, gap_times=setting.gap_times * times)


@whatif("launch")
def queue_depth(
    setting: ResolvedScenario,
    launches: Annotated[int, Range(1, 1 << 20, log=True), Unit("launches")],
) -> ResolvedScenario:
    """Launches that the GPU's queue holds before the host must wait."""
    return replace(setting, host=msgspec.structs.replace(setting.host, depth=launches))


@whatif("launch")
def no_syncs(setting: ResolvedScenario) -> ResolvedScenario:
    """The host never waits for the GPU within a step: .item(), nonzero() and copies to the host
    run, and nobody waits for their results."""
    return setting.edited(Unwaited())
