"""Decisions that Inductor takes by running something on the GPU, taken without one."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import torch

from simulator.fusion.lowering.padding import padded, timer
from simulator.hardware.gpu import GPU
from simulator.inductor.device import FOREVER
from simulator.inductor.tensors import signature, tensor
from simulator.scenario.module import forced_attention
from simulator.timing.profile import Profile
from simulator.tracing.semantics.attention import attention
from simulator.tracing.semantics.registry import Situation

aten = torch.ops.aten


def decide(gpu: GPU, profile: Profile, sdpa: str | None = None) -> None:
    """Constants are folded on the CPU, products are padded where their predicted times say so, and
    attention takes the backend that it takes on this card, or the one that is asked for."""
    _fold_on_cpu()
    _lay_convolutions()
    _pad_by_prediction(gpu, profile)
    if sdpa is not None:
        FOREVER.enter_context(forced_attention(sdpa))
    _attend(gpu)


def _attend(gpu: GPU) -> None:
    """A build for the CPU knows no backend but plain products."""
    situation = Situation(gpu, None)  # pyright: ignore[reportArgumentType]  # no rule here records

    def chosen(*args: Any, **kwargs: Any) -> Any:
        return attention(situation, *args, **kwargs)

    for key in (torch._C.DispatchKey.AutogradCUDA, torch._C.DispatchKey.CUDA):
        aten.scaled_dot_product_attention.default.py_impl(key)(chosen)


def _lay_convolutions() -> None:
    """A build without cuDNN lays what a convolution makes, gradients too, row-major; cuDNN keeps
    the layout of the image or of the weight (`cudnn_conv_suggest_memory_format` of ATen/native/
    ConvUtils.h)."""

    def last(x: torch.Tensor) -> bool:
        return x.is_contiguous(memory_format=torch.channels_last) and not x.is_contiguous()

    def layout(x: torch.Tensor, weight: torch.Tensor, backend: Any) -> torch.memory_format:
        turned = x.dim() == 4 and (last(x) or last(weight))
        return torch.channels_last if turned else torch.contiguous_format

    torch._C._conv_determine_backend_memory_format = layout


def _fold_on_cpu() -> None:
    """`constant_fold_uniform_value` makes one-element tensors and runs ops on them."""
    folder: Any = import_module("torch._inductor.fx_passes.joint_graph").UniformValueConstantFolder
    deduce = folder._deduce_value

    def on_cpu(self: Any, node: Any) -> Any:
        if node.target is torch.ops.prims.device_put.default:
            return self.env[node.args[0]]
        if "device" not in node.kwargs or node.op != "call_function":
            return deduce(self, node)
        args, kwargs = self.fetch_args_kwargs_from_env(node)
        kwargs = {**kwargs, "device": torch.device("cpu")}
        if node.target is aten.full.default and len(args) == 2:
            symbolic = isinstance(args[1], (torch.SymInt, torch.SymFloat, torch.SymBool))
            return self.unknown_value if symbolic else aten.full.default([1], args[1], **kwargs)
        kwargs.pop("memory_format", None)
        runs = torch.Tag.pointwise in getattr(node.target, "tags", ())
        if runs or node.target is aten.scalar_tensor.default:
            return node.target(*args, **kwargs)
        return self.unknown_value

    def zeros(self: Any) -> None:
        for node in self.module.graph.nodes:
            if node.target in (aten.mul.Tensor, aten.mul.Scalar):
                value = node.meta.get("val")
                zero = any(isinstance(a, int) and a == 0 for a in node.args)
                if isinstance(value, torch.Tensor) and zero:
                    self.add_node_replacement(node, torch.zeros(1, dtype=value.dtype))

    folder._deduce_value = on_cpu
    folder._add_peephole_patterns = zeros


def _pad_by_prediction(gpu: GPU, profile: Profile) -> None:
    """`pad_mm` times a product as it is and padded; here both are predicted."""
    rules: Any = import_module("torch._inductor.fx_passes.pad_mm")
    seconds = timer(gpu, profile)

    def should_pad(match: Any, mat1: Any, mat2: Any, op: Any, input: Any = None) -> bool:
        m, k, n = mat1.shape[-2], mat1.shape[-1], mat2.shape[-1]
        if not rules.is_mm_compute_bound(m, k, n, mat1.dtype):
            return False
        operands = [t for t in (input, mat1, mat2) if t is not None]
        free = [rules.should_exclude_padding_time(match, name) for name in ("mat1", "mat2")]
        out = mat1.new_empty((*mat1.shape[:-1], n))
        names = ("self", "mat1", "mat2") if input is not None else ("self", "mat2")
        found = signature(
            f"{op}.default".replace("aten::", "aten."),
            names,
            [tensor(t) for t in operands],
            [tensor(out)],
            {},
        )
        return padded(found, [False, *free][-len(operands) :], seconds) is not None

    rules._should_pad = should_pad
