"""Dynamo's own graph breaks: the step runs under `torch.compile` without data, with a backend that
schedules each graph, runs it unchanged and records its ops."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType
from typing import Any

import torch
from torch import _guards, nn
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.utils._pytree import tree_map

from simulator.inductor.breaks.graph_breaks import line, reason
from simulator.inductor.breaks.pieces import Piece
from simulator.inductor.capture import CUDA, on_gpu, schedule_piece, to_gpu
from simulator.inductor.refusal import RefusalError
from simulator.inductor.schedule import Schedule
from simulator.tracing.data_sizes import DataSizes
from simulator.tracing.masks import Masks
from simulator.tracing.sizes import DATA_DEPENDENT

_NOTHING: Mapping[str, Any] = MappingProxyType({})
_WORDS = ("Encountered graph break", "Failed to handle graph break")
_BRANCHES = ("generic_jump", "Detected data-dependent branching")
_BRANCH = "Dynamo does not support branching on the value of a tensor"
_SENTENCE = re.compile(r"(?<=[.`]) (?=[A-Z])")
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")


def survey(
    module: nn.Module,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    training: bool,
    autocast: str | None,
    sizes: Mapping[str, int],
    progress: Callable[[str], None],
) -> tuple[list[Piece], list[Schedule | str]]:
    """The pieces of the forward pass of a module on `meta`, and the schedules of its graphs (in
    training with their backward pass), or the reason why a graph cannot be scheduled."""
    progress("looking for graph breaks")
    torch._dynamo.reset()  # pyright: ignore[reportAttributeAccessIssue, reportPrivateUsage]
    mode = _Running(sizes, training, progress)
    to_gpu(module, mode)
    args, kwargs = tree_map(partial(on_gpu, mode), (args, kwargs))
    module.train(training)
    run = torch.compile(  # pyright: ignore[reportUnknownMemberType]
        module, backend=mode.backend, dynamic=False
    )
    mode.pieces[:] = [_Ran(False)]  # earlier pieces are not part of the step
    with mode, torch.enable_grad() if training else torch.no_grad():
        if autocast is None:
            run(*args, **kwargs)
        else:
            dtype = {"bf16": torch.bfloat16, "fp16": torch.float16}[autocast]
            with torch.autocast("cuda", dtype=dtype):
                run(*args, **kwargs)
    return [Piece(**vars(piece)) for piece in mode.pieces], mode.schedules


@dataclass
class _Ran:
    """A `Piece` while it runs."""

    graph: bool
    ops: list[str] = field(default_factory=list[str])
    where: str = ""
    reason: str = ""
    schedule: int = -1


class _Running(FakeTensorMode):
    """Assumes sizes that depend on data, and records the names of ops outside the compiler."""

    def __init__(
        self, sizes: Mapping[str, int], training: bool, progress: Callable[[str], None]
    ) -> None:
        super().__init__(allow_non_fake_inputs=True)
        self.data_sizes = DataSizes(sizes, Masks())
        self.training, self.progress = training, progress
        self.pieces = [_Ran(False)]
        self.schedules: list[Schedule | str] = []
        self.within = False  # an op, which this build may decompose

    def backend(self, graph: Any, examples: list[Any]) -> Callable[..., Any]:
        """Runs the graph unchanged, in place of generated code."""
        ended: Any = graph.compile_subgraph_reason
        where = why = ""
        if ended is not None and ended.graph_break:
            where, why = line(ended.user_stack), explanation(ended.reason)
        plain = torch.fx.GraphModule(graph, copy.deepcopy(graph.graph))
        number = len(self.schedules)
        self.schedules.append(self._scheduled(graph, examples, number))

        def run(*args: Any) -> Any:
            self.pieces.append(_Ran(True, [], where, why, number))
            try:
                return plain.forward(*args)
            finally:
                self.pieces.append(_Ran(False))

        return run

    def _scheduled(self, graph: Any, examples: list[Any], number: int) -> Schedule | str:
        def report(step: str) -> None:
            self.progress(f"graph {number + 1}: {step}")

        try:
            return schedule_piece(graph, examples, self.training, report)
        except Exception as error:
            return str(error) if isinstance(error, RefusalError) else reason(error)

    def dispatch(
        self, func: Any, types: Any, args: Any = (), kwargs: Mapping[str, Any] = _NOTHING
    ) -> Any:
        if self.within or _guards.TracingContext.try_get() is not None:
            return super().dispatch(func, types, args, kwargs)
        self.within = True
        try:
            return self._run(func, types, args, kwargs)
        finally:
            self.within = False

    def _run(self, func: Any, types: Any, args: Any, kwargs: Mapping[str, Any]) -> Any:
        assume = DATA_DEPENDENT.get(func.overloadpacket)
        if func.namespace not in ("prim", "profiler"):
            self.pieces[-1].ops.append(str(func))
        masks = func.overloadpacket is torch.ops.aten.index and _masked(args[1])
        if assume is None or (func.overloadpacket is torch.ops.aten.index and not masks):
            return super().dispatch(func, types, args, kwargs)
        with torch.no_grad():
            plain = tree_map(_meta, (args, kwargs))
            result, _ = assume(self.data_sizes, func, *plain[0], **plain[1])
        return tree_map(self._fake, result)

    def _fake(self, x: Any) -> Any:
        return FakeTensor(self, x, CUDA) if isinstance(x, torch.Tensor) else x


def _masked(indices: Any) -> bool:
    return any(i is not None and i.dtype in (torch.bool, torch.uint8) for i in indices)


def _meta(x: Any) -> Any:
    if not isinstance(x, torch.Tensor):
        return x
    return torch.empty_strided(x.shape, x.stride(), dtype=x.dtype, device="meta")


def explanation(text: str) -> str:
    """The first sentence of Dynamo's explanation, without addresses."""
    lines = [each.strip() for each in text.splitlines() if each.strip()]
    explanations = [
        each.removeprefix("Explanation: ") for each in lines if each.startswith("Explanation:")
    ]
    own = [each for each in lines if not each.startswith(_WORDS)]
    first = _SENTENCE.split((explanations or own or [""])[0])[0].removesuffix(".")
    return _BRANCH if first.startswith(_BRANCHES) else _ADDRESS.sub("", first)
