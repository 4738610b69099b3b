"""The recorder: a dispatch mode that records each ATen call and the lifetime of each storage.

It runs below autograd, so it sees every op that the GPU would run, forward and backward.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Generator, Mapping, Set
from contextlib import contextmanager
from functools import cache
from types import FrameType
from typing import Any

import torch
from torch.autograd import _get_sequence_nr as next_sequence  # pyright: ignore
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes
from torch.utils._pytree import tree_leaves

from simulator.costs.matmul.tensor_float import PRODUCTS
from simulator.networks.product_settings import allows_tf32
from simulator.records import Assumption, Op, Phase
from simulator.tracing.call_arguments import by_name
from simulator.tracing.data_sizes import DataSizes
from simulator.tracing.foreign import (
    is_foreign,
    lacks_a_fake,
    missing_fake,
    results_like_inputs,
    stated_cost,
)
from simulator.tracing.host_counts import HostCounts, NotCounting
from simulator.tracing.layouts.dense import dense_error
from simulator.tracing.masks import Masks
from simulator.tracing.python_code.breaks import Breaks
from simulator.tracing.python_code.bytecode import Bytecode
from simulator.tracing.python_code.counted_code import CodeFacts, facts_of
from simulator.tracing.repeated_calls import RepeatedCalls
from simulator.tracing.signatures import Signatures
from simulator.tracing.sizes import DATA_DEPENDENT, host_copy
from simulator.tracing.storages import Storages

_IGNORED_NAMESPACES = {"prim", "profiler"}


class Recorder(TorchDispatchMode):
    """Record ops while entered. `module_path` is the path of the module that runs; `has_tf32`
    says whether the GPU has TF32."""

    def __init__(self, sizes: Mapping[str, int], false_at: Set[str] = frozenset()) -> None:
        super().__init__()
        self.ops: list[Op] = []
        self.assumptions: list[Assumption] = []
        self.data_sizes = DataSizes(sizes, Masks(), false_at)
        self.storages = Storages(self.ops)
        self.breaks = Breaks()
        self.repeated_calls = RepeatedCalls()
        self.phase: Phase = "forward"
        self.has_tf32 = False
        self.module_path = ""
        self.module_calls = 0
        self.python_calls = 0
        self.autograd_nodes = 0
        self.c_calls = 0
        self.bytecode = Bytecode()
        self.busy = False
        self.recording = False
        self._discards = False
        self.on_event: Any = None
        self._counted = HostCounts()
        self._signatures = Signatures()
        self._node_modules: dict[int, str] = {}
        self._next_sequence = next_sequence()
        self._node: object = None

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """False: torch wraps the next method if true, but a traced step compiles nothing."""
        return False

    # -- dispatch --------------------------------------------------------------------------

    def __torch_dispatch__(
        self,
        func: Any,
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        kwargs = kwargs or {}
        # meta kernels in Python must not be intercepted
        with NotCounting(self), torch._C.DisableTorchFunction():
            if func.namespace in _IGNORED_NAMESPACES:
                return func(*args, **kwargs)
            assume = DATA_DEPENDENT.get(func.overloadpacket) or host_copy(func, args, kwargs)
            if assume is None:
                result = self._run(func, args, kwargs)
            else:
                result, taken = assume(self.data_sizes, func, *args, **kwargs)
                if taken:
                    self.assumptions.append(Assumption(len(self.ops), str(func), taken))
            self.data_sizes.masks.update(func, args, kwargs, result)
            inputs, names, plain = by_name(func, args, kwargs)
            plain |= stated_cost(func, self.data_sizes.sizes)
            self._record(_name(func), inputs, names, plain, result)
            return result

    def _run(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The result of an op, which another library may define without a fake implementation."""
        try:
            return self.repeated_calls.result(func, args, kwargs)
        except RuntimeError as error:  # also catches its subclass NotImplementedError
            if not (is_foreign(func) and lacks_a_fake(error)):
                raise
            if not stated_cost(func, self.data_sizes.sizes):
                raise missing_fake(func) from None
            taken = "results like its first input, since it has no fake implementation"
            self.assumptions.append(Assumption(len(self.ops), str(func), taken))
            return results_like_inputs(func, args, kwargs)

    def emit(self, name: str, tensors: Mapping[str, Any], args: dict[str, Any], out: Any) -> None:
        """Record an op that a GPU build dispatches as a single op and this build cannot run."""
        with self.paused():
            flat = [
                (key, leaf)
                for key, value in tensors.items()
                for leaf in tree_leaves(value)
                if isinstance(leaf, torch.Tensor)
            ]
            self._record(name, [leaf for _, leaf in flat], tuple(key for key, _ in flat), args, out)

    @contextmanager
    def paused(self) -> Generator[None]:
        """Neither record calls nor count Python inside this context."""
        was_busy, self.busy = self.busy, True
        try:
            with _disable_current_modes():
                yield
        finally:
            self.busy = was_busy

    @contextmanager
    def unrecorded(self) -> Generator[None]:
        """Run ops by their rules inside this context, without recording or counting them."""
        self._owner()  # counts the nodes that autograd created so far
        counts, assumptions = self._counts(), len(self.assumptions)
        was_busy, self.busy, self._discards = self.busy, True, True
        try:
            yield
        finally:
            self.busy, self._discards = was_busy, False
            self.module_calls, self.python_calls = counts.module_calls, counts.python_calls
            self._next_sequence = next_sequence()
            del self.assumptions[assumptions:]

    # -- the host's work -------------------------------------------------------------------

    @contextmanager
    def counting_python(self) -> Generator[None]:
        """Count Python's instructions and calls, except those of the tracer.

        The garbage collector is off, because it would collect garbage from before the step.
        """

        bytecode, breaks = self.bytecode, self.breaks
        once_depth = 0  # depth of calls that a process makes once, not in every step

        def on_event(frame: Any, event: str, arg: Any) -> None:
            nonlocal once_depth
            if event == "c_return" or self.busy:
                return
            if event == "c_call":
                if not once_depth:
                    if self.phase == "forward":
                        breaks.on_c_call(frame, arg, len(self.ops))
                    self.c_calls += bytecode.advance(frame)
                return
            facts = facts_of(frame.f_code)
            if event == "return":
                once_depth -= facts.once
                if not once_depth:
                    if self.phase == "forward":
                        breaks.on_return(frame, len(self.ops))
                    bytecode.leave(frame)
            elif event == "call":
                once_depth += facts.once
                if not once_depth:
                    if self.phase == "forward":
                        breaks.on_call(frame, len(self.ops))
                    self._on_call(frame, facts)

        before: Any = sys.getprofile()
        collecting = gc.isenabled()
        gc.disable()
        self.recording = True
        self.on_event = on_event
        sys.setprofile(on_event)
        try:
            yield
        finally:
            if hasattr(before, "enable"):  # cProfile's profiler, which is not a function
                before.enable()
            else:
                sys.setprofile(before)
            self.recording = False
            if collecting:
                gc.enable()

    def _on_call(self, frame: FrameType, facts: CodeFacts) -> None:
        caller = frame.f_back
        if caller is not None:
            self.bytecode.advance(caller)
            if facts.is_override:
                self.bytecode.forget(caller)
        if facts.uncounted:
            return
        calling = None if caller is None else facts_of(caller.f_code)
        self.python_calls += calling is None or not calling.repeats
        if not (facts.elsewhere or (calling is not None and calling.is_rule)):
            self.bytecode.enter(frame)

    # -- one op ----------------------------------------------------------------------------

    def _record(
        self,
        name: str,
        inputs: list[torch.Tensor],
        names: tuple[str, ...],
        args: dict[str, Any],
        result: Any,
    ) -> None:
        if self._discards:
            return
        outputs = [t for t in tree_leaves(result) if isinstance(t, torch.Tensor)]
        if error := dense_error((*inputs, *outputs), f"{name} takes or returns a"):
            raise NotImplementedError(error)
        here = len(self.ops)
        storages = tuple(
            [self.storages.number(t) for t in inputs]
            + [self.storages.number(t, born=here) for t in outputs]
        )
        module = self._owner()
        if self.has_tf32 and name in PRODUCTS and inputs[0].dtype == torch.float32:
            args = args | {"tf32": True} if allows_tf32() else args
        offsets = [int(t.storage_offset()) for t in (*inputs, *outputs)]
        regions = [*zip(storages, offsets, strict=True)]
        signature = self._signatures.signature(name, inputs, outputs, names, args, regions)
        if self.phase == "forward":
            self.breaks.on_op(signature, here)
        counts = self._counts()
        new_counts = counts.since(self._counted)
        self._counted = counts
        self.ops.append(Op(signature, module, self.phase, storages, *new_counts))

    def _counts(self) -> HostCounts:
        return HostCounts(
            python_calls=self.python_calls,
            module_calls=self.module_calls,
            autograd_nodes=self.autograd_nodes,
            instructions=self.bytecode.instructions,
            cold_instructions=self.bytecode.cold,
            attributes=self.bytecode.attributes,
            c_calls=self.c_calls,
        )

    def tail(self) -> dict[str, int]:
        """The counts since the last op, by the trace's fields."""
        counts = self._counts().since(self._counted)
        return {
            f"tail_{name}": n for name, n in counts._asdict().items() if name != "autograd_nodes"
        }

    def _owner(self) -> str:
        """The module that calls this op; a backward op belongs to the module of its forward op.

        Autograd numbers its nodes in order of creation, so the numbers assigned since the previous
        op are the nodes of the module that runs.
        """
        node: Any = torch._C._current_autograd_node()
        if node is None:
            next_number = next_sequence()
            for number in range(self._next_sequence, next_number):
                self._node_modules[number] = self.module_path
                self.breaks.on_node_created(number, len(self.ops))
            self.autograd_nodes += next_number - self._next_sequence
            self._next_sequence = next_number
            return self.module_path
        if node is not self._node:
            self._node = node
            self.autograd_nodes += 1
        number = node._sequence_nr()
        self.breaks.on_node_run(number, len(self.ops))
        return self._node_modules.get(number, self.module_path)


@cache
def _name(func: Any) -> str:
    """The name of an op, such as "aten.add.Tensor"."""
    return str(func)
