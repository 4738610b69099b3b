"""Products that max-autotune would run in a Triton template, with loops in its epilogue.

Inductor times the library's product and its own templates, and compares the best template, fused
with the loops that follow, with the unfused pair (`Scheduler.speedup_by_fusion`,
torch/_inductor/scheduler.py). Here their times are predicted. This is an approximation: a
template's main loop is assumed to be as fast as the library's. This held in the one step that was
measured (1024 × 2048 × 2048 and a ReLU, bf16 on an H200: 14.4 µs; the library's product alone takes
15 µs). The untuned kernel of the calibration, with GELU, took 1.05 to 1.95 times as long as the
library's at 13 shapes. A product without following loops, a convolution and a 32-bit product stay
in the library.
"""

from __future__ import annotations

from simulator.fusion.group import Group
from simulator.fusion.lowering.epilogue import with_epilogue
from simulator.fusion.lowering.library.padding import Seconds
from simulator.fusion.scheduling.epilogue_fusion import Pays
from simulator.fusion.scheduling.fused_trace import external, in_bytes
from simulator.fusion.scheduling.work import arguments
from simulator.records import Signature, Trace

_PRODUCTS = ("aten.mm.default", "aten.addmm.default", "aten.bmm.default")
_HALVES = ("bfloat16", "float16")


def faster(trace: Trace, seconds: Seconds) -> Pays:
    """Whether a template with the loops in its epilogue takes less time than the library's product
    and their own kernel. `seconds` times each op alone, with operands from DRAM."""

    def pays(product: Group, loops: Group) -> bool:
        node = product.nodes[0]
        op = node.call or trace.ops[node.ops[-1]]
        if op.name not in _PRODUCTS or op.outputs[0].dtype not in _HALVES:
            return False
        reads, writes = external(loops)
        work = sum(n.flops for n in loops.nodes), sum(n.instructions for n in loops.nodes)
        loop = _loop(loops, tuple(reads.values()), tuple(writes.values()), work)
        beside = [size for key, size in reads.items() if key not in node.writes]
        ins, outs = (tuple(map(in_bytes, each)) for each in (beside, writes.values()))
        joined = with_epilogue(op, ins, outs, work, "", template=True)
        joined_s, product_s, loop_s = seconds([joined, op.signature, loop])
        return joined_s < product_s + loop_s

    return pays


def _loop(
    loops: Group, reads: tuple[int, ...], writes: tuple[int, ...], work: tuple[int, int]
) -> Signature:
    args = arguments(loops.nodes, len(reads) + len(writes), work, "")
    ins, outs = (tuple(map(in_bytes, each)) for each in (reads, writes))
    return Signature("fused.pointwise.default", ins, outs, ("reads",) * len(reads), args)
