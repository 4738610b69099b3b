"""The schedules of a step that Dynamo cuts into several graphs, as a trace: each graph's own
launches, and the eager ops between them as they are."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from dataclasses import replace as with_fields

from msgspec.structs import replace

from simulator.fusion.fused import Fused
from simulator.fusion.graphs import Graph, graphs
from simulator.fusion.group import Group
from simulator.inductor.answer import Answer
from simulator.inductor.exact_trace import eager_ops, launches, lives
from simulator.inductor.handed_over import buffer_storages
from simulator.inductor.pieces import by_stretch
from simulator.inductor.schedule import Origin, Schedule
from simulator.records import Op, Phase, Trace

_COMPILED: tuple[Phase, ...] = ("forward", "backward")


def exact_pieces(answer: Answer, ruled: Fused) -> Fused:
    """`ruled` is what level 2 made of the step as `broken` cut it: it answers for a graph that has
    no schedule, for what runs eagerly, and for the optimizer."""
    schedules, notes = _of_stretches(answer, ruled.origin)
    cuts = len(graphs(ruled.trace).cuts)
    if ruled.origin.phase == "training" and cuts != 4 * len(ruled.trace.breaks):
        schedules = {}
        notes = [
            "the graphs are Dynamo's, and what each fuses is the rules' answer: where the "
            "backward pass leaves them is not known"
        ]
    if not schedules:
        return with_fields(ruled, notes=(*ruled.notes, *notes))
    some = next(iter(schedules.values()))
    which = "some graphs" if notes else "each graph"
    by = (
        f"{which} compiled by Inductor of torch {some.torch_version} itself (triton "
        f"{some.triton_version}), up to source code; the optimizer stays eager"
    )
    return _Assembling(ruled, schedules, cuts).made((by, *notes))


def _of_stretches(answer: Answer, origin: Trace) -> tuple[dict[int, Schedule], list[str]]:
    """By stretch of the forward pass its schedule; and what is to be said of those without."""
    found: dict[int, Schedule] = {}
    lacking = Counter[str]()
    for stretch, numbers in by_stretch(origin, answer.pieces).items():
        known = [answer.schedules[number] for number in numbers]
        if len(known) == 1 and isinstance(known[0], Schedule):
            if _sized(known[0], origin, stretch):
                found[stretch] = known[0]
            else:
                lacking["sizes that depend on data are taken otherwise there"] += 1
        else:
            lacking[
                next(
                    (why for why in known if isinstance(why, str)),
                    "its ops cannot be told from the next one's",
                )
            ] += 1
    return found, [
        f"the rules answer for {many} graph{'s' * (many > 1)}, which Inductor does not schedule: "
        f"{why}"
        for why, many in lacking.items()
    ]


def _sized(schedule: Schedule, origin: Trace, stretch: int) -> bool:
    """Are its loops and library calls over as many elements as tensors of its eager ops have? Where
    sizes depend on data, the trace and the compiler may have taken other ones."""
    if not origin.assumptions:
        return True
    there = {
        tensor.numel
        for op, graph in zip(origin.ops, graphs(origin).of, strict=True)
        if graph == ("forward", stretch)
        for tensor in (*op.inputs, *op.outputs)
    }
    over = {
        launch.call.outputs[0].numel if launch.call and launch.call.outputs else launch.elements
        for launch in schedule.launches
        if launch.phase == "forward"
    }
    return over - {0} <= there


@dataclass
class _Assembling:
    """The step as it is put together, its graphs' schedules by stretch of the forward pass."""

    ruled: Fused
    schedules: dict[int, Schedule]
    cuts: int
    ops: list[Op] = field(default_factory=list[Op])
    groups: list[Group] = field(default_factory=list[Group])
    stretches: list[int] = field(default_factory=list[int])

    def made(self, notes: tuple[str, ...]) -> Fused:
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
            told = schedule, [[sub[op] for op in ops] for ops in ops_of], number
            known[graph] = known[back] = told
        place = [0] * len(trace.ops)
        for graph in sorted({*within, *known}, key=lambda g: (_rank(g[0]), g[1])):
            for index in within.get(graph, []):
                place[index] = len(self.ops)
                if graph not in known:
                    self._kept(index, graph[1])
            if graph in known:
                self._compiled(*known[graph], graph)
        breaks = parts.breaks_between(trace.breaks, self.stretches)
        assumed = [replace(each, op=place[each.op]) for each in trace.assumptions]
        made = replace(
            trace,
            ops=self.ops,
            storages=lives(storages, self.ops),
            breaks=breaks,
            assumptions=assumed,
        )
        return Fused(made, self.groups, ruled.origin, notes)

    def _graphs(self, stretch: int) -> tuple[Graph, Graph]:
        """Of a stretch of the forward pass: it, and its backward pass, which goes the other way."""
        return ("forward", stretch), ("backward", self.cuts - stretch)

    def _kept(self, index: int, stretch: int) -> None:
        self.ops.append(self.ruled.trace.ops[index])
        if index < len(self.ruled.groups):
            self.groups.append(self.ruled.groups[index])
            self.stretches.append(stretch)

    def _compiled(
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
    """Its origins with the paths that their modules have in the whole network: a graph knows those
    beneath the function that it begins in. Told by the order of the ops of each name, where there
    are as many."""
    origins = list(schedule.origins)
    there: dict[tuple[str, Phase], list[Op]] = defaultdict(list)
    for op in local.ops:
        there[op.name, op.phase].append(op)
    named: dict[tuple[str, Phase], list[int]] = defaultdict(list)
    for place, each in enumerate(origins):
        named[each.op, each.phase].append(place)
    above = Counter[str]()
    modules: dict[int, str] = {}
    for key, places in named.items():
        if len(places) == len(there[key]):
            for place, op in zip(places, there[key], strict=True):
                modules[place] = op.module
                if op.module.endswith(origins[place].module):
                    above[op.module.removesuffix(origins[place].module)] += 1
    prefix = above.most_common(1)[0][0] if above else ""
    seen = Counter[tuple[str, str, Phase]]()
    for place, each in enumerate(origins):
        module = modules.get(place, f"{prefix}{each.module}".removesuffix("."))
        origins[place] = Origin(each.op, module, each.phase, seen[each.op, module, each.phase])
        seen[each.op, module, each.phase] += 1
    return replace(schedule, origins=origins)
