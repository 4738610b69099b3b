"""Popular networks from transformers and timm with their default configurations; those above a
billion parameters are cut to their first layers. Four of them are in the first suite too."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor, nn

from calibration.cases.networks.packages import (
    MASKED,
    PAIRS,
    Spec,
    by_name,
    ids,
    masked,
    pairs,
    pixels,
    wave,
)
from calibration.cases.networks.packages_second import decoder
from calibration.cases.networks.packages_small import IDS, PIXELS


def _spectrogram(batch: int, seq: int) -> tuple[Tensor, ...]:
    return (torch.randn(batch, 1024, 128),)


def _frames(batch: int, seq: int) -> tuple[Tensor, ...]:
    return (torch.randn(batch, 16, 3, 224, 224),)


def _layers(count: int) -> dict[str, int]:
    return {"num_hidden_layers": count}


SPECS: dict[str, Spec] = {
    "modernbert": ("ModernBert", "ModernBertForMaskedLM", {}, MASKED, masked),
    "fnet": ("FNet", "FNetForMaskedLM", {}, IDS, ids),
    "gemma3": ("Gemma3Text", "Gemma3ForCausalLM", _layers(12), IDS, ids),
    "olmo2": ("Olmo2", "Olmo2ForCausalLM", _layers(4), IDS, ids),
    "smollm3": ("SmolLM3", "SmolLM3ForCausalLM", _layers(12), IDS, ids),
    "granite": ("Granite", "GraniteForCausalLM", _layers(4), IDS, ids),
    "lfm2": ("Lfm2", "Lfm2ForCausalLM", _layers(10), IDS, ids),
    "starcoder2": ("Starcoder2", "Starcoder2ForCausalLM",
                   {**_layers(10), "bos_token_id": 0, "eos_token_id": 0}, IDS, ids),
    "pegasus": ("Pegasus", "PegasusForConditionalGeneration", {}, PAIRS, pairs),
    "m2m": ("M2M100", "M2M100ForConditionalGeneration", {}, PAIRS, pairs),
    "siglip": ("SiglipVision", "SiglipVisionModel", {}, PIXELS, partial(pixels, 224)),
    "dinov3": ("DINOv3ViT", "DINOv3ViTModel", {}, PIXELS, partial(pixels, 224)),
    "hiera": ("Hiera", "HieraForImageClassification", {}, PIXELS, partial(pixels, 224)),
    "focalnet": ("FocalNet", "FocalNetForImageClassification", {}, PIXELS, partial(pixels, 224)),
    "dpt": ("DPT", "DPTForDepthEstimation", {}, PIXELS, partial(pixels, 384)),
    "ast": ("AST", "ASTForAudioClassification", {}, ("input_values",), _spectrogram),
    "wavlm": ("WavLM", "WavLMForSequenceClassification", {}, ("input_values",), wave),
    "videomae": ("VideoMAE", "VideoMAEForVideoClassification", {}, PIXELS, _frames),
}  # fmt: skip
SIDES: dict[str, int] = dict.fromkeys(
    (
        "resnext50_32x4d", "eva02_small_patch14_224", "hrnet_w18", "fastvit_t8",
        "maxvit_tiny_tf_224", "mobilenetv4_conv_medium", "tiny_vit_11m_224", "davit_tiny",
        "densenet121", "twins_svt_small", "mambaout_tiny", "sequencer2d_s",
    ),
    224,
)  # fmt: skip
"""timm's networks and their image size in pixels."""
DECODERS = ("gemma3", "smollm3")
"""Networks that also decode one token per sequence after `seq` tokens."""

SIZED_THIRD: dict[str, Callable[..., nn.Module]] = {
    **by_name(SPECS, SIDES),
    **{f"hf-{name}-decode": partial(decoder, SPECS[name]) for name in DECODERS},
}
"""The networks by name."""
