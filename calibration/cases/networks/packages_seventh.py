"""A seventh set of networks from transformers and timm with their default configurations; those
above a billion parameters are cut to their first layers. Their names are among the first by hash
that no earlier set contains. Names were skipped if their networks could not be built, need other
inputs or are too large; some were replaced by a smaller network of the same family."""

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


def _picture(config: str) -> Spec:
    return config, f"{config}ForImageClassification", {}, PIXELS, partial(pixels, 224)


SPECS: dict[str, Spec] = {
    "hyperclovax": ("HyperCLOVAX", "HyperCLOVAXForCausalLM", _layers(4), IDS, ids),
    "doge": ("Doge", "DogeForCausalLM", _layers(8), IDS, ids),
    "minicpm3": ("MiniCPM3", "MiniCPM3ForCausalLM", _layers(4), IDS, ids),
    "jais2": ("Jais2", "Jais2ForCausalLM", _layers(4), IDS, ids),
    "openai-gpt": ("OpenAIGPT", "OpenAIGPTLMHeadModel", {}, IDS, ids),
    "ministral3": ("Ministral3", "Ministral3ForCausalLM", _layers(4), MASKED, masked),
    "nanochat": ("NanoChat", "NanoChatForCausalLM", _layers(4), IDS, ids),
    "bert-generation": ("BertGeneration", "BertGenerationDecoder", {**_layers(12),
                        "is_decoder": True}, IDS, ids),
    "big-bird": ("BigBird", "BigBirdForMaskedLM", {"attention_type": "original_full"}, MASKED,
                 masked),
    "ibert": ("IBert", "IBertForMaskedLM", {}, MASKED, masked),
    "eurobert": ("EuroBert", "EuroBertForMaskedLM", {}, MASKED, masked),
    "nomic-bert": ("NomicBert", "NomicBertForMaskedLM", {}, MASKED, masked),
    "luke": ("Luke", "LukeForMaskedLM", {}, MASKED, masked),
    "roberta-prelayernorm": ("RobertaPreLayerNorm", "RobertaPreLayerNormForMaskedLM", {}, MASKED,
                             masked),
    "fsmt": ("FSMT", "FSMTForConditionalGeneration", {}, PAIRS, pairs),
    "switch": ("SwitchTransformers", "SwitchTransformersForConditionalGeneration", {}, PAIRS,
               pairs),
    "wav2vec2-conformer": ("Wav2Vec2Conformer", "Wav2Vec2ConformerForSequenceClassification", {},
                           ("input_values",), wave),
    "dinov2-registers": _picture("Dinov2WithRegisters"),
    "pp-lcnet": _picture("PPLCNet"),
    "swiftformer": _picture("SwiftFormer"),
}  # fmt: skip
SIDES: dict[str, int] = {
    **dict.fromkeys(
        (
            "mobilenetv1_100h", "dla46_c", "repvit_m1_1", "coatnet_nano_rw_224", "ghostnet_050",
            "coat_lite_tiny", "convnext_pico_ols", "lcnet_150", "mvitv2_small",
            "inception_next_small", "twins_svt_base", "efficientvit_m2", "starnet_s050",
            "deit_tiny_patch16_224", "vgg11_bn", "pvt_v2_b3", "swin_small_patch4_window7_224",
            "hgnetv2_b2", "gmixer_24_224", "selecsls60b", "pit_xs_224", "repghostnet_111",
        ),
        224,
    ),
    "cs3sedarknet_xdw": 256, "fastvit_ma36": 256,
}  # fmt: skip
"""timm's networks and their image size in pixels."""
DECODERS = ("hyperclovax", "ministral3", "nanochat")
"""Networks that also decode one token per sequence after `seq` tokens."""

SIZED_SEVENTH: dict[str, Callable[..., nn.Module]] = {
    **by_name(SPECS, SIDES),
    **{f"hf-{name}-decode": partial(decoder, SPECS[name]) for name in DECODERS},
}
"""The networks by name."""
