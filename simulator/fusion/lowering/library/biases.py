"""Biases that Inductor takes out of library calls, so that loops add them and reductions compute
their gradients: the bias of a full-precision product (`unfuse_bias_add_to_pointwise` of
fx_passes/post_grad.py), of every convolution (`convolution` of kernel/conv.py: "peel off the bias,
cudnn is slower with it"), and the bias's gradient of a convolution (`convolution_backward` of
decomposition.py)."""

from __future__ import annotations

from msgspec.structs import replace

from simulator.records import Op, Signature

_TAKEN = {
    "aten.addmm.default": ("aten.mm.default", "self"),
    "aten.convolution.default": ("aten.convolution.default", "bias"),
}


def without_bias(op: Op, known: dict[int, Signature]) -> tuple[Op, int] | None:
    """The call without its bias, and the place of the bias; None if it has no bias. `known` caches
    the new signatures by the id of the original ones."""
    if op.name not in _TAKEN:
        return None
    name, bias = _TAKEN[op.name]
    names = op.signature.names
    if bias not in names:
        return None
    place = names.index(bias)
    if id(op.signature) not in known:
        places = tuple(i for i in range(len(names)) if i != place)
        tf32 = {"tf32": True} if op.signature.arg("tf32", False) else {}
        args = op.signature.args if name == op.name else tf32
        known[id(op.signature)] = replace(
            op.signature,
            name=name,
            inputs=tuple(op.inputs[i] for i in places),
            aliases=(),
            names=tuple("self" if names[i] == "mat1" else names[i] for i in places),
            args=args,
        )
    storages = (*op.storages[:place], *op.storages[place + 1 :])
    return replace(op, signature=known[id(op.signature)], storages=storages), place


def without_bias_gradient(op: Op, known: dict[int, Signature]) -> Op | None:
    """A convolution's backward call without its last result, the bias's gradient; None if the call
    has no such result."""
    mask = op.signature.arg("output_mask", ())
    if op.name != "aten.convolution_backward.default" or len(mask) < 3 or not mask[2]:
        return None
    if id(op.signature) not in known:
        args = dict(op.signature.args) | {"output_mask": [*mask[:2], False]}
        known[id(op.signature)] = replace(
            op.signature, outputs=op.outputs[:-1], aliases=op.signature.aliases[:-1], args=args
        )
    return replace(op, signature=known[id(op.signature)], storages=op.storages[:-1])
