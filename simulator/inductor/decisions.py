"""Make, without a GPU, the decisions for which Inductor runs code on the GPU."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import torch

from simulator.fusion.lowering.library.padding import padded, timer
from simulator.hardware.gpu import GPU
from simulator.inductor.device import FOREVER
from simulator.inductor.tensors import signature, tensor
from simulator.scenario.module import forced_attention
from simulator.timing.profile import Profile
from simulator.tracing.semantics.attention import attention
from simulator.tracing.semantics.registry import Situation

aten = torch.ops.aten


def decide(gpu: GPU, profile: Profile, sdpa: str | None = None) -> None:
    """Patch Inductor for this process: fold constants on the CPU, pad matrix products by their
    predicted times, and choose the attention backend of this GPU, or `sdpa` if it is set."""
    _fold_on_cpu()
    _set_convolution_layouts()
    _pad_by_prediction(gpu, profile)
    if sdpa is not None:
        FOREVER.enter_context(forced_attention(sdpa))
    _choose_attention(gpu)


def _choose_attention(gpu: GPU) -> None:
    """Choose attention kernels as on the GPU; a CPU build has plain products only."""
    situation = Situation(gpu, None)  # pyright: ignore[reportArgumentType]  # this rule records nothing

    def chosen(*args: Any, **kwargs: Any) -> Any:
        return attention(situation, *args, **kwargs)

    for key in (torch._C.DispatchKey.AutogradCUDA, torch._C.DispatchKey.CUDA):  # pyright: ignore[reportPrivateUsage]
        aten.scaled_dot_product_attention.default.py_impl(key)(chosen)


def _set_convolution_layouts() -> None:
    """Choose the memory format as cuDNN does: that of the image or that of the weight
    (`cudnn_conv_suggest_memory_format` of ATen/native/ConvUtils.h). A build without cuDNN returns
    contiguous outputs and gradients."""

    def is_channels_last(x: torch.Tensor) -> bool:
        return x.is_contiguous(memory_format=torch.channels_last) and not x.is_contiguous()

    def layout(x: torch.Tensor, weight: torch.Tensor, backend: Any) -> torch.memory_format:
        channels_last = x.dim() == 4 and (is_channels_last(x) or is_channels_last(weight))
        return torch.channels_last if channels_last else torch.contiguous_format

    torch._C._conv_determine_backend_memory_format = layout  # pyright: ignore[reportPrivateUsage]


def _fold_on_cpu() -> None:
    """Fold constants on the CPU, where `constant_fold_uniform_value` runs ops on one element."""
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
    """Predict the two times that `pad_mm` measures: of a product without padding and with it."""
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
        product = signature(
            f"{op}.default".replace("aten::", "aten."),
            names,
            [tensor(t) for t in operands],
            [tensor(out)],
            {},
        )
        return padded(product, [False, *free][-len(operands) :], seconds) is not None

    rules._should_pad = should_pad
