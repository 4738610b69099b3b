"""A network from what a user can name: a catalogue entry, a file of their own, a configuration.

    load("bert-base", batch=16, seq=128)
    load("nets.py:make", sizes={"width": 512})
    load("hf:folder/config.json")
    load("timm:resnet50")

Nothing is downloaded and no weight is ever read: modules and inputs are made on `meta`. Torch is
imported when the first network is loaded.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

from simulator.errors import InputError
from simulator.networks.catalogue import build, network

if TYPE_CHECKING:
    from torch import nn

DTYPES = {"fp32": "float32", "bf16": "bfloat16", "fp16": "float16"}
DEFAULT_BATCH, DEFAULT_SEQ = 1, 128


@dataclass(frozen=True)
class Facts:
    """What was loaded: `batch` and `seq` as taken, None where the network chose for itself."""

    name: str
    batch: int | None
    seq: int | None
    dtype: str
    training: bool


class Loaded(NamedTuple):
    """A network ready to be traced: `module(*args, **kwargs)`."""

    module: nn.Module
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    facts: Facts


@dataclass(frozen=True)
class _Wanted:
    """What the user asked for; None leaves it to the network."""

    spec: str
    batch: int | None
    seq: int | None
    dtype: str
    training: bool
    sizes: Mapping[str, Any]

    def facts(self, name: str, batch: int | None, seq: int | None) -> Facts:
        return Facts(name, batch, seq, self.dtype, self.training)


def load(
    spec: str,
    *,
    batch: int | None = None,
    seq: int | None = None,
    dtype: str = "fp32",
    training: bool = False,
    sizes: Mapping[str, Any] | None = None,
) -> Loaded:
    """The network that `spec` names, with its inputs.

    `sizes` are keywords for the network's constructor. Raises InputError, with what came, what
    was expected and what to do.
    """
    for name, value in (("batch", batch), ("seq", seq)):
        if value is not None and value < 1:
            raise InputError(f"{name} is {value}: expected 1 or more")
    if dtype not in DTYPES:
        raise InputError(f"unknown dtype {dtype!r}: expected one of {', '.join(DTYPES)}")
    wanted = _Wanted(spec, batch, seq, dtype, training, dict(sizes or {}))
    if spec.startswith("hf:"):
        return _transformers(wanted)
    if spec.startswith("timm:"):
        return _timm(wanted)
    if spec.endswith(".py") or ".py:" in spec:
        return _file(wanted)
    return _catalogue(wanted)


@contextmanager
def _weightless(dtype: str) -> Iterator[None]:
    """New tensors are on `meta`, and new floating-point ones of `dtype`."""
    import torch

    before = torch.get_default_dtype()
    torch.set_default_dtype(getattr(torch, DTYPES[dtype]))
    try:
        with torch.device("meta"):
            yield
    finally:
        torch.set_default_dtype(before)


# The catalogue


def _catalogue(wanted: _Wanted) -> Loaded:
    entry = network(wanted.spec)
    if wanted.seq is not None and entry.seq is None:
        raise InputError(f"network {entry.name!r} has no sequence: leave seq out")
    if wanted.training and not entry.trains:
        raise InputError(f"network {entry.name!r} has no training step: predict inference instead")
    batch, seq = wanted.batch or entry.batch, wanted.seq or entry.seq
    given = ", ".join(f"{name}={value}" for name, value in wanted.sizes.items())
    with _weightless(wanted.dtype):
        try:
            module: Any = build(entry.name, **wanted.sizes)
            _check_positions(entry.name, module, seq)
            args = module.example_inputs(batch, seq, wanted.training)
        except InputError:
            raise
        except Exception as error:
            raise InputError(
                f"network {entry.name!r} cannot be built with {given or 'its own sizes'}: "
                f"{type(error).__name__}: {error}"
            ) from error
    return Loaded(module, args, {}, wanted.facts(entry.name, batch, seq))


def _check_positions(name: str, module: nn.Module, seq: int | None) -> None:
    """A lookup past a table's end fails on a GPU; without data nothing would notice."""
    from torch import nn

    table = getattr(module, "positions", None)
    if isinstance(table, nn.Embedding) and seq is not None and seq > table.num_embeddings:
        raise InputError(
            f"network {name!r} has {table.num_embeddings} positions: expected seq "
            f"{table.num_embeddings} at most, got {seq}; give the size positions={seq}"
        )


# A user's file


def _file(wanted: _Wanted) -> Loaded:
    place, _, name = wanted.spec.rpartition(":") if ".py:" in wanted.spec else (wanted.spec, "", "")
    path = Path(place)
    label = f"{path.name}:{name}"
    if not path.is_file():
        raise InputError(f"{place}: no such file: expected FILE.py:FACTORY; check the path")
    code = _imported(path)
    factory = getattr(code, name, None) if name else None
    if not callable(factory):
        came = f"{path.name} names no factory" if not name else f"{path.name} has no {name!r}"
        if factory is not None:
            came = f"{label} is of type {type(factory).__name__}"
        there = ", ".join(_factories(code)) or "nothing callable"
        raise InputError(
            f"{came}: expected FILE.py:FACTORY, a function or class that makes an nn.Module; "
            f"{path.name} has {there}"
        )
    _check_keywords(label, factory, wanted.sizes)
    with _weightless(wanted.dtype), _blaming(path, label):
        made = factory(**wanted.sizes)
    module, args, kwargs = _taken_apart(label, made)
    name = f"{path.stem}:{name}"
    if args is not None:
        if wanted.batch or wanted.seq:
            raise InputError(f"{label} returns inputs of its own: leave batch and seq out")
        return Loaded(module, args, kwargs, wanted.facts(name, None, None))
    return _with_inputs(wanted, path, label, replace(wanted, spec=name), code, module)


def _imported(path: Path) -> ModuleType:
    """The user's file as a module; files beside it can be imported, as when Python runs it."""
    import sys

    found = spec_from_file_location(f"ridgepoint_user_{path.stem}", path)
    assert found is not None and found.loader is not None
    code = module_from_spec(found)
    sys.modules[found.name] = code  # dataclasses look their module up
    sys.path.insert(0, str(path.resolve().parent))
    try:
        with _blaming(path, path.name):
            found.loader.exec_module(code)
    finally:
        sys.path.remove(str(path.resolve().parent))
    return code
