"""`torch.autocast("cuda")` for tensors that live on `meta`.

torch's own casts apply to tensors on a GPU only, not to `meta`. Here the same lists, which are
traits of the ops, are registered under a dispatch key that no backend of a stock build uses, and
read the state that `torch.autocast("cuda", ...)` sets. Calls from C++ are cast as well.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from functools import lru_cache
from typing import Any

import torch
from torch.utils._pytree import tree_leaves

from simulator.costs.compiled_traits import Autocast
from simulator.costs.registry import autocast_lists
from simulator.tracing.substituted import substituted

_KEY = "AutocastIPU"
_DEVICE = "ipu"


_CASTS: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}
"""Each weight that was cast in the current autocast region, with its cast, by its id."""


@contextmanager
def autocast_semantics() -> Generator[None]:
    """Make `torch.autocast("cuda")` work for `meta` tensors while entered."""
    key = getattr(torch._C.DispatchKey, _KEY)
    _register()
    _CASTS.clear()
    was_enabled = torch.is_autocast_enabled(_DEVICE)
    with ExitStack() as stack:
        stack.callback(_CASTS.clear)
        stack.callback(torch.set_autocast_enabled, _DEVICE, was_enabled)
        torch.set_autocast_enabled(_DEVICE, True)
        stack.enter_context(substituted(torch, clear_autocast_cache=_CASTS.clear))
        stack.enter_context(torch._C._IncludeDispatchKeyGuard(key))
        yield


@lru_cache
def _register() -> tuple[torch.library.Library, ...]:
    """Register the casts once in a process, because the dispatcher updates its table of every op.
    Outside a trace, no call has the key."""
    key = getattr(torch._C.DispatchKey, _KEY)
    aten = torch.library.Library("aten", "IMPL")
    fallthrough = torch.library.Library("_", "IMPL")
    fallthrough.fallback(torch.library.fallthrough_kernel, _KEY)
    policies: dict[Autocast, Callable[[Any], Callable[..., Any]]] = {
        "low": _lower,
        "float32": _single,
        "float32_argument": _single_by_argument,
        "widest": _widest,
    }
    for name, its_list in autocast_lists().items():
        op = _overload(name)
        if op is not None:
            aten.impl(op, _guarded(op, policies[its_list](op), key), _KEY)
    return aten, fallthrough  # a library that is freed removes its kernels


def _overload(name: str) -> Any:
    packet, _, overload = name.partition(".")
    return getattr(getattr(torch.ops.aten, packet, None), overload, None)


def _guarded(op: Any, cast: Callable[..., Any], key: Any) -> Callable[..., Any]:
    """A kernel that casts only while autocast is on, and not again in nested calls."""
    excluded = torch._C.DispatchKeySet(key)

    def kernel(*args: Any, **kwargs: Any) -> Any:
        with torch._C._ExcludeDispatchKeyGuard(excluded):
            if torch.is_autocast_enabled("cuda"):
                return cast(*args, **kwargs)
            return op(*args, **kwargs)

    return kernel


def _call(op: Any, cast: Callable[[torch.Tensor], torch.Tensor], args: Any, kwargs: Any) -> Any:
    """Cast and call. In torch's wheels C++ arguments are evaluated from the last to the first, so
    casts are dispatched, and numbered by autograd, in that order."""
    named = {name: _map(cast, value) for name, value in reversed(kwargs.items())}
    placed = [_map(cast, value) for value in reversed(args)]
    return op(*reversed(placed), **named)


def _map(cast: Callable[[torch.Tensor], torch.Tensor], value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return cast(value) if _eligible(value) else value
    if isinstance(value, (list, tuple)):
        return [_map(cast, v) for v in value]
    return value


def _eligible(x: torch.Tensor) -> bool:
    return x.device.type == "meta" and x.is_floating_point() and x.dtype != torch.float64


def _lower(op: Any) -> Callable[..., Any]:
    def cast_one(x: torch.Tensor) -> torch.Tensor:
        dtype = torch.get_autocast_dtype("cuda")
        if x.dtype == dtype:
            return x
        weight = x.dtype == torch.float32 and x.requires_grad and x.is_leaf and not x._is_view()
        if not (weight and torch.is_autocast_cache_enabled()):
            return x.to(dtype)
        if id(x) not in _CASTS:  # a weight is cast once per autocast region
            _CASTS[id(x)] = (x, x.to(dtype))
        return _CASTS[id(x)][1]

    return lambda *args, **kwargs: _call(op, cast_one, args, kwargs)


def _single(op: Any) -> Callable[..., Any]:
    def widen(x: torch.Tensor) -> torch.Tensor:
        return x.to(torch.float32)

    return lambda *args, **kwargs: _call(op, widen, args, kwargs)


def _single_by_argument(op: Any) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        names = [a.name for a in op._schema.arguments]
        call_args = dict(zip(names, args, strict=False)) | kwargs
        if _eligible(args[0]) and call_args.get("dtype") is None:
            call_args["dtype"] = torch.float32
        schema = op._schema.arguments
        ordered = [a.name for a in schema if not a.kwarg_only and a.name in call_args]
        return op(*[call_args.pop(name) for name in ordered], **call_args)

    return call


def _widest(op: Any) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        leaves = tree_leaves((args, kwargs))
        dtypes = [v.dtype for v in leaves if isinstance(v, torch.Tensor) and _eligible(v)]
        wide = torch.float32 if torch.float32 in dtypes else torch.get_autocast_dtype("cuda")
        return _call(op, lambda x: x.to(wide), args, kwargs)

    return call
