"""More networks from transformers and timm, chosen by a rule.

transformers' model types of each task and timm's model files are taken in the order of the sha256
of their names. A model is used if its default configuration runs on the plain inputs of its task,
has 3 million parameters or more and fits into memory. It must be in no other suite and published
before 2026. Networks above 1.6 billion parameters are cut to their first layers. From each of
timm's files, the first model by sha256 with 4 to 100 million parameters is used.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from calibration.cases.networks.packages import (
    MASKED,
    PAIRS,
    Example,
    Spec,
    by_name,
    ids,
    masked,
    pairs,
    pixels,
    wave,
)
from calibration.cases.networks.packages_small import IDS, PIXELS


def _pictured(side: int, batch: int, seq: int) -> tuple[Tensor, ...]:
    return *ids(batch, seq), *pixels(side, batch, seq)


def _frames(batch: int, seq: int) -> tuple[Tensor, ...]:
    return torch.randn(batch, 1000, 80), *ids(batch, seq)


def _picture(config: str, network: str, side: int) -> Spec:
    return config, network, {}, PIXELS, partial(pixels, side)


_224: Example = partial(_pictured, 224)
_BOTH, _WAVE = ("input_ids", "pixel_values"), ("input_values",)

SPECS: dict[str, Spec] = {
    "ijepa": _picture("IJepa", "IJepaForImageClassification", 224),
    "donut-swin": _picture("DonutSwin", "DonutSwinForImageClassification", 224),
    "mobilenet-v1": _picture("MobileNetV1", "MobileNetV1ForImageClassification", 224),
    "data2vec-vision": _picture("Data2VecVision", "Data2VecVisionForImageClassification", 224),
    "pvt-v2": _picture("PvtV2", "PvtV2ForImageClassification", 224),
    "yolos": _picture("Yolos", "YolosForObjectDetection", 864),
    "rt-detr-v2": _picture("RTDetrV2", "RTDetrV2ForObjectDetection", 640),
    "upernet": _picture("UperNet", "UperNetForSemanticSegmentation", 512),
    "mask2former": _picture("Mask2Former", "Mask2FormerForUniversalSegmentation", 512),
    "prompt-depth": _picture(
        "PromptDepthAnything", "PromptDepthAnythingForDepthEstimation", 224
    ),
    "nystromformer": ("Nystromformer", "NystromformerForMaskedLM", {}, MASKED, masked),
    "roformer": ("RoFormer", "RoFormerForMaskedLM", {}, MASKED, masked),
    "mpnet": ("MPNet", "MPNetForMaskedLM", {}, MASKED, masked),
    "convbert": ("ConvBert", "ConvBertForMaskedLM", {}, MASKED, masked),
    "xlnet": ("XLNet", "XLNetLMHeadModel", {}, IDS, ids),
    "deepseek-v3": ("DeepseekV3", "DeepseekV3ForCausalLM", dict(num_hidden_layers=2), IDS, ids),
    "glm4": ("Glm4", "Glm4ForCausalLM", dict(num_hidden_layers=5), IDS, ids),
    "persimmon": ("Persimmon", "PersimmonForCausalLM", dict(num_hidden_layers=4), IDS, ids),
    "vaultgemma": ("VaultGemma", "VaultGemmaForCausalLM", dict(num_hidden_layers=11), IDS, ids),
    "flex-olmo": ("FlexOlmo", "FlexOlmoForCausalLM", dict(num_hidden_layers=2), IDS, ids),
    "mbart": ("MBart", "MBartForConditionalGeneration", {}, PAIRS, pairs),
    "longt5": ("LongT5", "LongT5ForConditionalGeneration", {}, PAIRS, pairs),
    "prophetnet": ("ProphetNet", "ProphetNetForConditionalGeneration", {}, PAIRS, pairs),
    "conformer": ("Wav2Vec2Conformer", "Wav2Vec2ConformerForSequenceClassification", {},
                  _WAVE, wave),
    "sew-d": ("SEWD", "SEWDForSequenceClassification", {}, _WAVE, wave),
    "hubert": ("Hubert", "HubertForSequenceClassification", {}, _WAVE, wave),
    "speech-to-text": ("Speech2Text", "Speech2TextForConditionalGeneration", {},
                       ("input_features", "decoder_input_ids"), _frames),
    "altclip": ("AltCLIP", "AltCLIPModel", {}, _BOTH, _224),
    "clipseg": ("CLIPSeg", "CLIPSegModel", {}, _BOTH, _224),
    "blip": ("Blip", "BlipModel", {}, _BOTH, partial(_pictured, 384)),
}  # fmt: skip
SIDES = {
    "rexnetr_130": 224, "vit_base_patch16_rope_mixed_224": 224, "convmixer_1536_20": 224,
    "naflexvit_base_patch16_map": 384, "gcvit_base": 224, "xception41p": 299,
    "sam2_hiera_small": 896, "efficientformerv2_s1": 224, "efficientvit_l2": 224,
    "tresnet_xl": 224, "visformer_small": 224, "pvt_v2_b5": 224, "shvit_s2": 224,
    "inception_resnet_v2": 299, "swiftformer_l3": 224, "dpn48b": 224, "volo_d1_384": 384,
    "efficientvit_m3": 224,
}  # fmt: skip
"""timm's networks and their image size in pixels."""
DECODERS = ("deepseek-v3", "glm4", "vaultgemma")
"""Networks that also decode one token per sequence after `seq` tokens."""


class Decoding(nn.Module):
    """A network that decodes the next token of each sequence, with the cache of a prefill by the
    same network."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def example_inputs(self, batch: int, seq: int, training: bool = False) -> tuple[Tensor, ...]:
        with torch.no_grad():
            cache: Any = self.network(*ids(batch, seq), use_cache=True).past_key_values
        past = [tensor for layer in cache.layers for tensor in (layer.keys, layer.values)]
        return *ids(batch, 1), *past

    def forward(self, tokens: Tensor, *past: Tensor) -> Any:
        from transformers import DynamicCache  # pyright: ignore

        config: Any = self.network.config
        cache: Any = DynamicCache(config=config)
        for layer, keys, values in zip(cache.layers, past[::2], past[1::2], strict=True):
            layer.keys, layer.values, layer.is_initialized = keys, values, True
            layer.dtype, layer.device = keys.dtype, keys.device
        return self.network(tokens, past_key_values=cache, use_cache=True).logits


def decoder(spec: Spec, **sizes: Any) -> nn.Module:
    """A network from transformers that decodes."""
    import transformers  # pyright: ignore[reportMissingImports]  # an optional package

    config_name, network_name, own, _, _ = spec
    config = getattr(transformers, f"{config_name}Config")(**own, **sizes)
    return Decoding(getattr(transformers, network_name)(config))


SIZED_SECOND: dict[str, Callable[..., nn.Module]] = {
    **by_name(SPECS, SIDES),
    **{f"hf-{name}-decode": partial(decoder, SPECS[name]) for name in DECODERS},
}
"""The networks by name."""
