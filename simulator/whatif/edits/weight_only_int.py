"""Weights of linear layers stored as integers and multiplied in the activation's dtype.

These are PyTorch's ops: `_weight_int8pack_mm` with a scale for each output, `_weight_int4pack_mm`
with a scale and a zero for each group of 128 inputs. Each is one kernel, which reads the integers
and converts them in registers. A network that converts its weights by a separate op
(`weight.to(x)`) writes them to memory first, eager and compiled; only `max-autotune` fuses that
into a product, if it has one row (`simulator.fusion.passes.dot_products`).

NVFP4 has 4 bits per value and an 8-bit scale for each 16 values (`float4`). A card without 4-bit
products reads NVFP4 weights and multiplies in the activation's dtype, as Marlin's kernels do;
PyTorch has no op for that, so its cost is that of int4 with these scales. PyTorch has no op for
experts either: their packed weights are an operand of the grouped product, as in vLLM's fused
kernels.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from simulator.errors import InputError
from simulator.records import Op, Tensor, Trace
from simulator.scenario.resolved import Selective
from simulator.whatif.edits.float4 import GROUP, PAIR, SCALE
from simulator.whatif.edits.linears import Product, linears, only_for, view_before
from simulator.whatif.edits.rewriting import Rewriting, Shared, call, dense

_GROUP = 128


@dataclass(frozen=True)
class SmallWeights(Selective[list[Product]]):
    """Convert the weights of linear layers in the matching modules to int8, int4 or NVFP4."""

    dtype: Literal["int8", "int4", "nvfp4"]
    modules: str
    rank: int = 0

    def chosen(self, trace: Trace) -> list[Product]:
        """The products with such weights. Raises InputError for a training step and for a step
        without such products."""
        if trace.phase == "training":
            raise InputError(
                f"weights={self.dtype}: an optimizer cannot train integers: expected inference; "
                "predict inference instead"
            )
        products = [
            p
            for p in linears(trace, self.modules)
            if trace.storages[p.b[1]].role == "weight" and self._fits(p)
        ]
        if not products:
            raise InputError(
                f"weights={self.dtype}: no linear layer in modules {self.modules!r} whose sizes "
                f"are multiples of {self._divisor}: expected at least one; "
                "choose other modules"
            )
        return products

    def rewritten(self, trace: Trace, chosen: list[Product]) -> Trace:
        """The trace with these weights packed, and the products that read them."""
        change, shared = Rewriting(trace), Shared()
        replaceable = only_for(trace, {p.index for p in chosen})
        packed: dict[int, int] = {}  # storage of a weight -> storage of its integers
        for p in chosen:
            weight, extra = self._stored(p)
            if p.b[1] not in packed:
                size = weight.nbytes + extra.nbytes
                if p.b[1] in replaceable:
                    change.resize(p.b[1], size)
                    packed[p.b[1]] = p.b[1]
                else:
                    packed[p.b[1]] = change.storage(size, "weight", permanent=True)
            view = view_before(trace, p.index, p.b[1])
            if view is not None:
                change.put(view, ())  # the packed weight needs no transposition
            ops = self._ops(change, p, (weight, packed[p.b[1]]), extra)
            change.put(p.index, [shared(op) for op in ops])
        return change.done()

    def _fits(self, p: Product) -> bool:
        _, n, k = p.sizes
        return p.ends is not None or (n % 16 == 0 and k % self._divisor == 0)

    @property
    def _divisor(self) -> int:
        return 16 if self.dtype == "int8" else _GROUP

    def _stored(self, p: Product) -> tuple[Tensor, Tensor]:
        """The packed weight and its scales."""
        _, n, k = p.sizes
        dtype = p.a[0].dtype
        if p.ends is not None:
            return self._stored_experts(p)
        if self.dtype == "int8":
            return dense((n, k), "int8"), dense((n,), dtype)
        # eight 4-bit values per int32, in tiles for the tensor cores' 16 × 8 fragments
        packed = dense((n // 8, k // 128, 32, 4), "int32")
        if self.dtype == "nvfp4":
            return packed, dense((n, k // GROUP), SCALE)
        return packed, dense((k // _GROUP, n, 2), dtype)

    def _stored_experts(self, p: Product) -> tuple[Tensor, Tensor]:
        """The packed weights [experts, k, n] by columns, and their scales."""
        _, n, k = p.sizes
        lines = p.experts * n
        if self.dtype == "int8":
            weight = Tensor((p.experts, k, n), "int8", (n * k, 1, k))
            return weight, dense((lines,), p.a[0].dtype)
        weight = Tensor((p.experts, k // 2, n), PAIR, (n * k // 2, 1, k // 2))
        if self.dtype == "nvfp4":
            return weight, dense((lines, -(-k // GROUP)), SCALE)
        return weight, dense((lines, -(-k // _GROUP), 2), p.a[0].dtype)

    def _ops(
        self, change: Rewriting, p: Product, weight: tuple[Tensor, int], extra: Tensor
    ) -> list[Op]:
        # the scales lie in the weight's storage; the op also reads a storage of 0 bytes for them
        side = change.storage(0, "weight", permanent=True)
        if p.ends is not None:
            operands = {"self": p.a, "mat2": weight, "scales": (extra, side), "offs": p.ends}
            return [call(p.op, "aten._grouped_mm.default", operands, [p.out], counted=True)]
        names = ("scales",) if self.dtype == "int8" else ("qScaleAndZeros",)
        inputs = {"self": p.a, "mat2": weight, names[0]: (extra, side)}
        args = {} if self.dtype == "int8" else {"qGroupSize": _GROUP}
        kind = "int8" if self.dtype == "int8" else "int4"
        overload = f"aten._weight_{kind}pack_mm.default"
        product = call(p.op, overload, inputs, [p.out], args, counted=True)
        if p.bias is None:
            return [product]
        # the sum is in place: one more pass over the output
        added = call(p.op, "aten.add_.Tensor", {"self": p.out, "other": p.bias}, [p.out])
        return [product, added]
