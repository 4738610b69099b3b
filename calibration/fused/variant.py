"""A fused Triton kernel and the chain of operations that it replaces."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
import triton
from torch.utils._python_dispatch import TorchDispatchMode

from calibration.sweeps.registry import Call, Kind, Params, operation

DTYPES = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}

jit: Any = triton.jit
"""`triton.jit` without its type hints, which accept neither `num_warps` nor a number for a
constant."""

Function = Callable[..., Any]
"""A function of a variant's operands that returns one tensor or a tuple of tensors."""


class Traffic(NamedTuple):
    """The minimum work of a fused kernel.

    `moved_bytes` counts each operand read once and each result written once; `flops` counts one for
    each arithmetic function of the formula, such as exp, and two for a multiply-add of a matrix
    product.
    """

    moved_bytes: int
    flops: int


def _none(**params: Any) -> int:
    return 0


@dataclass(frozen=True)
class Variant:
    """A fused kernel, the eager chain that it replaces, and the points at which they are compared.

    `operands(**params)` are random, on torch's default device. `fused(*operands)` launches the
    kernel, `unfused(*operands)` runs the chain as eager code writes it, and
    `reference(*operands)` gives the expected result in any precision; it is the chain, unless the
    chain draws other random numbers. `traffic(**params)` is that of the fused kernel. `points` are
    timed. `irregular` points are only checked: their sizes are not multiples of a block, and they
    have no "dtype". `matrix` is True if the FLOPs are those of a matrix product. `zeros(**params)`
    is the number of elements of the result that are 0 because a mask hides them.
    """

    name: str
    fused: Function
    unfused: Function
    reference: Function
    operands: Callable[..., tuple[Any, ...]]
    traffic: Callable[..., Traffic]
    points: tuple[Params, ...]
    irregular: tuple[Params, ...]
    matrix: bool = False
    zeros: Callable[..., int] = _none

    @property
    def fused_operation(self) -> str:
        """The name under which the kernel is registered to be timed."""
        return f"{self.name}_fused"

    @property
    def unfused_operation(self) -> str:
        """The name under which the chain is registered to be timed."""
        return f"{self.name}_unfused"

    def chain(self, **params: Any) -> tuple[str, ...]:
        """The ATen ops that the kernel replaces, in order, without views, as meta tensors see
        them."""
        recorder = _OpRecorder()
        with torch.device("meta"):
            operands = self.operands(**params)
        with recorder:
            self.unfused(*operands)
        return tuple(recorder.names)

    def relative_error(self, **params: Any) -> float:
        """The kernel's largest error against the reference in float64, relative to the size of
        the element plus the root mean square of its tensor; NaN if the kernel returned a NaN."""
        exact_operands = self.operands(**params)
        operands = tuple(_copy(o, None) for o in exact_operands)
        exact = _tensors(self.reference(*(_copy(o, torch.float64) for o in exact_operands)))
        results = _tensors(self.fused(*operands))
        if [m.shape for m in results] != [e.shape for e in exact]:
            raise ValueError(f"{self.name} {params}: the shapes of kernel and reference differ")
        errors = [_error(m.double(), e.double()) for m, e in zip(results, exact, strict=True)]
        return float(torch.stack(errors).max())


VARIANTS: dict[str, Variant] = {}


def variant(
    *,
    unfused: Function,
    operands: Callable[..., tuple[Any, ...]],
    traffic: Callable[..., Traffic],
    points: Iterable[Params],
    irregular: Iterable[Params],
    reference: Function | None = None,
    matrix: bool = False,
    zeros: Callable[..., int] = _none,
) -> Callable[[Function], Function]:
    """Register a file's `fused` under the file's name, and two operations to be timed: the kernel
    (kind "triton") and the chain (kind "chain"), at the same points."""

    def decorate(fused: Function) -> Function:
        name = fused.__module__.rpartition(".")[2]
        if name in VARIANTS:
            raise ValueError(f"{name} is already a variant")
        variant = Variant(
            name,
            fused,
            unfused,
            reference or unfused,
            operands,
            traffic,
            tuple(points),
            tuple(irregular),
            matrix,
            zeros,
        )
        _register(variant, variant.fused_operation, fused, "triton")
        _register(variant, variant.unfused_operation, unfused, "chain")
        VARIANTS[name] = variant
        return fused

    return decorate


def _register(variant: Variant, name: str, function: Function, kind: Kind) -> None:
    def make(**params: Any) -> Call:
        operands = variant.operands(**params)
        return lambda: function(*operands)

    make.__name__ = name
    operation(lambda: variant.points, kind)(make)


class _OpRecorder(TorchDispatchMode):
    """Records the ops that reach a backend."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        name = func._schema.name.removeprefix("aten::")
        view = any(r.alias_info and not r.alias_info.is_write for r in func._schema.returns)
        if not view and name != "_unsafe_view":
            self.names.append(name)
        return func(*args, **(kwargs or {}))


def _copy(operand: Any, dtype: torch.dtype | None) -> Any:
    """A copy, in another dtype if it is a tensor of floats."""
    if not isinstance(operand, torch.Tensor):
        return operand
    return (
        operand.to(dtype, copy=True) if operand.is_floating_point() and dtype else operand.clone()
    )


def _tensors(result: Any) -> tuple[torch.Tensor, ...]:
    return (result,) if isinstance(result, torch.Tensor) else tuple(result)


def _error(result: torch.Tensor, exact: torch.Tensor) -> torch.Tensor:
    scale = exact.abs() + exact.square().mean().sqrt()
    return ((result - exact).abs() / scale).max()
