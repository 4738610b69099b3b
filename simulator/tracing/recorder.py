"""The recorder: a dispatch mode that writes down each ATen call and each storage's life.

It sits below autograd, so it sees what the GPU would be asked to do, forward and backward alike.
"""

from __future__ import annotations

import gc
import sys
import weakref
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch.autograd import _get_sequence_nr as next_sequence  # pyright: ignore
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes
from torch.utils._pytree import tree_leaves

from simulator.records import TAIL, Assumption, Op, Phase, Role, Signature, Storage, Tensor
from simulator.tracing.breaks import Breaks
from simulator.tracing.bytecode import Bytecode
from simulator.tracing.call_arguments import by_name
from simulator.tracing.layout import not_dense
from simulator.tracing.masks import Masks
from simulator.tracing.sizes import DATA_DEPENDENT, Known, host_copy

_UNSEEN = {"prim", "profiler"}
_HERE = Path(__file__).parent.as_posix()
_UNCOUNTED = (
    _HERE, "contextlib.py", "torch/overrides.py",
    "torch/_library", "torch/_compile.py", "torch/_dynamo", "torch/compiler",
)  # fmt: skip
"""Files whose Python runs because a step is being traced: the way into the recorder."""
_REPEATING = (f"{_HERE}/device.py", f"{_HERE}/semantics", "torch/compiler")
"""Files that call on what was called already, or what only a traced step calls: `F.relu` comes
here through the function mode and is entered once more."""
_MODULE_CALLS = {"_wrapped_call_impl", "_call_impl", "inner"}
_OPS = ("torch/_ops.py",)
"""Functions and a file whose instructions are not counted, since they take another way where a
step is traced: a module's call has a cost of its own; the dispatcher's rules call ops."""
_OVERRIDING = "handle_torch_function"
"""What a function of torch's calls to be called once more, without the mode: from there on it does
nothing that it does on a GPU."""
_ONCE = {
    "_find_and_load": "importlib", "__getattr__": "_ops.py", "__subclasscheck__": "abc",
    "getEffectiveLevel": "logging", "feature_import": "shibokensupport",
    "feature_imported": "shibokensupport",
}  # fmt: skip
"""Functions by name and file that find a module, an op, a base class or a level, and keep what they
found; and what PySide hangs onto every import."""


class Recorder(TorchDispatchMode):
    """Records while it is entered. `modules` gives the path of the module now running."""

    def __init__(self, sizes: Mapping[str, int]) -> None:
        super().__init__()
        self.ops: list[Op] = []
        self.assumptions: list[Assumption] = []
        self.known = Known(sizes, Masks())
        self.breaks = Breaks()
        self.phase: Phase = "forward"
        self.module_path = ""
        self.module_calls = 0
        self.python_calls = 0
        self.autograd_nodes = 0
        self.c_calls = 0
        self.bytecode = Bytecode()
        self.busy = False
        self.recording = False
        self._counted = [0] * 7
        self._signatures: dict[Any, Signature] = {}
        self._types: dict[Any, Tensor] = {}
        self._live: dict[int, int] = {}
        self._storages: list[list[Any]] = []
        self._watch: dict[int, weakref.ref[Any]] = {}
        self._sequence: dict[int, str] = {}
        self._next_sequence = next_sequence()
        self._node: object = None
        self._code_in: dict[tuple[object, tuple[str, ...]], bool] = {}

    # -- what the dispatcher calls ---------------------------------------------------------

    def __torch_dispatch__(
        self,
        func: Any,
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        kwargs = kwargs or {}
        was_busy, self.busy = self.busy, True
        try:
            with torch._C.DisableTorchFunction():  # meta kernels in Python must not be intercepted
                if func.namespace in _UNSEEN:
                    return func(*args, **kwargs)
                assume = DATA_DEPENDENT.get(func.overloadpacket) or host_copy(func, args, kwargs)
                if assume is None:
                    result = func(*args, **kwargs)
                else:
                    result, taken = assume(self.known, func, *args, **kwargs)
                    if taken:
                        self.assumptions.append(Assumption(len(self.ops), str(func), taken))
            self.known.masks.learn(func, args, kwargs, result)
            self._record(str(func), *by_name(func, args, kwargs), result)
            return result
        finally:
            self.busy = was_busy

    def emit(self, name: str, tensors: Mapping[str, Any], args: dict[str, Any], out: Any) -> None:
        """Record an op that a GPU build dispatches as one and this build cannot run."""
        flat = [
            (key, leaf)
            for key, value in tensors.items()
            for leaf in tree_leaves(value)
            if isinstance(leaf, torch.Tensor)
        ]
        self._record(name, [leaf for _, leaf in flat], tuple(key for key, _ in flat), args, out)

    @contextmanager
    def unseen(self) -> Generator[None]:
        """Calls in here are not recorded and their Python is not counted."""
        was_busy, self.busy = self.busy, True
        try:
            with _disable_current_modes():
                yield
        finally:
            self.busy = was_busy

    # -- the host's work -------------------------------------------------------------------

    @contextmanager
    def counting_python(self) -> Generator[None]:
        """Count Python's instructions and calls, without those of the tracer itself.

        The collector of cycles rests meanwhile: what it would run is left from before the step.
        """

        bytecode = self.bytecode
        once = 0  # depth within what happens once in a process, not once a step

        def on_event(frame: Any, event: str, arg: Any) -> None:
            nonlocal once
            code = frame.f_code
            if code.co_name in _ONCE and event in ("call", "return"):
                here = _ONCE[code.co_name] in code.co_filename
                once += here if event == "call" else -here
            if self.busy or once:
                return
            if self.phase == "forward":
                self.breaks.on_event(frame, event, arg, len(self.ops))
            if event == "c_call":
                self.c_calls += bytecode.seen(frame)
            elif event == "return":
                bytecode.left(frame)
            elif event == "call":
                caller = frame.f_back
                if caller is not None:
                    bytecode.seen(caller)
                    if code.co_name == _OVERRIDING:
                        bytecode.forget(caller)
                if not self._lies_in(code, _UNCOUNTED):
                    repeated = caller is not None and self._lies_in(caller.f_code, _REPEATING)
                    self.python_calls += not repeated
                    if code.co_name not in _MODULE_CALLS and not self._lies_in(code, _OPS):
                        bytecode.entered(frame)

        before, collecting = sys.getprofile(), gc.isenabled()
        gc.disable()
        self.recording = True
        sys.setprofile(on_event)
        try:
            yield
        finally:
            sys.setprofile(before)
            self.recording = False
            if collecting:
                gc.enable()

    def _lies_in(self, code: Any, parts: tuple[str, ...]) -> bool:
        found = self._code_in.get((code, parts))
        if found is None:
            path = code.co_filename.replace("\\", "/")
            found = self._code_in[code, parts] = any(part in path for part in parts)
        return found

    # -- storages --------------------------------------------------------------------------

    def own(self, tensor: torch.Tensor, role: Role) -> int:
        """Give a storage a role, registering it as older than the step when it is new."""
        storage = tensor.untyped_storage()
        known = storage._cdata in self._live
        number = self._number(tensor, born=-1)
        if not known or role != "activation":
            self._storages[number][3] = role
        return number

    def own_view(self, tensor: torch.Tensor) -> None:
        """Count no memory for a storage that is a second view of memory counted elsewhere."""
        self._storages[self.own(tensor, "weight")][0] = 0

    def storages(self) -> list[Storage]:
        """Every storage seen so far, with the life it had."""
        return [Storage(*fields) for fields in self._storages]

    def _number(self, tensor: torch.Tensor, born: int) -> int:
        storage = tensor.untyped_storage()
        key = storage._cdata
        number = self._live.get(key)
        if number is None:
            number = len(self._storages)
            device = "cpu" if tensor.device.type == "cpu" else "cuda"  # "meta", or said to be cuda
            self._storages.append([storage.nbytes(), born, None, "activation", device])
            self._live[key] = number

            def freed(_: object, key: int = key, number: int = number) -> None:
                self._live.pop(key, None)
                self._watch.pop(key, None)
                self._storages[number][2] = len(self.ops)

            self._watch[key] = weakref.ref(storage, freed)
        return number

    # -- one op ----------------------------------------------------------------------------

    def _record(
        self,
        name: str,
        inputs: list[torch.Tensor],
        names: tuple[str, ...],
        args: dict[str, Any],
        result: Any,
    ) -> None:
        outputs = [t for t in tree_leaves(result) if isinstance(t, torch.Tensor)]
        if wrong := not_dense((*inputs, *outputs), f"{name} takes or makes a"):
            raise NotImplementedError(wrong)
        here = len(self.ops)
        storages = tuple(
            [self._number(t, born=-1) for t in inputs]
            + [self._number(t, born=here) for t in outputs]
        )
        module = self._owner()
        regions = [
            (storage, int(t.storage_offset()))
            for storage, t in zip(storages, (*inputs, *outputs), strict=True)
        ]
        signature = self._signature(name, inputs, outputs, names, args, regions)
        if self.phase == "forward":
            self.breaks.on_op(signature, here)
        counts = self._counts()
        calls, modules, nodes, instructions, cold, attributes, c_calls = (
            now - then for now, then in zip(counts, self._counted, strict=True)
        )
        self._counted = counts
        self.ops.append(
            Op(
                signature,
                module,
                self.phase,
                storages,
                calls,
                modules,
                nodes,
                instructions,
                cold,
                attributes,
                c_calls,
            )
        )

    def _counts(self) -> list[int]:
        """Of an op's fields what was counted so far."""
        python = self.bytecode
        return [
            self.python_calls,
            self.module_calls,
            self.autograd_nodes,
            python.instructions,
            python.cold,
            python.attributes,
            self.c_calls,
        ]

    def tail(self) -> dict[str, int]:
        """What was counted after the last op, by the trace's field."""
        python, module, _, *rest = (
            now - then for now, then in zip(self._counts(), self._counted, strict=True)
        )
        return dict(zip(TAIL, (python, module, *rest), strict=True))

    def _owner(self) -> str:
        """The module that asked for this op; a backward op belongs to its forward's module.

        Autograd numbers its nodes in order of creation, so the numbers handed out since the op
        before this one are the nodes of the module now running.
        """
        node: Any = torch._C._current_autograd_node()
        if node is None:
            now = next_sequence()
            for number in range(self._next_sequence, now):
                self._sequence[number] = self.module_path
                self.breaks.made(number, len(self.ops))
            self.autograd_nodes += now - self._next_sequence
            self._next_sequence = now
            return self.module_path
        if node is not self._node:
            self._node = node
            self.autograd_nodes += 1
        number = node._sequence_nr()
        self.breaks.ran(number, len(self.ops))
        return self._sequence.get(number, self.module_path)

    def _signature(
        self,
        name: str,
        inputs: list[torch.Tensor],
        outputs: list[torch.Tensor],
        names: tuple[str, ...],
        args: dict[str, Any],
        regions: list[tuple[int, int]],
    ) -> Signature:
        ins = tuple([self._type(t) for t in inputs])
        outs = tuple([self._type(t) for t in outputs])
        order: dict[tuple[int, int], int] = {}
        aliases = tuple([order.setdefault(region, len(order)) for region in regions])
        key = (name, tuple(map(id, ins)), tuple(map(id, outs)), names, repr(args), aliases)
        found = self._signatures.get(key)
        if found is None:
            found = Signature(name, ins, outs, names, args, aliases)
            self._signatures[key] = found
        return found

    def _type(self, tensor: torch.Tensor) -> Tensor:
        key = (tensor.shape, tensor.stride(), tensor.dtype, tensor.device.type)
        found = self._types.get(key)
        if found is None:
            device = "cuda" if tensor.device.type == "meta" else tensor.device.type
            dtype = str(tensor.dtype).removeprefix("torch.")
            found = Tensor(tuple(tensor.shape), dtype, tuple(tensor.stride()), device)
            self._types[key] = found
        return found
