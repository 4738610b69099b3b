"""What-ifs of the host and of launches."""

from __future__ import annotations

from typing import Annotated

from msgspec.structs import replace

from simulator.fusion.rules import level_of
from simulator.hardware.host import PYTHON, hosts
from simulator.hardware.host import host as find_host
from simulator.modes import Mode, compiles
from simulator.scenario.apply import whatif
from simulator.scenario.parameters import Names, Range, Unit
from simulator.scenario.resolve import faster_host
from simulator.scenario.resolved import ResolvedScenario
from simulator.scenario.trial import Trial
from simulator.whatif.edits.waiting import Unwaited


@whatif(
    "launch",
    Trial("+cuda_graph", ("overhead",), "a graph replays all launches at once", "code"),
    sentence="Capture the step in a CUDA graph",
)
def cuda_graph(resolved: ResolvedScenario) -> ResolvedScenario:
    """Capture the step once and replay it: one launch, and a gap between kernels. A compiled step
    replays its fused kernels as one graph (torch.compile's own graphs: mode=reduce-overhead)."""
    if compiles(resolved.mode):
        level = resolved.fusion or level_of(resolved.mode)
        return replace(resolved, mode="cuda_graph", fusion=level)
    return replace(resolved, mode="cuda_graph")


@whatif("launch", untried="tried as cuda_graph and as fusion")
def mode(resolved: ResolvedScenario, to: Mode = "eager") -> ResolvedScenario:
    """How the host drives the GPU: compiled is torch.compile, reduce-overhead is torch.compile with
    CUDA graphs."""
    return replace(resolved, mode=to, fusion=None)


@whatif(
    "launch",
    Trial("+no_python", ("overhead",), "tracing the step takes Python out of it", "code"),
    sentence="Drive the step without Python",
)
def no_python(resolved: ResolvedScenario) -> ResolvedScenario:
    """Python takes no time, and nothing is fused: a step driven from C++, or traced by torch.jit or
    torch.fx. Dispatch remains."""
    seconds = {n: 0.0 if n in PYTHON else s for n, s in resolved.host.seconds.items()}
    return replace(resolved, host=replace(resolved.host, seconds=seconds))


@whatif(
    "launch",
    Trial("+host_speed=2", ("overhead",), "a host twice as fast issues twice as much", "machine"),
    sentence="Use a host {times} as fast",
)
def host_speed(
    resolved: ResolvedScenario, times: Annotated[float, Range(0.01, 100, log=True), Unit("×")] = 2.0
) -> ResolvedScenario:
    """A host that does everything this many times as fast, including launches and waits."""
    return replace(resolved, host=faster_host(resolved.host, times))


@whatif("launch", untried="only one host is known; tried as host_speed")
def host(resolved: ResolvedScenario, to: Annotated[str, Names(hosts)]) -> ResolvedScenario:
    """Another host of the catalogue."""
    return replace(resolved, host=find_host(to))


@whatif(
    "launch",
    Trial("+launch_latency=2.5", ("overhead",), "launches arrive sooner", "machine"),
    sentence="Start kernels {microseconds} µs after launch",
)
def launch_latency(
    resolved: ResolvedScenario,
    microseconds: Annotated[float, Range(0, 1000), Unit("µs")] = 2.5,
) -> ResolvedScenario:
    """Time from a launch call to the kernel's start on an idle GPU."""
    changed = replace(resolved.host, latency_s=microseconds / 1e6)
    return replace(resolved, host=changed)


@whatif(
    "launch",
    Trial("+launch_cost=0.5", ("overhead",), "launches cost half as much", "machine"),
    sentence="Make launches cost {times} as much",
)
def launch_cost(
    resolved: ResolvedScenario, times: Annotated[float, Range(0.01, 100, log=True), Unit("×")] = 0.5
) -> ResolvedScenario:
    """Multiply all costs of a launch: the host's call, the latency to the GPU, and
    the gaps between kernels and between nodes of a graph."""
    old = resolved.host
    host = replace(
        old,
        latency_s=old.latency_s * times,
        seconds=dict(old.seconds) | {"launch": old.launch_s * times},
    )
    return replace(resolved, host=host, gap_times=resolved.gap_times * times)


@whatif(
    "launch",
    Trial("+queue_depth=4096", ("overhead",), "a longer queue lets the host run ahead", "machine"),
    sentence="Queue up to {launches} launches",
)
def queue_depth(
    resolved: ResolvedScenario,
    launches: Annotated[int, Range(1, 1 << 20, log=True), Unit("launches")],
) -> ResolvedScenario:
    """Launches that the GPU's queue holds before the host waits."""
    return replace(resolved, host=replace(resolved.host, depth=launches))


@whatif(
    "launch",
    Trial("+no_syncs", ("overhead",), "without waits within a step the host runs ahead", "code"),
    sentence="Do not wait for the GPU within the step",
)
def no_syncs(resolved: ResolvedScenario) -> ResolvedScenario:
    """The host never waits for the GPU within a step: .item(), nonzero() and copies to the host run
    without a wait for their results."""
    return resolved.edited(Unwaited())
