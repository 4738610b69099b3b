"""Linear layers in NVFP4: 4-bit values (e2m1), and an 8-bit scale (e4m3) for each 16.

A value takes 4 + 8/16 = 4.5 bits (NVIDIA, "Introducing NVFP4", 2025). Weights are stored in NVFP4.
An activation is quantised by one kernel: the scale of the whole tensor is known from calibration,
as in serving engines. Products are `_scaled_mm` on packed pairs, as in torch 2.9 and later, or
`_scaled_grouped_mm_v2` for experts, whose sizes engines fill up to a multiple.
"""

from __future__ import annotations

from dataclasses import dataclass

from simulator.errors import InputError
from simulator.records import Op, Tensor, Trace
from simulator.scenario.resolved import ResolvedScenario, Selective
from simulator.whatif.edits.linears import Product, linears, only_for
from simulator.whatif.edits.rewriting import Rewriting, Shared, call, dense

PAIR, SCALE = "float4_e2m1fn_x2", "float8_e4m3fn"
_TWO = "int32"  # this dtype has the bytes of two 16-bit activations, which become one pair
GROUP = 16
"""Values that share a scale."""
_ALIGNED = 32  # values in 16 bytes, which the last dimension of an operand fills


@dataclass(frozen=True)
class Float4(Selective[list[Product]]):
    """Convert the linear layers of the matching modules, and their activations, to NVFP4."""

    modules: str
    rank: int = 0

    def demand(self, resolved: ResolvedScenario) -> None:
        """Raise InputError for a GPU without 4-bit products."""
        gpu = resolved.gpu
        if not gpu.peak("tensor", "fp4"):
            raise InputError(
                f"nvfp4: {gpu.name} has no 4-bit tensor cores: expected a GPU that has them "
                "(Blackwell); choose another GPU, or weights=nvfp4 (for weights only)"
            )

    def chosen(self, trace: Trace) -> list[Product]:
        """The products of linear layers that can run in NVFP4. Raises InputError for a training
        step and for a step without such products."""
        if trace.phase == "training":
            raise InputError(
                "nvfp4: training in 4 bits is not modelled: expected inference; predict inference "
                "instead"
            )
        products = [
            p
            for p in linears(trace, self.modules)
            if trace.storages[p.b[1]].role == "weight"
            and (p.ends or not any(size % _ALIGNED for size in p.sizes[1:]))
        ]
        if not products:
            raise InputError(
                f"nvfp4: no linear layer in modules {self.modules!r} whose sizes are multiples of "
                f"{_ALIGNED}: expected at least one; choose other modules or sizes"
            )
        return products

    def rewritten(self, trace: Trace, chosen: list[Product]) -> Trace:
        """The trace with these products in NVFP4."""
        return _quantised(trace, chosen)


def _quantised(trace: Trace, products: list[Product]) -> Trace:
    change, shared = Rewriting(trace), Shared()
    replaceable = only_for(trace, {p.index for p in products})
    copies: dict[int, tuple[int, int]] = {}  # operand -> storages of its pairs and of its scales
    for p in products:
        m, n, k = p.sizes
        lines = p.experts * n
        ops: list[Op] = []
        if p.a[1] not in copies:
            pairs, scales = _stored(m, k)
            copies[p.a[1]] = change.storage(pairs.nbytes), change.storage(scales.nbytes)
            outputs = [(pairs, copies[p.a[1]][0]), (scales, copies[p.a[1]][1])]
            source = dense((m, k // 2), _TWO), p.a[1]
            ops.append(
                call(p.op, "aten._to_copy.default", {"self": source}, outputs, {"dtype": PAIR})
            )
        if p.b[1] not in copies:
            own, size = p.b[1], sum(tensor.nbytes for tensor in _stored(lines, k))
            if own in replaceable:
                change.resize(own, size)
            else:
                own = change.storage(size, "weight", permanent=True)
            # the scales lie in the weight's storage; the op also reads a storage of 0 bytes for
            # them
            copies[p.b[1]] = own, change.storage(0, "weight", permanent=True)
        a, scale_a = zip(_stored(m, k), copies[p.a[1]], strict=True)
        scales, at = _stored(lines, k)[1], copies[p.b[1]]
        weight = Tensor((k // 2, n), PAIR, (1, k // 2)), at[0]
        name = "aten._scaled_mm.default"
        inputs = {"self": a, "mat2": weight, "scale_a": scale_a, "scale_b": (scales, at[1])}
        if p.bias is not None:
            inputs["bias"] = p.bias
        if p.ends is not None:
            stacked = Tensor((p.experts, k // 2, n), PAIR, (n * k // 2, 1, k // 2))
            inputs |= {"mat2": (stacked, at[0]), "offs": p.ends}
            name = "aten._scaled_grouped_mm_v2.default"
        ops.append(call(p.op, name, inputs, [p.out], {}, counted=True))
        change.put(p.index, [shared(op) for op in ops])
    return change.done()


def _stored(lines: int, depth: int) -> tuple[Tensor, Tensor]:
    """The pairs and the scales of a matrix [lines, depth]."""
    return dense((lines, depth // 2), PAIR), dense((lines, -(-depth // GROUP)), SCALE)
