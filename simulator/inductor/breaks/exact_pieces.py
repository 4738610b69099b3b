"""The schedules of a step that Dynamo cuts into several graphs, as a trace of the graphs' launches
and the eager ops between them."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from dataclasses import replace as with_fields

from msgspec.structs import replace

from simulator.fusion.fused import Fused
from simulator.fusion.graphs import Graph, graphs
from simulator.fusion.group import Group
from simulator.inductor.answer import Answer
from simulator.inductor.breaks.handed_over import buffer_storages
from simulator.inductor.breaks.pieces import by_stretch
from simulator.inductor.exact_trace import eager_ops, launches, lives
from simulator.inductor.schedule import Origin, Schedule
from simulator.records import Op, Phase, Trace

_COMPILED: tuple[Phase, ...] = ("forward", "backward")


def exact_pieces(answer: Answer, ruled: Fused) -> Fused:
    """The step with the launches of the graphs' schedules.

    `ruled` is the step fused by rules, cut by `broken`. It provides the graphs without a schedule,
    the eager ops and the optimizer.
    """
    schedules, notes = _of_stretches(answer, ruled.origin)
    cuts = len(graphs(ruled.trace).cuts)
    if ruled.origin.phase == "training" and cuts != 4 * len(ruled.trace.breaks):
        schedules = {}
        notes = [
            "Dynamo cut the graphs, but the rules fuse each of them, because the breaks of the "
            "backward pass are unknown"
        ]
    if not schedules:
        return with_fields(ruled, notes=(*ruled.notes, *notes))
    first = next(iter(schedules.values()))
    which = "some graphs" if notes else "each graph"
    by = (
        f"{which} scheduled and written as source code by Inductor of torch "
        f"{first.torch_version} itself (triton {first.triton_version}); the optimizer stays eager"
    )
    return _Assembly(ruled, schedules, cuts).assemble((by, *notes))


def _of_stretches(answer: Answer, origin: Trace) -> tuple[dict[int, Schedule], list[str]]:
    """The schedules by stretch of the forward pass, and notes on the stretches without one."""
    by_stretch_: dict[int, Schedule] = {}
    missing = Counter[str]()
    for stretch, numbers in by_stretch(origin, answer.pieces).items():
        schedules = [answer.schedules[number] for number in numbers]
        if len(schedules) == 1 and isinstance(schedules[0], Schedule):
            if _same_sizes(schedules[0], origin, stretch):
                by_stretch_[stretch] = schedules[0]
            else:
                missing["it assumes different data-dependent sizes"] += 1
        else:
            refusals = (reason for reason in schedules if isinstance(reason, str))
            missing[next(refusals, "its ops cannot be separated from the next graph's")] += 1
    return by_stretch_, [
        f"the rules fuse {count} graph{'s' * (count > 1)}, which Inductor does not schedule: "
        f"{reason}"
        for reason, count in missing.items()
    ]


def _same_sizes(schedule: Schedule, origin: Trace, stretch: int) -> bool:
    """Whether each loop and library call of a schedule has the number of elements of some tensor of
    the eager ops. If sizes depend on data, the trace and the compiler may assume different ones."""
    if not origin.assumptions:
        return True
    eager_sizes = {
        tensor.numel
        for op, graph in zip(origin.ops, graphs(origin).of, strict=True)
        if graph == ("forward", stretch)
        for tensor in (*op.inputs, *op.outputs)
    }
    launch_sizes = {
        launch.call.outputs[0].numel if launch.call and launch.call.outputs else launch.elements
        for launch in schedule.launches
        if launch.phase == "forward"
    }
    return launch_sizes - {0} <= eager_sizes


@dataclass
class _Assembly:
    """The step while it is assembled; `schedules` holds the schedules by stretch of the forward
    pass."""

    ruled: Fused
    schedules: dict[int, Schedule]
    cuts: int
    ops: list[Op] = field(default_factory=list[Op])
    groups: list[Group] = field(default_factory=list[Group])
    stretches: list[int] = field(default_factory=list[int])

    def assemble(self, notes: tuple[str, ...]) -> Fused:
        trace, ruled = self.ruled.trace, self.ruled
        parts = graphs(trace)
        within: dict[Graph, list[int]] = defaultdict(list)
        for index, graph in enumerate(parts.of):
            within[graph].append(index)
        at_origin: dict[Graph, list[int]] = defaultdict(list)
        for index, graph in enumerate(graphs(ruled.origin).of):
            at_origin[graph].append(index)
        known: dict[Graph, tuple[Schedule, list[list[int]], list[int]]] = {}
        storages = list(trace.storages)
        for stretch, schedule in self.schedules.items():
            graph, back = self._graphs(stretch)
            sub = [*at_origin[graph], *at_origin[back]]
            local = replace(ruled.origin, ops=[ruled.origin.ops[i] for i in sub], breaks=[])
            ops_of = eager_ops(_named(schedule, local), local)
            number = buffer_storages(schedule, trace, [*within[graph], *within[back]], storages)
            scheduled = schedule, [[sub[op] for op in ops] for ops in ops_of], number
            known[graph] = known[back] = scheduled
        place = [0] * len(trace.ops)
        for graph in sorted({*within, *known}, key=lambda g: (_rank(g[0]), g[1])):
            for index in within.get(graph, []):
                place[index] = len(self.ops)
                if graph not in known:
                    self._add_op(index, graph[1])
            if graph in known:
                self._add_launches(*known[graph], graph)
        breaks = parts.breaks_between(trace.breaks, self.stretches)
        assumed = [replace(each, op=place[each.op]) for each in trace.assumptions]
        piece = replace(
            trace,
            ops=self.ops,
            storages=lives(storages, self.ops),
            breaks=breaks,
            assumptions=assumed,
        )
        return Fused(piece, self.groups, ruled.origin, notes)

    def _graphs(self, stretch: int) -> tuple[Graph, Graph]:
        """The forward and the backward graph of a stretch; the backward pass runs in reverse."""
        return ("forward", stretch), ("backward", self.cuts - stretch)

    def _add_op(self, index: int, stretch: int) -> None:
        self.ops.append(self.ruled.trace.ops[index])
        if index < len(self.ruled.groups):
            self.groups.append(self.ruled.groups[index])
            self.stretches.append(stretch)

    def _add_launches(
        self, schedule: Schedule, ops_of: list[list[int]], number: list[int], graph: Graph
    ) -> None:
        first = graph == ("backward", self.cuts // 2)
        for group, op in launches(schedule, (graph[0],), ops_of, number, first):
            self.groups.append(group)
            self.ops.append(op)
            self.stretches.append(graph[1])


def _rank(phase: Phase) -> int:
    return (*_COMPILED, "optimizer").index(phase)


def _named(schedule: Schedule, local: Trace) -> Schedule:
    """The schedule with module paths of the whole network in its origins: a graph has paths below
    the function in which it begins. Paths are matched by the order of the ops of each name, if the
    numbers of ops agree."""
    origins = list(schedule.origins)
    eager: dict[tuple[str, Phase], list[Op]] = defaultdict(list)
    for op in local.ops:
        eager[op.name, op.phase].append(op)
    named: dict[tuple[str, Phase], list[int]] = defaultdict(list)
    for place, each in enumerate(origins):
        named[each.op, each.phase].append(place)
    above = Counter[str]()
    modules: dict[int, str] = {}
    for key, places in named.items():
        if len(places) == len(eager[key]):
            for place, op in zip(places, eager[key], strict=True):
                modules[place] = op.module
                if op.module.endswith(origins[place].module):
                    above[op.module.removesuffix(origins[place].module)] += 1
    prefix = above.most_common(1)[0][0] if above else ""
    numbers = Counter[tuple[str, str, Phase]]()
    for place, each in enumerate(origins):
        module = modules.get(place, f"{prefix}{each.module}".removesuffix("."))
        origins[place] = Origin(each.op, module, each.phase, numbers[each.op, module, each.phase])
        numbers[each.op, module, each.phase] += 1
    return replace(schedule, origins=origins)
