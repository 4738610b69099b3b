"""A sixth set of networks from transformers and timm with their default configurations; those above
a billion parameters are cut to their first layers."""

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


def _picture(config: str) -> Spec:
    return config, f"{config}ForImageClassification", {}, PIXELS, partial(pixels, 224)


SPECS: dict[str, Spec] = {
    "camembert": ("Camembert", "CamembertForMaskedLM", {"vocab_size": 32005}, MASKED, masked),
    "ernie": ("Ernie", "ErnieForMaskedLM", {}, MASKED, masked),
    "rembert": ("RemBert", "RemBertForMaskedLM", {"num_hidden_layers": 8}, IDS, ids),
    "data2vec-text": ("Data2VecText", "Data2VecTextForMaskedLM", {}, MASKED, masked),
    "codegen": ("CodeGen", "CodeGenForCausalLM", {"n_layer": 4}, IDS, ids),
    "gpt-bigcode": ("GPTBigCode", "GPTBigCodeForCausalLM", {}, IDS, ids),
    "xglm": ("XGLM", "XGLMForCausalLM", {"num_layers": 6}, IDS, ids),
    "mpt": ("Mpt", "MptForCausalLM", {"n_layers": 6}, IDS, ids),
    "ctrl": ("CTRL", "CTRLLMHeadModel", {"n_layer": 6}, IDS, ids),
    "helium": ("Helium", "HeliumForCausalLM", {"num_hidden_layers": 4}, IDS, ids),
    "arcee": ("Arcee", "ArceeForCausalLM", {"num_hidden_layers": 4}, MASKED, masked),
    "qwen2-moe": ("Qwen2Moe", "Qwen2MoeForCausalLM", {"num_hidden_layers": 2}, IDS, ids),
    "mt5": ("MT5", "MT5ForConditionalGeneration", {}, PAIRS, pairs),
    "bigbird-pegasus": ("BigBirdPegasus", "BigBirdPegasusForConditionalGeneration",
                        {"attention_type": "original_full", "encoder_layers": 4,
                         "decoder_layers": 4}, PAIRS, pairs),
    "sew": ("SEW", "SEWForSequenceClassification", {}, ("input_values",), wave),
    "deit": _picture("DeiT"),
    "beit": _picture("Beit"),
    "poolformer": _picture("PoolFormer"),
    "pvt": _picture("Pvt"),
    "mobilenet-v2": _picture("MobileNetV2"),
}  # fmt: skip
SIDES: dict[str, int] = {
    **dict.fromkeys(
        (
            "tresnet_m", "repvit_m1", "hardcorenas_a", "gernet_m", "xception41", "rexnet_100",
            "tinynet_a", "mixnet_s", "resnetaa50", "spnasnet_100", "semnasnet_100",
            "dm_nfnet_f0", "hiera_tiny_224", "vit_relpos_small_patch16_224", "dpn68",
            "resnet34", "cs3darknet_m",
        ),
        224,
    ),
    "gcresnet33ts": 256, "resnetrs50": 160, "flexivit_small": 240,
}  # fmt: skip
"""timm's networks and their image size in pixels."""
DECODERS = ("xglm", "arcee")
"""Networks that also decode one token per sequence after `seq` tokens."""

SIZED_SIXTH: dict[str, Callable[..., nn.Module]] = {
    **by_name(SPECS, SIDES),
    **{f"hf-{name}-decode": partial(decoder, SPECS[name]) for name in DECODERS},
}
"""The networks by name."""
