"""Linear layers in float8, as Transformer Engine runs them with current scaling.

Each operand of a product is quantised once: one kernel computes its largest magnitude, and one
casts it. Inference stores weights in float8: they are half as large and need no kernel. Training
stores weights unchanged and quantises each one once per step. Products whose sizes are not
multiples of 16 stay unchanged, and so do experts in training. Each row of an expert has a scale.
Memory in training is an upper bound, since a fused library frees some tensors earlier.
"""

from __future__ import annotations

from dataclasses import dataclass

from msgspec.structs import replace

from simulator.errors import InputError
from simulator.records import Op, Tensor, Trace
from simulator.scenario.resolved import ResolvedScenario, Selective
from simulator.whatif.edits.linears import Product, linears, only_for
from simulator.whatif.edits.rewriting import Rewriting, Shared, call, dense

_FLOAT8, _GRADIENT = "float8_e4m3fn", "float8_e5m2"


@dataclass(frozen=True)
class Float8(Selective[list[Product]]):
    """Convert the linear layers of the matching modules to float8, with quantisation kernels."""

    modules: str
    rank: int = 0

    def demand(self, resolved: ResolvedScenario) -> None:
        """Raise InputError for a GPU without float8."""
        gpu = resolved.gpu
        if not gpu.peak("tensor", "fp8"):
            raise InputError(
                f"fp8: {gpu.name} has no float8 tensor cores: expected a GPU that has them "
                "(Ada, Hopper or later); choose another GPU, or precision=fp16"
            )

    def chosen(self, trace: Trace) -> list[Product]:
        """The products of linear layers that can run in float8. Raises InputError if there is
        none."""
        training = trace.phase == "training"
        products = [
            p for p in linears(trace, self.modules) if _is_aligned(p) and not (training and p.ends)
        ]
        if not products:
            raise InputError(
                f"fp8: no linear layer in modules {self.modules!r} whose sizes are multiples of "
                "16: expected at least one; choose other modules or sizes"
            )
        return products

    def rewritten(self, trace: Trace, chosen: list[Product]) -> Trace:
        """The trace with these products in float8."""
        return _Quantisation(trace, chosen).trace()


def _is_aligned(p: Product) -> bool:
    m, n, k = p.sizes
    # the last dimension of each operand must be a multiple of 16 bytes, the number of rows only if
    # the product sums over rows
    return k % 16 == 0 and n % 16 == 0 and (p.weight or m % 16 == 0)


class _Quantisation:
    def __init__(self, trace: Trace, products: list[Product]) -> None:
        self.change, self.origin, self.products = Rewriting(trace), trace, products
        self.shared = Shared()
        self.copies: dict[int, int] = {}  # storage of an operand -> storage of its float8 copy
        self.scale = self.change.storage(4, permanent=True)
        self.replaceable = only_for(trace, {p.index for p in products})
        self.training = trace.phase == "training"

    def trace(self) -> Trace:
        for p in self.products:
            before: list[Op] = []
            a, b = (self._operand(p, x, before) for x in (p.a, p.b))
            inputs = {"self": a, "mat2": b, **self._scales(p)}
            if p.bias is not None:
                inputs["bias"] = p.bias
            name = "aten._scaled_grouped_mm.default" if p.ends else "aten._scaled_mm.default"
            args = {"use_fast_accum": not self.training}
            ops = [*before, call(p.op, name, inputs, [p.out], args, counted=True)]
            self.change.put(p.index, [self.shared(op) for op in ops])
        return self.change.done()

    def _scales(self, p: Product) -> dict[str, tuple[Tensor, int]]:
        """The scales of both operands; with experts, also their last rows."""
        m, n, _ = p.sizes
        if p.ends is None:
            scale = dense((), "float32"), self.scale
            return {"scale_a": scale, "scale_b": scale}
        rows, columns = (dense(shape, "float32") for shape in ((m,), (p.experts, n)))
        return {"scale_a": (rows, self.scale), "scale_b": (columns, self.scale), "offs": p.ends}

    def _operand(self, p: Product, x: tuple[Tensor, int], before: list[Op]) -> tuple[Tensor, int]:
        """The operand in float8, in the same layout; the ops that quantise it are added to
        `before`."""
        tensor, storage = x
        dtype = _GRADIENT if p.op.phase == "backward" and self._is_gradient(storage) else _FLOAT8
        small = replace(tensor, dtype=dtype)
        if storage in self.copies:
            return small, self.copies[storage]
        is_weight = self.origin.storages[storage].role == "weight"
        if is_weight and not self.training:
            self.copies[storage] = self._stored(tensor, storage)
            return small, self.copies[storage]
        copy = self.change.storage(tensor.numel)
        rows, dim = (tensor.shape[:1], [-1]) if p.ends else ((), [])
        scales = (dense(rows, "float32"), self.scale)
        before.append(call(p.op, "aten.amax.default", {"self": x}, [scales], {"dim": dim}))
        before.append(
            call(p.op, "aten._to_copy.default", {"self": x}, [(small, copy)], {"dtype": dtype})
        )
        self.copies[storage] = copy
        return small, copy

    def _is_gradient(self, storage: int) -> bool:
        born = self.origin.storages[storage].born
        return born >= 0 and self.origin.ops[born].phase == "backward"

    def _stored(self, tensor: Tensor, storage: int) -> int:
        """The storage of a float8 weight: the old one if nothing else reads it."""
        if storage in self.replaceable:
            self.change.resize(storage, tensor.numel)
            return storage
        return self.change.storage(tensor.numel, "weight", permanent=True)
