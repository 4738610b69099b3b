"""float32 matrix products on TF32 tensor cores (`torch.set_float32_matmul_precision("high")`)."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from msgspec.structs import replace

from simulator.costs.matmul.tensor_float import PRODUCTS, in_tensor_float
from simulator.errors import InputError
from simulator.records import Signature, Trace
from simulator.scenario.module_pattern import block
from simulator.scenario.resolved import ResolvedScenario
from simulator.symbols.family import Family
from simulator.whatif.edits.rewriting import Rewriting


@dataclass(frozen=True)
class TensorFloat:
    """Convert the float32 products of the matching modules to TF32."""

    modules: str
    rank: int = 0

    def demand(self, resolved: ResolvedScenario) -> None:
        """Raise InputError for a GPU without TF32."""
        gpu = resolved.gpu
        if not gpu.peak("tensor", "tf32"):
            raise InputError(
                f"precision: {gpu.name} has no TF32: expected a GPU with TF32 tensor cores "
                "(Ampere or later); choose fp16, or another GPU"
            )

    def __call__(self, trace: Trace) -> Trace:
        change = Rewriting(trace)
        renamed: dict[int, Signature] = {}
        for index, op in enumerate(trace.ops):
            is_fp32 = op.name in PRODUCTS and op.inputs[0].dtype == "float32"
            if not is_fp32 or block(self.modules, op.module) is None:
                continue
            key = id(op.signature)
            if key not in renamed:
                renamed[key] = replace(op.signature, name=in_tensor_float(op.name))
            change.put(index, (replace(op, signature=renamed[key]),))
        return change.done()

    def of_family(self, family: Family) -> Family:
        """Edit all traces of a family."""
        signatures = list(family.signatures)
        rows = list(family.rows)
        renamed: dict[int, int] = {}
        for index, (row, module) in enumerate(zip(rows, family.op_columns[0], strict=True)):
            form = signatures[row]
            is_fp32 = form.name in PRODUCTS and family.tensors[form.inputs[0]][2] == "float32"
            if not is_fp32 or block(self.modules, module) is None:
                continue
            if row not in renamed:
                renamed[row] = len(signatures)
                signatures.append(dataclasses.replace(form, name=in_tensor_float(form.name)))
            rows[index] = renamed[row]
        return dataclasses.replace(family, signatures=signatures, rows=rows)
