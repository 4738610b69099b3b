"""Compiled `flex_attention`: one generated kernel that computes a share of the mask's blocks.

It is not calibrated: its blocks are assumed to take as long as those of the flash kernel (in
float32, of the memory-efficient kernel), on which its template is based. The arithmetic of a
`score_mod` is not counted.
"""

from __future__ import annotations

from simulator.costs.kernels.launches import reduction
from simulator.costs.registry import Engine, Work, cost
from simulator.records import Signature


@cost("compiled.flex_attention.default")
def flex_attention(op: Signature) -> Work:
    """One kernel of 2·pairs·d FLOPs for q·kᵀ and 2·pairs·dv for the product with v, which reads q,
    k and v once."""
    width, value_width = op["query"].shape[-1], op["value"].shape[-1]
    return _work(op, 2 * (width + value_width), "fwd")


@cost("compiled.flex_attention_backward.default")
def flex_attention_backward(op: Signature) -> tuple[Work, ...]:
    """Two kernels: sum(dO·O) per row, then three products of width d and two of width dv."""
    grad, out, lse = op["grad_out"], op["out"], op["logsumexp"]
    width, value_width = op["query"].shape[-1], op["value"].shape[-1]
    delta = reduction(lse.numel, value_width, grad.nbytes + out.nbytes, lse.nbytes, flops=2)
    return delta, _work(op, 2 * (3 * width + 2 * value_width), "bwd")


def _work(op: Signature, flops_per_pair: int, direction: str) -> Work:
    """`flops` counts every pair of query and key; dims["fraction"] is the share computed."""
    (b, h, sq, d), (_, hk, sk, dv) = op["query"].shape, op["value"].shape
    single = op["query"].dtype == "float32"
    engine: Engine = "tensor"
    pairs = b * h * sq * sk
    return Work(
        "attention",
        flops=flops_per_pair * pairs,
        read_bytes=op.read_bytes,
        write_bytes=op.write_bytes,
        engine=engine,
        dtype="tf32" if single else op["query"].dtype,
        instructions=10 * pairs,  # an exp for each pair
        dims={
            **dict(b=b, h=h, hk=hk, sq=sq, sk=sk, d=d, dv=dv),
            **dict(causal=False, direction=direction, mask=False, dropout=0.0),
            "backend": "efficient" if single else "flash",
            "fraction": float(op.args["share"]),
        },
    )
