"""Linear layers in float8, as Transformer Engine runs them with scales of the current values.

Each operand of a product is quantised once: one kernel finds its largest magnitude, one casts it.
Inference keeps weights in float8, so they are half as large and need no kernel; training keeps
them as they are and quantises each once a step. Operands whose sizes are no multiples of 16 stay.
Memory is an upper bound in training: what a fused library frees early lives on here.
"""

from __future__ import annotations

from dataclasses import dataclass

from msgspec.structs import replace

from simulator.errors import InputError
from simulator.records import Op, Tensor, Trace
from simulator.scenario.resolved import ResolvedScenario
from simulator.whatif.edits.linears import Product, linears, only_for
from simulator.whatif.edits.rewriting import Rewriting, Shared, call, dense

_FLOAT8, _GRADIENT = "float8_e4m3fn", "float8_e5m2"


@dataclass(frozen=True)
class Float8:
    """The linear layers of the modules that fit, in float8 with their quantisation kernels."""

    modules: str
    rank: int = 0

    def demand(self, setting: ResolvedScenario) -> None:
        """InputError for a GPU without float8."""
        gpu = setting.gpu
        if not gpu.peak("tensor", "fp8"):
            raise InputError(
                f"fp8: {gpu.name} has no float8 tensor cores: expected a GPU that has them "
                "(Ada, Hopper or later); choose another GPU, or precision=fp16"
            )

    def __call__(self, trace: Trace) -> Trace:
        found = [p for p in linears(trace, self.modules) if _fits(p)]
        if not found:
            raise InputError(
                f"fp8: no linear layer in modules {self.modules!r} whose sizes are multiples of "
                "16: expected one at least; choose other modules or sizes"
            )
        return _Quantising(trace, found).done()


def _fits(p: Product) -> bool:
    (m, k), n = p.a[0].shape, p.b[0].shape[1]
    # the last dimension of each operand must fill 16 bytes; rows only where they are reduced over
    return k % 16 == 0 and n % 16 == 0 and (p.weight or m % 16 == 0)


class _Quantising:
    def __init__(self, trace: Trace, products: list[Product]) -> None:
        self.change, self.trace, self.products = Rewriting(trace), trace, products
        self.shared = Shared()
        self.known: dict[int, int] = {}  # storage of an operand -> of its float8 copy
        self.scale = self.change.storage(4, kept=True)
        self.spare = only_for(trace, {p.index for p in products})
        self.training = trace.phase == "training"

    def done(self) -> Trace:
        for p in self.products:
            before: list[Op] = []
            a, b = (self._operand(p, x, before) for x in (p.a, p.b))
            one = (dense((), "float32"), self.scale)
            inputs = {"self": a, "mat2": b, "scale_a": one, "scale_b": one}
            if p.bias is not None:
                inputs["bias"] = p.bias
            ops = [
                *before,
                call(
                    p.op,
                    "aten._scaled_mm.default",
                    inputs,
                    [p.out],
                    {"use_fast_accum": not self.training},
                    counted=True,
                ),
            ]
            self.change.put(p.index, [self.shared(op) for op in ops])
        return self.change.done()

    def _operand(self, p: Product, x: tuple[Tensor, int], before: list[Op]) -> tuple[Tensor, int]:
        """The operand in float8, laid out alike; what makes it goes into `before`."""
        tensor, storage = x
        dtype = _GRADIENT if p.op.phase == "backward" and self._is_gradient(storage) else _FLOAT8
        small = replace(tensor, dtype=dtype)
        if storage in self.known:
            return small, self.known[storage]
        is_weight = self.trace.storages[storage].role == "weight"
        if is_weight and not self.training:
            self.known[storage] = self._stored(tensor, storage)
            return small, self.known[storage]
        copy = self.change.storage(tensor.numel)
        scalar = (dense((), "float32"), self.scale)
        before.append(call(p.op, "aten.amax.default", {"self": x}, [scalar], {"dim": []}))
        before.append(
            call(p.op, "aten._to_copy.default", {"self": x}, [(small, copy)], {"dtype": dtype})
        )
        self.known[storage] = copy
        return small, copy

    def _is_gradient(self, storage: int) -> bool:
        born = self.trace.storages[storage].born
        return born >= 0 and self.trace.ops[born].phase == "backward"

    def _stored(self, tensor: Tensor, storage: int) -> int:
        """A weight that is kept in float8: in place of the old one where nothing else reads it."""
        if storage in self.spare:
            self.change.resize(storage, tensor.numel)
            return storage
        return self.change.storage(tensor.numel, "weight", kept=True)
