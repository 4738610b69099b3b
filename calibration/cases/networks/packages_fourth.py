"""More networks from transformers and timm with their default configurations; those above a billion
parameters are cut to their first layers."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from torch import nn

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


SPECS: dict[str, Spec] = {
    "mobilebert": ("MobileBert", "MobileBertForMaskedLM", {}, MASKED, masked),
    "squeezebert": ("SqueezeBert", "SqueezeBertForMaskedLM", {}, IDS, ids),
    "esm": ("Esm", "EsmForMaskedLM",
            {"vocab_size": 1000, "pad_token_id": 1, "mask_token_id": 32}, IDS, ids),
    "exaone4": ("Exaone4", "Exaone4ForCausalLM", _layers(4), IDS, ids),
    "cohere2": ("Cohere2", "Cohere2ForCausalLM", _layers(4), IDS, ids),
    "ernie4-5": ("Ernie4_5", "Ernie4_5ForCausalLM", _layers(8), IDS, ids),
    "olmo3": ("Olmo3", "Olmo3ForCausalLM", _layers(4), IDS, ids),
    "stablelm": ("StableLm", "StableLmForCausalLM", _layers(8), IDS, ids),
    "phi": ("Phi", "PhiForCausalLM", _layers(12), IDS, ids),
    "marian": ("Marian", "MarianMTModel", {"decoder_start_token_id": 0}, PAIRS, pairs),
    "blenderbot-small": ("BlenderbotSmall", "BlenderbotSmallForConditionalGeneration", {},
                         PAIRS, pairs),
    "unispeech": ("UniSpeech", "UniSpeechForSequenceClassification", {}, ("input_values",), wave),
    "cvt": ("Cvt", "CvtForImageClassification", {}, PIXELS, partial(pixels, 224)),
    "regnet": ("RegNet", "RegNetForImageClassification", {}, PIXELS, partial(pixels, 224)),
    "vit-msn": ("ViTMSN", "ViTMSNForImageClassification", {}, PIXELS, partial(pixels, 224)),
}  # fmt: skip
SIDES: dict[str, int] = {
    **dict.fromkeys(
        (
            "regnetx_016", "mobileone_s1", "efficientformer_l1", "pit_s_224", "gmlp_s16_224",
            "resmlp_24_224", "selecsls42b", "dla60", "cspresnext50", "res2net50_26w_4s",
            "seresnext50_32x4d", "skresnet34", "ecaresnet50d", "mnasnet_100", "lcnet_100",
            "vit_base_patch32_224", "nextvit_small", "caformer_s18", "starnet_s3",
            "wide_resnet50_2", "nest_tiny", "coatnet_0_224", "hgnetv2_b4", "sequencer2d_m",
        ),
        224,
    ),
    "crossvit_small_240": 240, "inception_v4": 299, "mobilevitv2_100": 256,
}  # fmt: skip
"""timm's networks and their image size in pixels."""
DECODERS = ("phi", "exaone4")
"""Networks that also decode one token per sequence after `seq` tokens."""

SIZED_FOURTH: dict[str, Callable[..., nn.Module]] = {
    **by_name(SPECS, SIDES),
    **{f"hf-{name}-decode": partial(decoder, SPECS[name]) for name in DECODERS},
}
"""The networks by name."""
