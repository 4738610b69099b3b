"""The reference of a group in torch: the ops of the trace, one after another."""

from __future__ import annotations

import keyword
from collections.abc import Sequence
from typing import Any, cast

from simulator.fusion.dataflow import Value
from simulator.kernel_source.group import BIASED, GroupOp, before_bias
from simulator.kernel_source.kernel import Kernel
from simulator.kernel_source.layouts import Layout
from simulator.kernel_source.sizes import Names, Size
from simulator.kernel_source.writer import Operand, read
from simulator.records import ITEM_BYTES

_FORMATS = ("contiguous_format", "preserve_format", "channels_last", "channels_last_3d")
_MAKES = ("arange", "full", "zeros", "ones", "scalar_tensor")
_AFFINE = ("weight", "bias")
_OPTIONAL = {
    "native_layer_norm": _AFFINE,
    "native_layer_norm_backward": _AFFINE,
    "fused_rms_norm": ("weight", "eps"),
    "fused_rms_norm_backward": ("weight",),
    "native_batch_norm": (*_AFFINE, "running_mean", "running_var"),
    "cudnn_batch_norm": (*_AFFINE, "running_mean", "running_var"),
    "nll_loss_forward": ("weight",),
    "nll_loss_backward": ("weight",),
}
"""Arguments that may be None but have no default."""

_WIDE = ("native_layer_norm_backward", "fused_rms_norm_backward")
"""Ops that accept half precision with fp32 statistics on a GPU only."""

_BATCH_NORM = "aten.native_batch_norm.default"  # replaces cuDNN's on a CPU


class _Reference:
    def __init__(self, kernel: Kernel) -> None:
        self.kernel, self.names = kernel, kernel.names
        self.tensors: dict[Value, tuple[str, Layout]] = {
            operand.value: (operand.name, operand.layout) for operand in kernel.operands
        }
        self.lines: list[str] = []
        self.unread: list[Operand] = []
        self.taken = {operand.name for operand in kernel.operands}

    def body(self) -> list[str]:
        """The lines of the body: one for each op, in the order of the trace."""
        for op in self._needed():
            self._op(op)
        results = [self.tensors[result.value][0] for result in self.kernel.results]
        return [*self.lines, "return (" + ", ".join(results) + ",)"]

    def _needed(self) -> list[GroupOp]:
        """The ops that the results depend on."""
        group = self.kernel.group
        wanted = {value for value, _ in group.stores}
        needed: list[GroupOp] = []
        for op in reversed(group.ops):
            computed = {value for value, _ in op.outputs if value in group.makers}
            if computed & wanted:
                wanted |= {value for value, _ in op.inputs}
                needed.append(op)
        return needed[::-1]

    def _op(self, op: GroupOp) -> None:
        if op.short in BIASED:
            self._bias(op)
            return
        shown: dict[str, list[str]] = {}
        for name, (value, read_as) in zip(op.names, op.inputs, strict=True):
            text = self._source_of(value, read_as)
            if name == "self" and op.name.split(".")[1].endswith("_"):
                text += ".clone()"  # the op writes in place
            shown.setdefault(name, []).append(text)
        list_names = ("tensors", "indices") if op.short in ("cat", "stack", "index") else ()
        parts = [
            f"{name}={_list(each) if name in list_names else each[0]}"
            for name, each in shown.items()
        ]
        parts += [f"{name}={self._plain(name, value)}" for name, value in op.args.items()]
        present = {*shown, *op.args}
        parts += [f"{name}=None" for name in _OPTIONAL.get(op.short, ()) if name not in present]
        if op.short in _MAKES:
            parts.append("device=DEVICE")
        name = op.name
        if op.short == "cudnn_batch_norm":
            name = _BATCH_NORM
            parts = [
                p.replace("exponential_average_factor", "momentum").replace("epsilon", "eps")
                for p in parts
            ]
        results = [self._fresh(op.short) for _ in op.outputs]
        for result, (value, layout) in zip(results, op.outputs, strict=True):
            if self.kernel.group.makers.get(value, (None,))[0] is op:
                self.tensors[value] = result, layout
        left = ", ".join(results)
        if op.short in ("cudnn_batch_norm", "native_batch_norm"):
            left = f"{results[0]}, *_"
        call = f"wide({name}, " if op.short in _WIDE else f"{name}("
        self.lines.append(f"{left} = {call}{', '.join(parts)})")

    def _bias(self, op: GroupOp) -> None:
        value, layout = op.outputs[0]
        name = "bias" if op.place("bias") is not None else "self"
        place = op.place(name)
        assert place is not None
        bias = self._source_of(*op.inputs[place])
        if op.short == "convolution":
            bias += f".reshape{(1, -1, *(1,) * (len(layout.shape) - 2))}"
        product = self._source_of(before_bias(value), layout)
        result = self._fresh("biased")
        self.tensors[value] = result, layout
        self.lines.append(f"{result} = aten.add.Tensor({product}, {bias})")

    def _source_of(self, value: Value, read_as: Layout) -> str:
        """The source of a value in the layout in which an op reads it."""
        if value not in self.tensors:  # the kernel does not read it
            operand = read(value, read_as, self.kernel.group, self._fresh("unread"))
            self.unread.append(operand)
            self.tensors[value] = operand.name, operand.layout
        name, layout = self.tensors[value]
        if (layout.shape, layout.stride, layout.offset) == (
            read_as.shape,
            read_as.stride,
            read_as.offset,
        ):
            return name
        if layout.row_major and read_as.row_major and layout.numel == read_as.numel:
            return f"{name}.reshape({self._numbers(read_as.shape)})"
        return (
            f"{name}.as_strided({self._numbers(read_as.shape)}, {self._numbers(read_as.stride)}, "
            f"{self.names.text(read_as.offset, 's.')})"
        )

    def _numbers(self, sizes: tuple[Size, ...]) -> str:
        return shown(sizes, self.names)

    def _fresh(self, name: str) -> str:
        name = name.lstrip("_")
        fresh, count = name, 0
        while fresh in self.taken or keyword.iskeyword(fresh) or fresh in ("aten", "torch"):
            count += 1
            fresh = f"{name}_{count}"
        self.taken.add(fresh)
        return fresh

    def _plain(self, name: str, value: Any) -> str:
        if isinstance(value, Size):
            return self.names.text(value, "s.")
        if isinstance(value, (list, tuple)):
            return _list([self._plain(name, each) for each in cast("Sequence[Any]", value)])
        if isinstance(value, str):
            if value in ITEM_BYTES or value in _FORMATS:
                return f"torch.{value}"
            return f'float("{value}")' if value in ("inf", "-inf", "nan") else repr(value)
        return repr(value)


def _list(texts: list[str]) -> str:
    return "[" + ", ".join(texts) + "]"


def shown(sizes: tuple[Size, ...], names: Names) -> str:
    """The source of a tuple of sizes."""
    inner = ", ".join(names.text(size, "s.") for size in sizes)
    return f"({inner},)" if len(sizes) == 1 else f"({inner})"


def reference(kernel: Kernel) -> tuple[list[str], list[Operand]]:
    """The body of the reference, and its operands that the kernel does not read."""
    writer = _Reference(kernel)
    return writer.body(), writer.unread
