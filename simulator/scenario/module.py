"""The module of a trace request, with the request's frozen parameters, dtypes of modules and
attention kernel."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

from simulator.costs.attention.selection import Attention, takes
from simulator.errors import InputError
from simulator.networks.loading.load import DTYPES
from simulator.networks.loading.load import load as load_network
from simulator.networks.loading.loaded import Loaded
from simulator.scenario.module_pattern import block, check
from simulator.scenario.resolved import TraceRequest


def load(request: TraceRequest) -> Loaded:
    """The network of a request on `meta`, before parameters are frozen and modules converted."""
    return load_network(
        request.network,
        batch=request.batch,
        seq=request.seq,
        training=request.training,
        dtype="fp32" if request.dtype in AUTOCAST else request.dtype,
        sizes=dict(request.sizes),
    )


AUTOCAST = {"autocast": "bf16", "autocast-fp16": "fp16"}


def loaded(request: TraceRequest) -> Loaded:
    """The network of a request on `meta`, with frozen parameters and converted modules."""
    network = load(request)
    _freeze(network.module, request.frozen)
    for pattern, dtype in request.module_dtypes:
        _convert(network.module, pattern, dtype)
    return network


def _freeze(module: Any, patterns: tuple[str, ...]) -> None:
    for pattern in patterns:
        names = [name for name, _ in module.named_parameters()]
        check(pattern, names)
        for name, parameter in module.named_parameters():
            if block(pattern, name) is not None:
                parameter.requires_grad_(False)


_CASTS = {"fp32": "float", "bf16": "bfloat16", "fp16": "half"}
"""The method that casts a module or a tensor to a dtype."""


def _convert(module: Any, pattern: str, dtype: str) -> None:
    """Convert modules to a dtype: cast their inputs to it, and their outputs back."""
    modules = dict(module.named_modules())
    check(pattern, modules)
    for path, child in modules.items():
        if path and block(pattern, path) == path:
            first = next((p for p in child.parameters() if p.is_floating_point()), None)
            names = {torch: name for name, torch in DTYPES.items()}
            before = (
                names.get(str(first.dtype).removeprefix("torch.")) if first is not None else None
            )
            if before and before != dtype:
                getattr(child, _CASTS[dtype])()
                child.register_forward_pre_hook(_casting_in(dtype), with_kwargs=True)
                child.register_forward_hook(_casting_out(before))


def _cast(value: Any, dtype: str) -> Any:
    if isinstance(value, tuple | list):
        return type(value)(_cast(v, dtype) for v in value)  # pyright: ignore
    floating = hasattr(value, "is_floating_point") and value.is_floating_point()
    return getattr(value, _CASTS[dtype])() if floating else value


def _casting_in(dtype: str) -> Callable[..., Any]:
    def cast_inputs(module: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        return _cast(args, dtype), {name: _cast(value, dtype) for name, value in kwargs.items()}

    return cast_inputs


def _casting_out(dtype: str) -> Callable[..., Any]:
    def cast_output(module: Any, args: Any, output: Any) -> Any:
        return _cast(output, dtype)

    return cast_output


@contextmanager
def forced_attention(backend: str) -> Generator[None]:
    """Run attention by this kernel, as under `sdpa_kernel`. Raises InputError for inputs that the
    kernel does not support."""
    from simulator.tracing.semantics import attention  # imports torch
    from simulator.tracing.substituted import substituted

    def forced(call: Attention) -> str:
        if not takes(backend, call):
            query, key = call.query, call.key
            shapes = (
                f"queries {list(query.shape)} and keys {list(key.shape)} in torch.{query.dtype}"
            )
            masked = ", masked" if call.mask is not None else ""
            raise InputError(
                f"sdpa={backend}: this kernel does not support {shapes}{masked}: expected another "
                "backend; try sdpa=math, or leave the choice to PyTorch"
            )
        return backend

    with substituted(attention, choose=forced):
        yield
