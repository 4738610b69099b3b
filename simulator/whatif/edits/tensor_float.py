"""float32 matrix products on TF32 tensor cores (`torch.set_float32_matmul_precision("high")`).

An op of its own name (`tf32.addmm.default`) has the work of the one it stands for, its products on
another engine. Convolutions use TF32 in stock PyTorch already.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from msgspec.structs import replace

from simulator.costs import COSTS, Work, cost, works
from simulator.errors import InputError
from simulator.records import Signature, Trace
from simulator.scenario.module_pattern import block
from simulator.scenario.resolved import ResolvedScenario
from simulator.symbols.family import Family
from simulator.whatif.edits.rewriting import Rewriting

PRODUCTS = [
    name
    for name in COSTS
    if name.split(".")[1]
    in (
        "mm",
        "addmm",
        "addmm_",
        "_addmm_activation",
        "bmm",
        "baddbmm",
        "baddbmm_",
        "addbmm",
        "addbmm_",
    )
]


@cost(*(f"tf32.{name.partition('.')[2]}" for name in PRODUCTS))
def product(op: Signature) -> tuple[Work, ...]:
    """The product's FLOPs and bytes, in TF32."""
    found = works(replace(op, name=f"aten.{op.name.partition('.')[2]}")) or ()
    return tuple(
        replace(w, engine="tensor", dtype="tf32", instructions=0) if w.family == "gemm" else w
        for w in found
    )


@dataclass(frozen=True)
class TensorFloat:
    """The float32 products of the modules that fit, in TF32."""

    modules: str
    rank: int = 0

    def demand(self, setting: ResolvedScenario) -> None:
        """InputError for a GPU without TF32."""
        gpu = setting.gpu
        if not gpu.peak("tensor", "tf32"):
            raise InputError(
                f"precision: {gpu.name} has no TF32: expected a GPU with TF32 tensor cores "
                "(Ampere or later); choose fp16, or another GPU"
            )

    def __call__(self, trace: Trace) -> Trace:
        change = Rewriting(trace)
        named: dict[int, Signature] = {}
        known = set(PRODUCTS)
        for index, op in enumerate(trace.ops):
            fits = op.name in known and op.inputs[0].dtype == "float32"
            if not fits or block(self.modules, op.module) is None:
                continue
            key = id(op.signature)
            if key not in named:
                named[key] = replace(op.signature, name=f"tf32.{op.name.partition('.')[2]}")
            change.put(index, (replace(op, signature=named[key]),))
        return change.done()

    def of_family(self, family: Family) -> Family:
        """The same of every trace of a family."""
        signatures = list(family.signatures)
        rows = list(family.rows)
        named: dict[int, int] = {}
        known = set(PRODUCTS)
        for index, (row, module) in enumerate(zip(rows, family.op_columns[0], strict=True)):
            form = signatures[row]
            fits = form.name in known and family.tensors[form.inputs[0]][2] == "float32"
            if not fits or block(self.modules, module) is None:
                continue
            if row not in named:
                named[row] = len(signatures)
                name = f"tf32.{form.name.partition('.')[2]}"
                signatures.append(dataclasses.replace(form, name=name))
            rows[index] = named[row]
        return dataclasses.replace(family, signatures=signatures, rows=rows)
