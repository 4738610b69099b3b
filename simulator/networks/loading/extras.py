"""Networks from optional libraries: Hugging Face configurations and timm models."""

from __future__ import annotations

import traceback
from difflib import get_close_matches
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from simulator.errors import InputError
from simulator.formats.installed import installed_version
from simulator.formats.limited import absence
from simulator.networks.loading.loaded import (
    DEFAULT_BATCH,
    DEFAULT_SEQ,
    Facts,
    Loaded,
    Wanted,
    blaming,
    check_positions,
)
from simulator.networks.loading.transformers_inputs import inputs


def _extra(kind: str, package: str) -> Any:
    """Import an optional package; `kind` is the pip extra that installs it."""
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
    """The error message for an installed package whose import fails. It names torchvision if that
    is the cause: torchvision cannot be imported if it was built for another version of torch."""
    broken = "torchvision" if "torchvision" in f"{error}" + _files(error) else package
    return (
        f"{kind}: networks need {package}, whose import fails: {type(error).__name__}: {error}; "
        f"the installed {broken} does not fit torch {_version('torch')}: "
        f"install the release of {broken} that was built for it"
    )


def _check_torchvision(kind: str, package: str) -> None:
    """Raise InputError if torchvision is installed but broken: transformers imports it for some
    networks only, and the error would blame the configuration."""
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
    import torch  # imported here and below, only when a network is loaded

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
        problem = f"{why} '{file}'" if why == "no such file" else f"'{file}': {why}"
        raise InputError(f"{problem}: expected hf:FOLDER with a config.json, or hf:FILE")
    transformers = _extra("hf", "transformers")
    remedy = "check the configuration"
    _check_torchvision("hf", "transformers")
    with blaming(str(file), remedy):
        config = _configuration(transformers, file)
        for name, value in wanted.sizes.items():
            if not hasattr(config, name):
                raise InputError(
                    f"{file} has no size {name!r}: expected a key of the configuration"
                )
            setattr(config, name, value)
        kind = getattr(transformers, next(iter(config.architectures or ()), ""), None)
        if not (isinstance(kind, type) and issubclass(kind, transformers.PreTrainedModel)):
            kind = transformers.AutoModel.from_config
        module = kind(config)
    batch = wanted.batch or DEFAULT_BATCH
    text = getattr(config, "text_config", config)
    limit = getattr(text, "max_position_embeddings", None)
    limit = limit if limit and limit > 0 else None  # XLNet: −1, no limit
    seq = wanted.seq or min(DEFAULT_SEQ, limit or DEFAULT_SEQ)
    check_positions(str(file), seq, limit, f"give the size max_position_embeddings={seq}")
    kwargs = inputs(module, config, batch, seq, wanted.training)
    has_tokens = any(key.endswith("input_ids") for key in kwargs)
    facts = Facts(file.resolve().parent.name, batch, seq if has_tokens else None)
    return Loaded(module, (), kwargs, facts)


def _configuration(transformers: Any, file: Path) -> Any:
    """Load the configuration of a file. Never run code in its folder, nor prompt for it."""
    try:
        return transformers.AutoConfig.from_pretrained(
            str(file), local_files_only=True, trust_remote_code=False
        )
    except ValueError as error:
        if "custom code" not in str(error):
            raise
        raise InputError(
            f"{file} refers to code in its folder (auto_map), which is not run: expected a "
            "network of "
            "transformers; give a FILE.py:FACTORY that imports this code"
        ) from None
