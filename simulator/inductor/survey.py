"""Dynamo's own answer to where a step's graph breaks: the step runs under `torch.compile`, without
data, with a backend that runs what it is given as it is and writes down what ran."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any

import torch
from torch import _guards, nn
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.utils._pytree import tree_map

from simulator.inductor.capture import CUDA, on_gpu, to_gpu
from simulator.inductor.graph_breaks import line
from simulator.inductor.pieces import Piece
from simulator.tracing.masks import Masks
from simulator.tracing.sizes import DATA_DEPENDENT, Known

_NOTHING: Mapping[str, Any] = MappingProxyType({})
_WORDS = ("Encountered graph break", "Failed to handle graph break")
_BRANCH = "Dynamo does not support branching on the value of a tensor"
_SENTENCE = re.compile(r"(?<=[.`]) (?=[A-Z])")
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")


def surveyed(
    module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], training: bool,
    autocast: str | None, sizes: Mapping[str, int], progress: Callable[[str], None],
) -> list[Piece]:  # fmt: skip
    """The pieces of the forward pass of a module that lives on `meta`."""
    progress("looking for graph breaks")
    torch._dynamo.reset()  # pyright: ignore[reportAttributeAccessIssue]
    mode = _Running(sizes)
    to_gpu(module, mode)
    args, kwargs = tree_map(partial(on_gpu, mode), (args, kwargs))
    module.train(training)
    run = torch.compile(module, backend=mode.backend, dynamic=False)
    mode.pieces[:] = [(False, [], "", "")]  # what was made before is no part of the step
    with mode, torch.enable_grad() if training else torch.no_grad():
        if autocast is None:
            run(*args, **kwargs)
        else:
            dtype = {"bf16": torch.bfloat16, "fp16": torch.float16}[autocast]
            with torch.autocast("cuda", dtype=dtype):
                run(*args, **kwargs)
    return [Piece(graph, ops, where, reason) for graph, ops, where, reason in mode.pieces]


class _Running(FakeTensorMode):
    """Answers what depends on data, and keeps the names of the ops that run outside the
    compiler."""

    def __init__(self, sizes: Mapping[str, int]) -> None:
        super().__init__(allow_non_fake_inputs=True)
        self.known = Known(sizes, Masks())
        self.pieces: list[tuple[bool, list[str], str, str]] = [(False, [], "", "")]
        self.within = False  # an op, which this build may take apart

    def backend(self, graph: Any, examples: list[Any]) -> Callable[..., Any]:
        """What runs in the place of generated code."""
        ended: Any = graph.compile_subgraph_reason
        where = reason = ""
        if ended is not None and ended.graph_break:
            where, reason = line(ended.user_stack), said(ended.reason)

        def ran(*given: Any) -> Any:
            self.pieces.append((True, [], where, reason))
            try:
                return graph.forward(*given)
            finally:
                self.pieces.append((False, [], "", ""))

        return ran

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
            self.pieces[-1][1].append(str(func))
        masks = func.overloadpacket is torch.ops.aten.index and _masked(args[1])
        if assume is None or (func.overloadpacket is torch.ops.aten.index and not masks):
            return super().dispatch(func, types, args, kwargs)
        with torch.no_grad():
            plain = tree_map(_meta, (args, kwargs))
            result, _ = assume(self.known, func, *plain[0], **plain[1])
        return tree_map(self._fake, result)

    def _fake(self, x: Any) -> Any:
        return FakeTensor(self, x, CUDA) if isinstance(x, torch.Tensor) else x


def _masked(indices: Any) -> bool:
    return any(i is not None and i.dtype in (torch.bool, torch.uint8) for i in indices)


def _meta(x: Any) -> Any:
    if not isinstance(x, torch.Tensor):
        return x
    return torch.empty_strided(x.shape, x.stride(), dtype=x.dtype, device="meta")


def said(text: str) -> str:
    """The explanation in Dynamo's words, its first sentence, without addresses."""
    lines = [each.strip() for each in text.splitlines() if each.strip()]
    told = [each.removeprefix("Explanation: ") for each in lines if each.startswith("Explanation:")]
    own = [each for each in lines if not each.startswith(_WORDS)]
    first = _SENTENCE.split((told or own or [""])[0])[0].removesuffix(".")
    return _BRANCH if first.startswith("generic_jump") else _ADDRESS.sub("", first)
