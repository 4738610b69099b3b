"""A fifth set of networks from transformers and timm with their default configurations; those above
a billion parameters are cut to their first layers."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from torch import nn

from calibration.cases.networks.package_mixtures import SPECS as SPECS_OF_MIXTURES
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


def _layers(count: int) -> dict[str, int]:
    return {"num_hidden_layers": count}


def _picture(config: str) -> Spec:
    return config, f"{config}ForImageClassification", {}, PIXELS, partial(pixels, 224)


SPECS: dict[str, Spec] = {
    "xlm-roberta": ("XLMRoberta", "XLMRobertaForMaskedLM", {"vocab_size": 250002}, MASKED, masked),
    "megatron-bert": ("MegatronBert", "MegatronBertForMaskedLM", {}, MASKED, masked),
    "layoutlm": ("LayoutLM", "LayoutLMForMaskedLM", {}, IDS, ids),
    "gpt-neo": ("GPTNeo", "GPTNeoForCausalLM",
                {"num_layers": 12, "attention_types": [[["global", "local"], 6]],
                 "hidden_size": 768, "num_heads": 12}, IDS, ids),
    "gptj": ("GPTJ", "GPTJForCausalLM", {"n_layer": 4}, IDS, ids),
    "biogpt": ("BioGpt", "BioGptForCausalLM", {}, IDS, ids),
    "llama": ("Llama", "LlamaForCausalLM", _layers(4), IDS, ids),
    "gemma": ("Gemma", "GemmaForCausalLM", _layers(4), IDS, ids),
    "nemotron": ("Nemotron", "NemotronForCausalLM",
                 {**_layers(2), "num_key_value_heads": 48, "vocab_size": 32000}, IDS, ids),
    "olmo": ("Olmo", "OlmoForCausalLM", _layers(6), MASKED, masked),
    "granite-moe": SPECS_OF_MIXTURES["granite-moe"],
    "umt5": ("UMT5", "UMT5ForConditionalGeneration", {}, PAIRS, pairs),
    "plbart": ("PLBart", "PLBartForConditionalGeneration", {}, PAIRS, pairs),
    "data2vec-audio": ("Data2VecAudio", "Data2VecAudioForSequenceClassification", {},
                       ("input_values",), wave),
    "swin": _picture("Swin"),
    "resnet-50": _picture("ResNet"),
    "convnext": _picture("ConvNext"),
    "levit": _picture("Levit"),
    "mobilevit": ("MobileViT", "MobileViTForImageClassification", {}, PIXELS,
                  partial(pixels, 256)),
    "bit": _picture("Bit"),
}  # fmt: skip
SIDES: dict[str, int] = {
    **dict.fromkeys(
        (
            "resnetv2_50", "resnest50d", "mobilenetv2_100", "convnext_tiny",
            "swin_tiny_patch4_window7_224", "convit_small", "ghostnetv2_100", "fbnetc_100",
            "ese_vovnet39b", "legacy_seresnet50", "rdnet_tiny", "repghostnet_100",
            "inception_next_tiny", "convformer_s18", "darknet53", "fasternet_s",
        ),
        224,
    ),
    "eca_nfnet_l0": 256, "botnet26t_256": 256, "vit_medium_patch16_gap_240": 240,
    "efficientnet_b0": 224,
}  # fmt: skip
"""timm's networks and their image size in pixels."""
DECODERS = ("llama", "biogpt")
"""Networks that also decode one token per sequence after `seq` tokens."""

SIZED_FIFTH: dict[str, Callable[..., nn.Module]] = {
    **by_name(SPECS, SIDES),
    **{f"hf-{name}-decode": partial(decoder, SPECS[name]) for name in DECODERS},
}
"""The networks by name."""
