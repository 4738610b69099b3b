"""A network from what a user can name: a catalogue entry, a file of their own, a configuration.

    load("bert-base", batch=16, seq=128)
    load("nets.py:make", sizes={"width": 512})
    load("hf:folder/config.json")
    load("timm:resnet50")

Nothing is downloaded and no weight is read: modules and inputs are made on `meta`. Torch is
imported when the first network is loaded.
"""

from __future__ import annotations

import inspect
import sys
import traceback
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from difflib import get_close_matches
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


class Facts(NamedTuple):
    """What was loaded: a name to show; batch and seq as taken, None where there is none to name."""

    name: str
    batch: int | None = None
    seq: int | None = None


class Loaded(NamedTuple):
    """A network ready to be traced: `module(*args, **kwargs)`."""

    module: nn.Module
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    facts: Facts


class _Wanted(NamedTuple):
    """What was asked for; None leaves it to the network."""

    spec: str
    batch: int | None
    seq: int | None
    training: bool
    sizes: dict[str, Any]


_LARGEST = 2**31 - 1
"""Of a batch or a sequence: what an index of 32 bits can name."""


def load(
    spec: str,
    *,
    batch: int | None = None,
    seq: int | None = None,
    dtype: str = "fp32",
    training: bool = False,
    sizes: Mapping[str, Any] | None = None,
) -> Loaded:
    """The network that `spec` names, in `dtype` ("fp32", "bf16", "fp16"), with its inputs.

    `sizes` are keywords for the network's constructor. Raises InputError, with what came, what
    was expected and what to do.
    """
    for name, value in (("batch", batch), ("seq", seq)):
        if value is not None and value < 1:
            raise InputError(f"{name} is {value}: expected 1 or more")
        if value is not None and value > _LARGEST:
            raise InputError(f"{name} is {value}: expected {_LARGEST} at most")
    if dtype not in DTYPES:
        raise InputError(f"unknown dtype {dtype!r}: expected one of {', '.join(DTYPES)}")
    wanted = _Wanted(spec, batch, seq, training, dict(sizes or {}))
    kinds = {"hf": _transformers, "timm": _timm}
    kind = "file" if spec.endswith(".py") or ".py:" in spec else spec.partition(":")[0]
    reader = _file if kind == "file" else kinds.get(kind, _catalogue)
    if reader is _catalogue:
        network(spec)  # a mistyped name is answered before torch is imported
    import torch

    before = torch.get_default_dtype()
    torch.set_default_dtype(getattr(torch, DTYPES[dtype]))
    try:
        with torch.device("meta"):
            return reader(wanted)
    finally:
        torch.set_default_dtype(before)


@contextmanager
def _blaming(what: str, remedy: str, path: Path | None = None) -> Generator[None]:
    """Turn what escapes from code that is not ours into an InputError, with the line in `path`."""
    try:
        yield
    except InputError:
        raise
    except (Exception, SystemExit) as error:
        frames = traceback.extract_tb(error.__traceback__)
        lines = [f.lineno for f in frames if path and f.filename == str(path)]
        if isinstance(error, SyntaxError) and path and error.filename == str(path):
            lines, error = [error.lineno], SyntaxError(error.msg)
        where = f" on line {lines[-1]}" if lines else ""
        raise InputError(
            f"{what} raised {type(error).__name__}{where}: {error}; {remedy}"
        ) from error


def _catalogue(wanted: _Wanted) -> Loaded:
    entry = network(wanted.spec)
    what = f"network {entry.name!r}"
    if wanted.seq is not None and entry.seq is None:
        raise InputError(f"{what} has no sequence: leave seq out")
    if wanted.training and not entry.trains:
        raise InputError(f"{what} has no training step: predict inference instead")
    batch, seq = wanted.batch or entry.batch, wanted.seq or entry.seq
    with _blaming(what, "correct its sizes"):
        module: Any = build(entry.name, **wanted.sizes)
        # A lookup past a table's end fails on a GPU; without data nothing would notice.
        rows = getattr(getattr(module, "positions", None), "num_embeddings", None)
        _check_positions(what, seq, rows, f"give the size positions={seq}")
        args = module.example_inputs(batch, seq, wanted.training)
    return Loaded(module, args, {}, Facts(entry.name, batch, seq))


def _check_positions(what: str, seq: int | None, positions: int | None, remedy: str) -> None:
    if seq is not None and positions is not None and seq > positions:
        raise InputError(
            f"{what} has {positions} positions: expected seq {positions} at most, got {seq}; "
            f"or {remedy}"
        )


def _file(wanted: _Wanted) -> Loaded:
    place, _, name = wanted.spec.rpartition(":") if ".py:" in wanted.spec else (wanted.spec, "", "")
    path = Path(place)
    if not path.is_file():
        raise InputError(f"no such file {place!r}: expected FILE.py:FACTORY; check the path")
    code = _imported(path)
    label = f"{path.name}:{name}"
    factory = _factory(code, path, name)
    _check_sizes(label, factory, wanted.sizes)
    correct = "correct the file"
    with _blaming(label, correct, path):
        made = factory(**wanted.sizes)
    module, args, kwargs = _parts(label, made)
    if args is not None:
        if wanted.batch or wanted.seq:
            raise InputError(f"{label} returns inputs of its own: leave batch and seq out")
        return Loaded(module, args, kwargs, Facts(label))
    make: Any = getattr(module, "example_inputs", None)
    beside: Any = getattr(code, "example_inputs", None)
    if make is None and beside is None:
        raise InputError(
            f"{label} has no inputs: give the module a method example_inputs(batch, seq, "
            "training=False), or the file a function example_inputs(module, batch, seq), or "
            "return (module, args)"
        )
    accepted = inspect.signature(make or beside).parameters
    batch, seq = wanted.batch or DEFAULT_BATCH, wanted.seq or DEFAULT_SEQ
    given: dict[str, Any] = dict(batch=batch, seq=seq, training=wanted.training)
    if all(p.kind is not p.VAR_KEYWORD for p in accepted.values()):
        given = {key: value for key, value in given.items() if key in accepted}
    for key, value in (("batch", wanted.batch), ("seq", wanted.seq)):
        if value is not None and key not in given:
            raise InputError(f"example_inputs of {label} takes no {key}: leave {key} out")
    with _blaming(f"example_inputs of {label}", correct, path):
        inputs = make(**given) if make else beside(module, **given)
    args, kwargs = ((), dict(inputs)) if isinstance(inputs, Mapping) else (_tuple(inputs), {})
    return Loaded(module, args, kwargs, Facts(label, given.get("batch"), given.get("seq")))


def _imported(path: Path) -> ModuleType:
    """The user's file as a module; files beside it can be imported, as when Python runs it."""
    found = spec_from_file_location(f"user_{path.stem}", path)
    assert found is not None and found.loader is not None
    found.loader.path = str(path)  # pyright: ignore[reportAttributeAccessIssue]
    code = module_from_spec(found)
    sys.modules[found.name] = code  # dataclasses look their module up
    folder = str(path.resolve().parent)
    sys.path.insert(0, folder)
    try:
        with _blaming(path.name, "correct the file", path):
            found.loader.exec_module(code)
    finally:
        sys.path.remove(folder)
    return code


def _factory(code: ModuleType, path: Path, name: str) -> Callable[..., Any]:
    factory = getattr(code, name, None) if name else None
    if callable(factory):
        return factory
    own = [
        key for key, value in vars(code).items()
        if callable(value) and getattr(value, "__module__", "") == code.__name__
        and key != "example_inputs" and not key.startswith("_")
    ]  # fmt: skip
    came = f"{path.name} has no {name!r}" if name else f"{path.name} alone names no network"
    if factory is not None:
        came = f"{path.name}:{name} is of type {type(factory).__name__}"
    raise InputError(
        f"{came}: expected FILE.py:FACTORY, a function or class that makes an nn.Module; "
        f"those there: {', '.join(own) or 'none'}"
    )


def _check_sizes(label: str, factory: Callable[..., Any], sizes: Mapping[str, Any]) -> None:
    """Do the sizes fit the factory's arguments, and are all that it needs given?"""
    try:
        signature = inspect.signature(factory)
    except ValueError:  # written in C
        return
    try:
        signature.bind(**sizes)
    except TypeError as error:
        raise InputError(
            f"{label}{signature} cannot be called: {error}; expected a factory without required "
            "arguments, or a size for each"
        ) from None


def _parts(label: str, made: Any) -> tuple[nn.Module, tuple[Any, ...] | None, dict[str, Any]]:
    """A factory's answer: the module, and the inputs if it brings its own."""
    from torch import nn

    parts: Any = made if isinstance(made, tuple) else (made,)
    module, args, kwargs = (*parts, None, None)[:3]
    fits = len(parts) <= 3 and isinstance(kwargs, Mapping | None)
    if not (isinstance(module, nn.Module) and fits):
        raise InputError(
            f"{label} returned {_kind(made)}: expected an nn.Module, (module, args) or "
            "(module, args, kwargs)"
        )
    return module, None if len(parts) == 1 else _tuple(args), dict(kwargs or {})


def _kind(made: Any) -> str:
    if isinstance(made, tuple):
        return f"({', '.join(type(part).__name__ for part in made)})"
    return "None" if made is None else f"a value of type {type(made).__name__}"


def _tuple(args: Any) -> tuple[Any, ...]:
    return tuple(args) if isinstance(args, tuple | list) else (args,)


def _extra(kind: str, package: str) -> Any:
    """An optional package; `kind` is the extra that installs it."""
    try:
        return import_module(package)
    except ModuleNotFoundError as error:
        raise InputError(
            f"{kind}: networks need {error.name}, which is not installed: "
            f'pip install "ridgepoint[{kind}]"'
        ) from error


def _timm(wanted: _Wanted) -> Loaded:
    import torch

    timm = _extra("timm", "timm")
    name = wanted.spec.removeprefix("timm:")
    if wanted.seq is not None:
        raise InputError(f"network {wanted.spec!r} has no sequence: leave seq out")
    known: list[str] = timm.list_models()
    if name.partition(".")[0] not in known:
        near = get_close_matches(name, known, 3)
        hint = f"did you mean {' or '.join(map(repr, near))}?" if near else "timm.list_models()"
        raise InputError(f"timm has no network {name!r}: {hint}{'' if near else ' lists all'}")
    with _blaming(wanted.spec, "correct its sizes"):
        module = timm.create_model(name, pretrained=False, **wanted.sizes)
    channels, height, width = module.default_cfg["input_size"]
    if size := wanted.sizes.get("img_size"):
        height, width = size if isinstance(size, tuple) else (size, size)
    batch = wanted.batch or DEFAULT_BATCH
    images = torch.empty(batch, wanted.sizes.get("in_chans", channels), height, width)
    return Loaded(module, (images,), {}, Facts(name, batch))


def _transformers(wanted: _Wanted) -> Loaded:
    path = Path(wanted.spec.removeprefix("hf:"))
    file = path / "config.json" if path.is_dir() else path
    if not file.is_file():
        raise InputError(
            f"no such file '{file}': expected hf:FOLDER with a config.json, or hf:FILE"
        )
    transformers = _extra("hf", "transformers")
    remedy = "check the configuration"
    with _blaming(str(file), remedy):
        config = transformers.AutoConfig.from_pretrained(str(file), local_files_only=True)
        for name, value in wanted.sizes.items():
            if not hasattr(config, name):
                raise InputError(
                    f"{file} has no size {name!r}: expected a key of the configuration"
                )
            setattr(config, name, value)
        kind = getattr(transformers, next(iter(config.architectures or ()), ""), None)
        module = kind(config) if kind else transformers.AutoModel.from_config(config)
    batch = wanted.batch or DEFAULT_BATCH
    text = getattr(config, "text_config", config)
    limit = getattr(text, "max_position_embeddings", None)
    seq = wanted.seq or min(DEFAULT_SEQ, limit or DEFAULT_SEQ)
    _check_positions(str(file), seq, limit, f"give the size max_position_embeddings={seq}")
    kwargs = _transformers_inputs(module, config, batch, seq, wanted.training)
    spoken = any(key.endswith("input_ids") for key in kwargs)
    facts = Facts(file.resolve().parent.name, batch, seq if spoken else None)
    return Loaded(module, (), kwargs, facts)


def _transformers_inputs(
    module: Any, config: Any, batch: int, seq: int, training: bool
) -> dict[str, Any]:
    """Inputs by what `forward` takes; labels in training where the head makes a loss of them."""
    import torch

    def ids(*shape: int) -> Any:
        return torch.zeros(shape, dtype=torch.int64)

    accepted = inspect.signature(module.forward).parameters
    kind, main = type(module).__name__, module.main_input_name
    given: dict[str, Any] = {}
    if main == "input_ids":
        given["input_ids"] = ids(batch, seq)
    if "pixel_values" in accepted:
        vision = getattr(config, "vision_config", config)
        size = getattr(vision, "image_size", 224)
        height, width = size if isinstance(size, list | tuple) else (size, size)
        channels = getattr(vision, "num_channels", 3)
        given["pixel_values"] = torch.empty(batch, channels, height, width)
    if main == "input_features":
        frames = 2 * config.max_source_positions
        given["input_features"] = torch.empty(batch, config.num_mel_bins, frames)
    if main not in given:
        raise InputError(
            f"{kind} takes {main}, which cannot be made from its configuration: give a file, "
            "FILE.py:FACTORY, whose factory returns (module, args, kwargs)"
        )
    if getattr(config, "is_encoder_decoder", False):
        given["decoder_input_ids"] = ids(batch, seq)
    if "use_cache" in accepted:
        given["use_cache"] = False
    if training and "labels" in accepted:
        whole = any(word in kind for word in ("SequenceClass", "ImageClass", "MultipleChoice"))
        given["labels"] = ids(batch) if whole else ids(batch, seq)
    if training and "next_sentence_label" in accepted:
        given["next_sentence_label"] = ids(batch)
    return given
