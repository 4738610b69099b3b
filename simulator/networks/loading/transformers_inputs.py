"""Inputs of a transformers network, from its configuration and the parameters of `forward`."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from simulator.errors import InputError

_ONE_BY_ONE = (
    "image_grid_thw", "image_position_ids", "pixel_position_ids", "pixel_attention_mask",
    "spatial_shapes", "aspect_ratio_ids", "high_res_pixel_values", "image_grid_hws",
)  # fmt: skip
"""Parameters of networks that take images of several sizes. These sizes are data, so only the text
part of such networks is predicted."""
_MELS = (
    "input_feat_per_channel",
    "feature_projection_input_dim",
    "num_mel_bins",
    "feature_size",
    "mel_bins",
)
_IDS = ("input_ids", "qformer_input_ids")
_RATE = 16_000  # samples per second of speech networks (Wav2Vec2FeatureExtractor)


def inputs(module: Any, config: Any, batch: int, seq: int, training: bool) -> dict[str, Any]:
    """Arguments of `forward` on the default device; in training also labels if the head computes a
    loss. Audio is one second long. Raises InputError if an argument cannot be made."""
    accepted = inspect.signature(module.forward).parameters
    names = module.main_input_name
    mains = [names] if isinstance(names, str) else [*names]
    values: dict[str, Any] = {}
    if "input_ids" in mains:
        values["input_ids"] = _ids(batch, seq)
    if "pixel_values" in accepted and (
        "pixel_values" in mains or not _by_picture(config, accepted)
    ):
        values["pixel_values"] = _pictures(config, batch)
    makers = {"input_features": _spectrum, "input_values": _sound, "past_values": _series}
    for name in mains:
        value = makers[name](config, batch, seq) if name in makers else None
        if value is not None:
            values[name] = value
    if getattr(config, "is_encoder_decoder", False) and "decoder_input_ids" in accepted:
        values["decoder_input_ids"] = _ids(batch, seq)
    if "use_cache" in accepted:
        values["use_cache"] = False
    values |= {name: _ids(batch, seq) for name in _required(accepted, values) if name in _IDS}
    if training:
        values |= _labels(type(module).__name__, accepted, batch, seq)
    missing = [name for name in mains if name not in values] or _required(accepted, values)
    if missing:
        raise InputError(
            f"{type(module).__name__} takes {' and '.join(missing)}, which cannot be made from its "
            "configuration: give a file, FILE.py:FACTORY, whose factory returns (module, args, "
            "kwargs)"
        )
    return values


def _by_picture(config: Any, accepted: Mapping[str, inspect.Parameter]) -> bool:
    tiled = hasattr(config, "image_grid_pinpoints")
    vision = getattr(config, "vision_config", None)
    ragged = "image_sizes" in accepted and getattr(vision, "model_type", "") == "pixtral"
    return tiled or ragged or any(name in accepted for name in _ONE_BY_ONE)


def _required(accepted: Mapping[str, inspect.Parameter], values: Mapping[str, Any]) -> list[str]:
    """The arguments without a default that are missing from `values`."""
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return [
        name
        for name, parameter in accepted.items()
        if parameter.kind in named and parameter.default is parameter.empty and name not in values
    ]


def _labels(
    kind: str, accepted: Mapping[str, inspect.Parameter], batch: int, seq: int
) -> dict[str, Any]:
    labels: dict[str, Any] = {}
    if "labels" in accepted:
        per_sample = any(word in kind for word in ("SequenceClass", "ImageClass", "MultipleChoice"))
        labels["labels"] = _ids(batch) if per_sample else _ids(batch, seq)
    if "next_sentence_label" in accepted:
        labels["next_sentence_label"] = _ids(batch)
    return labels


def _ids(*shape: int) -> Any:
    import torch  # only when a network is loaded: it takes seconds

    return torch.zeros(shape, dtype=torch.int64)


def _pictures(config: Any, batch: int) -> Any:
    """Images [batch, channels, height, width], or [batch, frames, ...] for video networks."""
    import torch  # as above

    vision = getattr(config, "vision_config", None) or config
    size = getattr(vision, "image_size", None) or 224
    height, width = size if isinstance(size, list | tuple) else (size, size)
    frames = getattr(vision, "num_frames", None)
    lead = (batch, frames) if isinstance(frames, int) and _is_video(vision) else (batch,)
    return torch.empty(*lead, getattr(vision, "num_channels", 3), height, width)


def _is_video(vision: Any) -> bool:
    """Whether the images are videos, of 5 dimensions: for networks with tubelets or attention over
    time."""
    return any(hasattr(vision, name) for name in ("tubelet_size", "attention_type"))


def _mels(config: Any) -> int | None:
    parts = (config, *(getattr(config, f"{part}_config", None) for part in ("encoder", "audio")))
    sizes = (getattr(part, name, None) for part in parts for name in _MELS)
    return next((size for size in sizes if isinstance(size, int)), None)


def _spectrum(config: Any, batch: int, seq: int) -> Any:
    """[batch, mels, frames] for networks with positions for a fixed time, such as Whisper; else
    [batch, frames, mels]."""
    import torch  # as above

    positions = getattr(config, "max_source_positions", None)
    mels = _mels(config)
    if positions and not any(hasattr(config, name) for name in _MELS[:2]):
        return torch.empty(batch, mels or 80, 2 * positions)
    return None if mels is None else torch.empty(batch, seq, mels)


def _sound(config: Any, batch: int, seq: int) -> Any:
    """[batch, samples], [batch, channels, samples] for codecs, or [batch, frames, mels]."""
    import torch  # as above

    rate = getattr(config, "sampling_rate", None)
    channels = getattr(config, "audio_channels", None) or (1 if rate else None)
    if channels is not None:
        return torch.empty(batch, channels, rate or _RATE)
    mels = _mels(config)
    if mels and hasattr(config, "max_length") and hasattr(config, "frequency_stride"):
        return torch.empty(batch, config.max_length, mels)
    return torch.empty(batch, _RATE)


def _series(config: Any, batch: int, seq: int) -> Any:
    """[batch, time, channels]."""
    import torch  # as above

    channels = getattr(config, "num_input_channels", None)
    length = getattr(config, "context_length", None)
    return torch.empty(batch, length, channels) if channels and length else None
