"""A step as a block diagram: ops with their bytes and times, the values between them, the sets that
a scenario fuses, and the effect of fusing one more set."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from simulator.costs import works
from simulator.errors import InputError
from simulator.fusion.fused import Fused
from simulator.fusion.scheduling.chosen import Chosen
from simulator.lowering.registry import launches
from simulator.modes import compiles
from simulator.prediction import REGIMES, Prediction, Regime
from simulator.scenario.apply import apply
from simulator.scenario.module_pattern import ALL
from simulator.scenario.predict import predict_resolved
from simulator.scenario.resolve import resolve
from simulator.scenario.scenario import Applied, Scenario
from simulator.whatif.edits.fusing import Choice, FusedOps, kernels_of

OUTSIDE = -1


@dataclass(frozen=True)
class Block:
    """An op that launches kernels: its place in the trace, and sums over its kernels."""

    op: int
    name: str
    module: str
    regime: Regime
    bytes: int
    seconds: float
    launches: int


@dataclass(frozen=True)
class Flow:
    """A value that one op writes and another op reads; OUTSIDE stands for the rest of the step.
    Weights are left out."""

    maker: int
    reader: int
    bytes: int


@dataclass(frozen=True)
class Set:
    """Ops that run as one kernel, and the bytes that this saves; `launches` also counts the kernels
    that prepare it, such as the fill of a product's workspace. `choice` is the what-if that fuses
    them, None if a compiler fuses them."""

    members: tuple[int, ...]
    bytes_saved: int
    launches: int
    launches_removed: int
    choice: Choice | None


@dataclass(frozen=True)
class Trial:
    """The effect of fusing ops. `arguments` are those of the what-if `fuse`, `count` is the number
    of kernels that it creates; bytes and launches are sums over these kernels. `refused` is the
    reason why the ops cannot be fused."""

    members: tuple[int, ...]
    refused: str = ""
    arguments: tuple[tuple[str, str], ...] = ()
    count: int = 0
    bytes_saved: int = 0
    launches: int = 0
    launches_removed: int = 0
    after: Prediction | None = None


class BlockDiagram:
    """A scenario's step before fusion: its `blocks` by op, in order, and the `sets` that it
    fuses."""

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.unfused = _unfused(scenario)
        self.before = predict_resolved(resolve(self.unfused))
        self.chosen = Chosen(self.before.trace)
        self.blocks = self._blocks()
        self.sets = self._sets()

    def _blocks(self) -> dict[int, Block]:
        """The ops that launch kernels, in order."""
        p, c = self.before, self.before.columns
        count = len(p.trace.ops)
        computing = c.compute_s >= c.memory_s
        parts = np.stack(
            [np.where(computing, c.compute_s, 0.0), np.where(computing, 0.0, c.memory_s), c.fixed_s]
        )
        own = np.stack([np.bincount(c.op_of, each, count) for each in parts])
        seconds = np.bincount(c.op_of, c.duration_s, count)
        moved = np.array([work.bytes for work in p.works], float)[c.work_of]
        sizes = np.bincount(c.op_of, moved, count)
        counts = np.bincount(c.op_of, minlength=count)
        return {
            op: Block(
                op,
                _name(p, op),
                p.trace.ops[op].module,
                REGIMES[int(own[:, op].argmax())],
                int(sizes[op]),
                float(seconds[op]),
                int(counts[op]),
            )
            for op in np.flatnonzero(counts).tolist()
        }

    def flows(self, members: Iterable[int]) -> list[Flow]:
        """The values between these blocks, and those that enter or leave them."""
        flow, inside = self.chosen.flow, set(members)
        producer = {value: op for op in inside for value in flow.makes[op]}
        links: list[Flow] = []
        for op in sorted(inside):
            sizes = zip(flow.reads[op], self.before.trace.ops[op].inputs, strict=False)
            for value, tensor in dict(sizes).items():
                if value in producer or self.before.trace.storages[value[0]].role == "activation":
                    links.append(Flow(producer.get(value, OUTSIDE), op, tensor.nbytes))
            outputs = zip(flow.makes[op], self.before.trace.ops[op].outputs, strict=False)
            for value, tensor in dict(outputs).items():
                users = flow.users.get(value, [])
                if any(user not in inside for user in users) or (
                    not users and value in flow.stored
                ):
                    links.append(Flow(op, OUTSIDE, tensor.nbytes))
        return links

    def _sets(self) -> list[Set]:
        """The sets that the scenario fuses: chosen ones, else those of its compiler."""
        resolved = resolve(self.scenario)
        edit = next((e for e in resolved.edits if isinstance(e, FusedOps)), None)
        if edit is not None:
            return [
                self._set(kernel.members, choice)
                for choice in edit.choices
                for kernel in kernels_of(self.chosen, choice)
            ]
        fusion: Fused | None = None
        if compiles(resolved.mode) or resolved.fusion:
            fusion = predict_resolved(resolved).fusion
        groups = fusion.groups if fusion else []
        taken: set[int] = set()  # a backward kernel that computes an op again does not hold it
        sets: list[Set] = []
        for group in groups:
            ops = {op for node in group.nodes for op in node.ops if op in self.blocks} - taken
            taken |= ops
            if len(ops) > 1:
                sets.append(self._set(tuple(sorted(ops)), None))
        return sets

    def _set(self, members: tuple[int, ...], choice: Choice | None) -> Set:
        before = sum(self.blocks[op].launches for op in members if op in self.blocks)
        after = self._launches(members)
        return Set(members, self._saved(members), after, before - after, choice)

    def _launches(self, members: tuple[int, ...]) -> int:
        """The launches of a set: one if it may not be a valid kernel by these rules."""
        try:
            kernel = self.chosen.kernel(members)
        except InputError:
            return 1
        return len(launches(kernel.op.signature, self.before.gpu) or ()) or 1

    def _saved(self, members: tuple[int, ...]) -> int:
        """The bytes saved by a set: the traffic of its members minus the traffic of the set. A
        compiler's set may not be a valid kernel by these rules, because the compiler computes a
        value twice. Then the bytes of the values that stay inside the set count as saved, each
        written and read once."""
        before = sum(self.blocks[op].bytes for op in members if op in self.blocks)
        try:
            kernel = self.chosen.kernel(members)
        except InputError:
            inside = [f for f in self.flows(members) if OUTSIDE not in (f.maker, f.reader)]
            return 2 * sum({(f.maker, f.bytes): f.bytes for f in inside}.values())
        return before - sum(work.bytes for work in works(kernel.op.signature) or ())

    def tried(self, members: Iterable[int], everywhere: bool) -> Trial:
        """Predict the effect of fusing ops. With `everywhere`, they are fused in all matching
        layers if a pattern selects them."""
        numbers = tuple(sorted(members))
        try:
            arguments = self._arguments(numbers, everywhere)
            scenario = apply(self.scenario, "fuse", arguments)
            kernels = kernels_of(self.chosen, Choice(**arguments))
            after = predict_resolved(resolve(scenario))
        except InputError as error:
            return Trial(numbers, str(error).removeprefix("fuse: "))
        before = sum(self.blocks[op].launches for k in kernels for op in k.members)
        fused = sum(self._launches(k.members) for k in kernels)
        return Trial(
            numbers,
            "",
            tuple(arguments.items()),
            len(kernels),
            sum(self._saved(k.members) for k in kernels),
            fused,
            before - fused,
            after,
        )

    def _arguments(self, members: tuple[int, ...], everywhere: bool) -> dict[str, str]:
        """The arguments of `fuse`: names and a module if these select the members in one layer,
        else op numbers."""
        numbers = {"ops": "+".join(map(str, members))}
        if not everywhere or len(members) < 2:
            return numbers
        names = dict.fromkeys(self.before.trace.ops[op].name.split(".")[1] for op in members)
        choice = {"ops": "+".join(names), "modules": self._around(members)}
        phase = self.before.trace.ops[members[0]].phase
        if phase in ("forward", "backward") and self.before.trace.phase == "training":
            choice["phase"] = phase
        try:
            kernels = kernels_of(self.chosen, Choice(**choice))
        except InputError:
            return numbers
        return choice if any(kernel.members == members for kernel in kernels) else numbers

    def _around(self, members: tuple[int, ...]) -> str:
        """The pattern of the innermost module that contains all members, with # for its numbers."""
        paths = [self.before.trace.ops[op].module.split(".") for op in members]
        common: list[str] = []
        for parts in zip(*paths, strict=False):
            if len(set(parts)) > 1:
                break
            common.append("#" if parts[0].isdecimal() else parts[0])
        return ".".join(common) if any(common) else ALL

    def without(self, choice: Choice) -> Scenario:
        """The scenario without the sets that a choice fuses."""
        others = tuple(
            applied
            for applied in self.scenario.whatifs
            if not (applied.name == "fuse" and _choice(applied) == choice)
        )
        return replace(self.scenario, whatifs=others)


def _choice(applied: Applied) -> Choice:
    arguments = {name: str(value) for name, value in applied.arguments.items()}
    return Choice(**arguments)


def _unfused(scenario: Scenario) -> Scenario:
    """The scenario without any fusion, and in eager mode if its mode was a compiler's."""
    others = tuple(a for a in scenario.whatifs if a.name not in ("fuse", "fusion"))
    unfused = replace(scenario, whatifs=others)
    return apply(unfused, "mode", {"to": "eager"}) if compiles(resolve(unfused).mode) else unfused


def _name(p: Prediction, op: int) -> str:
    """The label of an op: the module for a matrix product (query), else the op (gelu, layer
    norm)."""
    call = p.trace.ops[op]
    tail = [part for part in call.module.split(".") if part and not part.isdecimal()]
    short = call.name.removeprefix("aten.").partition(".")[0].strip("_")
    if tail and short in ("addmm", "mm", "bmm", "linear", "convolution"):
        return tail[-1].replace("_", " ")
    if short.startswith("scaled_dot_product"):
        return "attention backward" if short.endswith("backward") else "attention"
    return short.removeprefix("native_").replace("_", " ")
