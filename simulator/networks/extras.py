"""Networks of optional libraries: Hugging Face configurations and timm models."""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Mapping
from difflib import get_close_matches
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from simulator.errors import InputError
from simulator.formats.installed import installed_version
from simulator.formats.limited import absence
from simulator.networks.loaded import (
    DEFAULT_BATCH,
    DEFAULT_SEQ,
    Facts,
    Loaded,
    Wanted,
    blaming,
    check_positions,
)


def _extra(kind: str, package: str) -> Any:
    """Import an optional package; `kind` is the extra that installs it."""
    try:
        return import_module(package)
    except ModuleNotFoundError as error:
        raise InputError(
            f"{kind}: networks need {error.name}, which is not installed: "
            f'pip install "ridgepoint[{kind}]"'
        ) from error
    except Exception as error:
        raise InputError(unusable(kind, package, error)) from error


def unusable(kind: str, package: str, error: BaseException) -> str:
    """Error message for an installed package whose import fails. It names torchvision if that is
    the cause, which fails inside torch if the two were built for different versions."""
    broken = "torchvision" if "torchvision" in f"{error}" + _files(error) else package
    return (
        f"{kind}: networks need {package}, whose import fails: {type(error).__name__}: {error}; "
        f"the installed {broken} does not fit torch {_version('torch')}: "
        f"install the release of {broken} that was built for it"
    )


def _check_torchvision(kind: str, package: str) -> None:
    """Raises InputError if torchvision is installed but broken: transformers imports it only with
    some networks, and the error would blame the configuration."""
    if find_spec("torchvision") is not None:
        try:
            import_module("torchvision")
        except Exception as error:
            raise InputError(unusable(kind, package, error)) from error


def _files(error: BaseException) -> str:
    return "".join(frame.filename for frame in traceback.extract_tb(error.__traceback__))


def _version(package: str) -> str:
    return installed_version(package) or "(not installed)"


def from_timm(wanted: Wanted) -> Loaded:
    import torch  # here and below: only when a network is loaded

    timm = _extra("timm", "timm")
    name = wanted.spec.removeprefix("timm:")
    if wanted.seq is not None:
        raise InputError(f"network {wanted.spec!r} has no sequence: leave seq out")
    models: list[str] = timm.list_models()
    if name.partition(".")[0] not in models:
        near = get_close_matches(name, models, 3)
        hint = f"did you mean {' or '.join(map(repr, near))}?" if near else "timm.list_models()"
        raise InputError(f"timm has no network {name!r}: {hint}{'' if near else ' lists all'}")
    with blaming(wanted.spec, "correct its sizes"):
        module = timm.create_model(name, pretrained=False, **wanted.sizes)
    channels, height, width = module.default_cfg["input_size"]
    if size := wanted.sizes.get("img_size"):
        height, width = size if isinstance(size, tuple) else (size, size)
    batch = wanted.batch or DEFAULT_BATCH
    images = torch.empty(batch, wanted.sizes.get("in_chans", channels), height, width)
    return Loaded(module, (images,), {}, Facts(name, batch))


def from_transformers(wanted: Wanted) -> Loaded:
    path = Path(wanted.spec.removeprefix("hf:"))
    file = path / "config.json" if path.is_dir() else path
    if not file.is_file():
        why = absence(file)
        came = f"{why} '{file}'" if why == "no such file" else f"'{file}': {why}"
        raise InputError(f"{came}: expected hf:FOLDER with a config.json, or hf:FILE")
    transformers = _extra("hf", "transformers")
    remedy = "check the configuration"
    _check_torchvision("hf", "transformers")
    with blaming(str(file), remedy):
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
    check_positions(str(file), seq, limit, f"give the size max_position_embeddings={seq}")
    kwargs = _inputs(module, config, batch, seq, wanted.training)
    has_tokens = any(key.endswith("input_ids") for key in kwargs)
    facts = Facts(file.resolve().parent.name, batch, seq if has_tokens else None)
    return Loaded(module, (), kwargs, facts)


def _required(accepted: Mapping[str, inspect.Parameter], inputs: Mapping[str, Any]) -> list[str]:
    """The arguments without a default that `inputs` lack."""
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return [
        name
        for name, parameter in accepted.items()
        if parameter.kind in named and parameter.default is parameter.empty and name not in inputs
    ]


def _inputs(module: Any, config: Any, batch: int, seq: int, training: bool) -> dict[str, Any]:
    """Inputs by the parameters of `forward`; in training also labels if the head computes a
    loss."""
    import torch

    def ids(*shape: int) -> Any:
        return torch.zeros(shape, dtype=torch.int64)

    accepted = inspect.signature(module.forward).parameters
    kind, main = type(module).__name__, module.main_input_name
    inputs: dict[str, Any] = {}
    if main == "input_ids":
        inputs["input_ids"] = ids(batch, seq)
    if "pixel_values" in accepted:
        vision = getattr(config, "vision_config", config)
        size = getattr(vision, "image_size", 224)
        height, width = size if isinstance(size, list | tuple) else (size, size)
        channels = getattr(vision, "num_channels", 3)
        inputs["pixel_values"] = torch.empty(batch, channels, height, width)
    if main == "input_features" and hasattr(config, "max_source_positions"):
        frames = 2 * config.max_source_positions
        mels = getattr(config, "num_mel_bins", 80)
        inputs["input_features"] = torch.empty(batch, mels, frames)
    if getattr(config, "is_encoder_decoder", False):
        inputs["decoder_input_ids"] = ids(batch, seq)
    if "use_cache" in accepted:
        inputs["use_cache"] = False
    if training and "labels" in accepted:
        per_sample = any(word in kind for word in ("SequenceClass", "ImageClass", "MultipleChoice"))
        inputs["labels"] = ids(batch) if per_sample else ids(batch, seq)
    if training and "next_sentence_label" in accepted:
        inputs["next_sentence_label"] = ids(batch)
    missing = [main] if main not in inputs else _required(accepted, inputs)
    if missing:
        raise InputError(
            f"{kind} takes {' and '.join(missing)}, which cannot be made from its configuration: "
            "give a file, FILE.py:FACTORY, whose factory returns (module, args, kwargs)"
        )
    return inputs
