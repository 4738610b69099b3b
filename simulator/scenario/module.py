"""The network of an ask, as its what-ifs left it: parameters frozen, modules in other dtypes, and
attention by another kernel."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager, nullcontext
from typing import Any

from simulator.errors import InputError
from simulator.networks import loading
from simulator.networks.loaded import Loaded
from simulator.networks.loading import DTYPES
from simulator.scenario.module_pattern import block, check
from simulator.scenario.setting import Ask


def load(ask: Ask) -> Loaded:
    """The network of an ask as it was written, on `meta`."""
    return loading.load(
        ask.network, batch=ask.batch, seq=ask.seq, training=ask.training,
        dtype="fp32" if ask.dtype in AUTOCAST else ask.dtype, sizes=dict(ask.sizes),
    )  # fmt: skip


AUTOCAST = {"autocast": "bf16", "autocast-fp16": "fp16"}


def loaded(ask: Ask) -> Loaded:
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
        _cast(args, dtype), {name: _cast(value, dtype) for name, value in kwargs.items()}
    )  # fmt: skip


def _casting_out(dtype: str) -> Callable[..., Any]:
    return lambda module, args, output: _cast(output, dtype)


@contextmanager
def forced_attention(backend: str) -> Generator[None]:
    """Attention by this kernel wherever it can take the inputs, as under `sdpa_kernel`."""
    from unittest.mock import patch  # brings asyncio, and whoever only reads traces needs neither

    from simulator.tracing.semantics import attention

    usual = attention.choose

    def forced(capability: tuple[int, int], q: Any, k: Any, v: Any, mask: Any, dropout_p: float,
               is_causal: bool, enable_gqa: bool) -> str:  # fmt: skip
        rest = (q, k, v, mask, dropout_p, is_causal, enable_gqa)
        if backend != "math" and not _takes(backend, capability, rest, usual):
            shapes = f"queries {list(q.shape)} and keys {list(k.shape)} in {q.dtype}"
            masked = ", masked" if mask is not None else ""
            raise InputError(
                f"sdpa={backend}: that kernel cannot take {shapes}{masked} here: expected another "
                "backend; try sdpa=math, or leave the choice to PyTorch"
            )
        return backend

    with patch.object(attention, "choose", forced):
        yield


@contextmanager
def capturing() -> Generator[None]:
    """transformers is told that a graph is traced or captured: it reads no mask's data then, and
    makes a mask that it would leave out in eager mode (`is_tracing` in its masking_utils)."""
    from unittest.mock import patch

    theirs = sys.modules.get("transformers.utils.import_utils")
    with (
        patch.object(theirs, "is_torchdynamo_compiling", lambda: True) if theirs else nullcontext()
    ):
        yield


def _takes(backend: str, capability: tuple[int, int], rest: Any, usual: Any) -> bool:
    """Would PyTorch take this backend if those that it prefers were switched off?

    A card that asks cuDNN first answers for cuDNN, one that does not for flash; the efficient
    kernel stands third, and is asked with queries that only it takes.
    """
    q, k, v, _, _, _, enable_gqa = rest
    if backend == "cudnn":
        return capability >= (8, 0) and usual((9, 0), *rest) == "cudnn"
    if backend == "flash":
        return capability >= (8, 0) and usual((8, 0), *rest) == "flash"
    answer = usual((8, 0) if capability >= (8, 0) else capability, *rest)
    if answer == "efficient":
        return True
    grouped = q.shape[1] != k.shape[1] or (enable_gqa and k.shape[1] != v.shape[1])
    sizes = (q.shape[-1], v.shape[-1])
    unit = 4 if q.element_size() == 4 else 8
    return answer == "flash" and not grouped and all(size % unit == 0 for size in sizes)
