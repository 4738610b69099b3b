"""The network of an ask, as its what-ifs left it: parameters frozen, modules in other dtypes, and
attention by another kernel."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

from simulator.costs.attention_kernels import Attention, takes
from simulator.errors import InputError
from simulator.networks import loading
from simulator.networks.loaded import Loaded
from simulator.networks.loading import DTYPES
from simulator.scenario.module_pattern import block, check
from simulator.scenario.resolved import TraceRequest


def load(ask: TraceRequest) -> Loaded:
    """The network of an ask as it was written, on `meta`."""
    return loading.load(
        ask.network,
        batch=ask.batch,
        seq=ask.seq,
        training=ask.training,
        dtype="fp32" if ask.dtype in AUTOCAST else ask.dtype,
        sizes=dict(ask.sizes),
    )


AUTOCAST = {"autocast": "bf16", "autocast-fp16": "fp16"}


def loaded(ask: TraceRequest) -> Loaded:
    """The network of an ask as its what-ifs left it, on `meta`."""
    found = load(ask)
    _freeze(found.module, ask.frozen)
    for pattern, dtype in ask.module_dtypes:
        _convert(found.module, pattern, dtype)
    return found


def _freeze(module: Any, patterns: tuple[str, ...]) -> None:
    for pattern in patterns:
        names = [name for name, _ in module.named_parameters()]
        check(pattern, names)
        for name, parameter in module.named_parameters():
            if block(pattern, name) is not None:
                parameter.requires_grad_(False)


_CASTS = {"fp32": "float", "bf16": "bfloat16", "fp16": "half"}
"""The method of a module or a tensor that casts it."""


def _convert(module: Any, pattern: str, dtype: str) -> None:
    """Modules in a dtype of their own: cast on the way in, and back on the way out."""
    found = dict(module.named_modules())
    check(pattern, found)
    for path, child in found.items():
        if path and block(pattern, path) == path:
            first = next((p for p in child.parameters() if p.is_floating_point()), None)
            own = {torch: name for name, torch in DTYPES.items()}
            before = own.get(str(first.dtype).removeprefix("torch.")) if first is not None else None
            if before is not None and before != dtype:
                getattr(child, _CASTS[dtype])()
                child.register_forward_pre_hook(_casting_in(dtype), with_kwargs=True)
                child.register_forward_hook(_casting_out(before))


def _cast(value: Any, dtype: str) -> Any:
    if isinstance(value, tuple | list):
        return type(value)(_cast(v, dtype) for v in value)  # pyright: ignore
    floating = hasattr(value, "is_floating_point") and value.is_floating_point()
    return getattr(value, _CASTS[dtype])() if floating else value


def _casting_in(dtype: str) -> Callable[..., Any]:
    return lambda module, args, kwargs: (
        _cast(args, dtype),
        {name: _cast(value, dtype) for name, value in kwargs.items()},
    )


def _casting_out(dtype: str) -> Callable[..., Any]:
    return lambda module, args, output: _cast(output, dtype)


@contextmanager
def forced_attention(backend: str) -> Generator[None]:
    """Attention by this kernel wherever it can take the inputs, as under `sdpa_kernel`."""
    from unittest.mock import patch  # brings asyncio, and whoever only reads traces needs neither

    from simulator.tracing.semantics import attention

    def forced(call: Attention) -> str:
        if not takes(backend, call):
            query, key = call.query, call.key
            shapes = (
                f"queries {list(query.shape)} and keys {list(key.shape)} in torch.{query.dtype}"
            )
            masked = ", masked" if call.mask is not None else ""
            raise InputError(
                f"sdpa={backend}: that kernel cannot take {shapes}{masked} here: expected another "
                "backend; try sdpa=math, or leave the choice to PyTorch"
            )
        return backend

    with patch.object(attention, "choose", forced):
        yield
