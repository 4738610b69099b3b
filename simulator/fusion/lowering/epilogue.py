"""A matrix product or convolution that runs a loop over its result before it stores the result."""

from __future__ import annotations

from msgspec.structs import replace

from simulator.costs import Work, cost, works
from simulator.fusion.costed import costed
from simulator.records import Op, Signature, Tensor

_OWN = ("product", "out", "regions", "flops", "instructions", "ops", "template")


@cost("fused.product.default")
def product(op: Signature) -> tuple[Work, ...]:
    """The product's launches. The last also reads the loop's inputs, runs its arithmetic and writes
    its results. The tiles take the time of the product alone, because the loop runs on vector units
    during the next tile."""
    mine = op.names.index("reads") if "reads" in op.names else len(op.names)
    shape, dtype, stride = op.arg("out")
    plain = Signature(
        op.arg("product"),
        op.inputs[:mine],
        (Tensor(tuple(shape), dtype, tuple(stride)),),
        op.names[:mine],
        {k: v for k, v in op.args.items() if k not in _OWN},
        tuple(op.arg("regions")),
    )
    launches = list(works(plain) or ())
    last = launches[-1]
    dims = last.dims | {"template": True} if op.arg("template") else last.dims
    return (
        *launches[:-1],
        replace(
            last,
            flops=last.flops + op.arg("flops"),
            read_bytes=last.read_bytes + sum(t.nbytes for t in op.inputs[mine:]),
            write_bytes=op.write_bytes,
            instructions=last.instructions + op.arg("instructions"),
            dims=dims,
        ),
    )


def is_product(op: Op) -> bool:
    """Whether an op is one product or convolution whose kernel can have an epilogue."""
    works = costed(op.signature)
    return bool(works) and len(op.outputs) == 1 and works[-1].family in ("gemm", "conv")


def with_epilogue(
    op: Op,
    reads: tuple[Tensor, ...],
    writes: tuple[Tensor, ...],
    work: tuple[int, int],
    ops: str,
    template: bool = False,
) -> Signature:
    """The signature of a product followed by a loop. The loop also reads `reads`, and only its
    results `writes` are written; `work` is its FLOPs and instructions. The kernel is the library's,
    or a generated `template`."""
    out = op.outputs[0]
    args = dict(op.signature.args) | {
        "product": op.name,
        "out": (out.shape, out.dtype, out.stride),
        "regions": op.signature.aliases,
        "flops": work[0],
        "instructions": work[1],
        "ops": ops,
    }
    if template:
        args["template"] = True
    names = (*op.signature.names, *("reads",) * len(reads))
    return Signature("fused.product.default", (*op.inputs, *reads), writes, names, args)
