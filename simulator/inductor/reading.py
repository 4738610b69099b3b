"""Read the decisions of Inductor's scheduler from its nodes as plain launches."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from math import prod
from typing import Any

import torch

from simulator.inductor.loop_ops import ops_of, steps
from simulator.inductor.origins import Origins, own_node
from simulator.inductor.schedule import Buffer, Launch, Schedule
from simulator.inductor.tensors import call_of, item_bytes, laid_out, layout_bytes
from simulator.records import Phase, Role, Signature

_FREE = ("MultiOutput",)  # nodes that are a part of another node's result


class Reading:
    """Collects the launches of a forward and, in training, a backward graph. Buffers are numbered
    across both, so that a saved tensor is one buffer."""

    def __init__(self) -> None:
        self.launches: list[Launch] = []
        self.buffers: list[Buffer] = []
        self.origins = Origins()
        self.numbers: dict[tuple[str, str], int] = {}
        self.saved: dict[str, int] = {}
        self.roles: list[Role] = []

    def enter(self, graph: Any, examples: list[Any]) -> None:
        """Record the roles of the inputs of a graph that Dynamo traced."""
        for node in graph.graph.nodes:
            if node.op == "placeholder":
                source: Any = getattr(node, "_dynamo_source", None)
                source_name = getattr(source, "name", node.name)
                name = str(source_name() if callable(source_name) else source_name)
                example = node.meta.get("example_value")
                role: Role = "buffer" if "_buffers" in name else "input"
                if "_parameters" in name or isinstance(example, torch.nn.Parameter):
                    role = "weight"
                self.roles.append(role)

    def read(self, lowered: Any, phase: Phase) -> None:
        """Every launch of a scheduled graph, in order."""
        virtual: Any = import_module("torch._inductor.virtualized").V
        with virtual.set_graph_handler(lowered):
            graph = _Graph(self, lowered, phase)
            for node in lowered.scheduler.nodes:
                launch = graph.launch(node)
                if launch is not None:
                    self.launches.append(launch)
            graph.leave()

    def schedule(self, **facts: Any) -> Schedule:
        """The schedule, without buffers that no launch touches."""
        touched = {n for each in self.launches for n in each.touched}
        order = {old: new for new, old in enumerate(sorted(touched))}
        launches = [each.renumbered(order) for each in self.launches]
        buffers = [self.buffers[old] for old in order]
        return Schedule(launches, buffers, self.origins.listed(), **facts)

    def buffer(self, nbytes: int, role: Role) -> int:
        self.buffers.append(Buffer(nbytes, role))
        return len(self.buffers) - 1

    def gradient(self, number: int) -> None:
        old = self.buffers[number]
        if old.role == "activation":
            self.buffers[number] = Buffer(old.nbytes, "gradient")


class _Graph:
    """One lowered graph."""

    def __init__(self, reading: Reading, lowered: Any, phase: Phase) -> None:
        self.reading, self.lowered = reading, lowered
        self.phase: Phase = phase
        self.scheduler = lowered.scheduler
        self.numbers: dict[str, int] = {}
        self._enter()
        for node in lowered.module.graph.nodes:  # numbered in the order of the program
            reading.origins.number(node, phase)

    def _enter(self) -> None:
        reading = self.reading
        for place, (name, value) in enumerate(self.lowered.graph_inputs.items()):
            if name in reading.saved:
                self.numbers[name] = reading.saved[name]
                continue
            forward = self.phase == "forward"
            role = reading.roles[place] if forward and place < len(reading.roles) else "input"
            nbytes = layout_bytes(value) if hasattr(value, "get_layout") else 0
            self.numbers[name] = reading.saved[name] = reading.buffer(nbytes, role)

    def leave(self) -> None:
        """Record the outputs of the graph, which the caller or the backward pass reads."""
        for name, value in zip(self.lowered.output_names, self.lowered.graph_outputs, strict=True):
            if name is None or not hasattr(value, "get_name"):
                continue
            number = self._number(value.get_name())
            self.reading.saved[name] = number
            if self.phase == "backward":
                self.reading.gradient(number)

    def launch(self, node: Any) -> Launch | None:
        kind = type(node).__name__
        if kind == "NopKernelSchedulerNode" or (node.node is None and not node.get_nodes()):
            return None
        if node.is_extern():
            return self._library(node)
        return self._generated(node)

    # -- library calls ----------------------------------------------------------------------------

    def _library(self, node: Any) -> Launch | None:
        kernel = node.node
        if type(kernel).__name__ in _FREE:
            return None
        origin = own_node(kernel)
        name = str(getattr(kernel, "python_kernel_name", None) or type(kernel).__name__)
        inputs = [x for x in getattr(kernel, "inputs", []) if hasattr(x, "get_layout")]
        ins = [laid_out(x) for x in inputs]
        outs = [laid_out(x) for x in self._results(node)]
        call = call_of(origin, ins, outs) if origin is not None else None
        if call is None:
            call = Signature(f"inductor.{name}.default", tuple(ins), tuple(outs), (), {})
        operands = [self._number(x.get_name()) for x in (*inputs, *self._results(node))]
        if len(operands) != len(call.inputs) + len(call.outputs):
            operands = []
        reads = self._touched(node.read_writes.reads)
        writes = {self._number(buffer.get_name()): 0 for buffer in node.get_outputs()}
        for result in self._results(node):
            writes[self._number(result.get_name())] = layout_bytes(result)
        return Launch(
            "library",
            name,
            self.phase,
            self._origins(kernel.get_origins() if origin is None else [origin]),
            tuple(reads.items()),
            tuple((k, v) for k, v in writes.items() if v),
            call=call,
            operands=tuple(operands),
        )

    def _results(self, node: Any) -> list[Any]:
        """Buffers with memory: a call with several results has one node for each."""
        results: list[Any] = []
        for buffer in node.get_outputs():
            if buffer.node.has_tensor_output():
                results.append(buffer.node)
                continue
            for user in buffer.users:
                part = getattr(user.node, "node", None)
                if type(part).__name__ in _FREE:
                    results.append(part)
        return results

    # -- generated kernels ------------------------------------------------------------------------

    def _generated(self, node: Any) -> Launch:
        loops = [n for n in node.get_nodes() if hasattr(n, "_body")]
        written = {name for n in loops for name in n.get_buffer_names()}
        reads: dict[int, int] = {}
        for loop in loops:
            outside = [d for d in loop.read_writes.reads if d.name not in written]
            for number, size in self._touched(outside).items():
                reads[number] = max(reads.get(number, 0), size)
        writes: dict[int, int] = {}
        for loop in loops:
            outgoing = [d for d in loop.read_writes.writes if self._leaves(d.name, loops)]
            for number, size in self._touched(outgoing).items():
                writes[number] = max(writes.get(number, 0), size)
        for number in reads.keys() & writes.keys():  # sums in place also read their target
            reads[number] = min(reads[number], writes[number])
        flops = instructions = elements = 0
        for loop in loops:
            f, i = steps(ops_of(loop))
            count = prod(self._int(s) for group in loop.get_ranges() for s in group)
            flops, instructions = flops + f * count, instructions + i * count
            elements = max(elements, count)
        reduction = next((n for n in loops if n.is_reduction()), None)
        rows = self._rows(reduction) if reduction is not None else 0
        ranges = reduction.get_ranges()[1] if reduction is not None else ()
        cols = prod(self._int(s) for s in ranges) if ranges else 0
        kernels = [n.node for n in loops]
        return Launch(
            "pointwise" if reduction is None else "reduction",
            self._name(loops),
            self.phase,
            self._origins(node for kernel in kernels for node in kernel.get_origins()),
            tuple(reads.items()),
            tuple(writes.items()),
            flops,
            instructions,
            rows,
            elements=elements,
            cols=cols,
        )

    def _rows(self, loop: Any) -> int:
        """The number of results of a reduction along memory; 0 if its elements are not adjacent."""
        hint = getattr(loop.node.data, "reduction_hint", None)
        inner = getattr(hint, "name", "INNER") in ("INNER", "DEFAULT")
        return prod(self._int(s) for s in loop.get_ranges()[0]) if inner else 0

    def _name(self, loops: list[Any]) -> str:
        utils: Any = import_module("torch._inductor.utils")
        how = "red" if any(n.is_reduction() for n in loops) else "poi"
        return f"triton_{how}_{utils.get_fused_kernel_name(loops, 'original_aten')}"

    def _leaves(self, name: str, loops: list[Any]) -> bool:
        buffer = self.scheduler.name_to_buf.get(name)
        if buffer is None:
            return True
        inside = set(map(id, loops))
        return any(id(user.node) not in inside for user in buffer.users)

    # -- memory -----------------------------------------------------------------------------------

    def _touched(self, deps: Any) -> dict[int, int]:
        """Bytes touched of each buffer: the sum over regions with different starts (one for each
        start), and at most the size of the buffer."""
        regions: dict[int, dict[Any, int]] = {}
        limit: dict[int, int] = {}
        for dep in deps:
            buffer = self.lowered.try_get_buffer(self._real(dep.name))
            if (
                buffer is None
                or not hasattr(buffer, "get_layout")
                or type(dep).__name__ == "WeakDep"
            ):
                continue
            number = self._number(dep.name)
            whole = limit[number] = layout_bytes(buffer)
            start, size = 0, whole
            if type(dep).__name__ == "MemoryDep":
                itemsize = item_bytes(buffer)
                index = dep.index
                numel = (
                    prod(self._int(s) for s in dep.size)
                    if dep.is_indirect()
                    else self._int(dep.get_numel())
                )
                size = min(numel * itemsize, whole)
                start = index.subs(dict.fromkeys(index.free_symbols, 0))
            mine = regions.setdefault(number, {})
            mine[start] = max(mine.get(start, 0), size)
        return {n: min(sum(each.values()), limit[n]) for n, each in regions.items()}

    def _real(self, name: str) -> str:
        renamed = self.scheduler.mutation_real_name
        while name in renamed and renamed[name] != name:
            name = renamed[name]
        return name

    def _number(self, name: str) -> int:
        name = self._real(name)
        if name not in self.numbers:
            buffer = self.lowered.try_get_buffer(name)
            nbytes = layout_bytes(buffer) if buffer is not None else 0
            self.numbers[name] = self.reading.buffer(nbytes, "activation")
        return self.numbers[name]

    def _origins(self, nodes: Iterable[Any]) -> tuple[int, ...]:
        return self.reading.origins.of(nodes, self.phase)

    def _int(self, size: Any) -> int:
        return int(self.lowered.sizevars.optimization_hint(size, fallback=1))
