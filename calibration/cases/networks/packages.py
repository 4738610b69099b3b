"""Networks from transformers and timm in the sizes that people run, with random weights.

The packages build them from a configuration, so that their steps have the ops, masks and caches of
the packages, not of this repository.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from calibration.cases.networks.packages_small import IDS, PIXELS, Packaged

Example = Callable[[int, int], tuple[Tensor, ...]]


class Sized(Packaged):
    """A package's network whose example has the dtype of its weights."""

    def example_inputs(self, batch: int, seq: int, training: bool = False) -> tuple[Tensor, ...]:
        dtype = next(p.dtype for p in self.parameters() if p.is_floating_point())
        tensors = super().example_inputs(batch, seq, training)
        return tuple(t.to(dtype) if t.is_floating_point() else t for t in tensors)


def ids(batch: int, seq: int) -> tuple[Tensor, ...]:
    return (torch.randint(5, 1000, (batch, seq)),)


def masked(batch: int, seq: int) -> tuple[Tensor, ...]:
    return *ids(batch, seq), torch.ones(batch, seq, dtype=torch.int64)


def pairs(batch: int, seq: int) -> tuple[Tensor, ...]:
    return *ids(batch, seq), *ids(batch, max(1, seq // 4))


def pixels(size: int, batch: int, seq: int) -> tuple[Tensor, ...]:
    return (torch.randn(batch, 3, size, size),)


def mels(batch: int, seq: int) -> tuple[Tensor, ...]:
    return torch.randn(batch, 80, 3000), *ids(batch, seq)


def wave(batch: int, seq: int) -> tuple[Tensor, ...]:
    return (torch.randn(batch, seq),)


def captioned(batch: int, seq: int) -> tuple[Tensor, ...]:
    return *ids(batch, seq), *pixels(224, batch, seq)


MASKED = ("input_ids", "attention_mask")
PAIRS = ("input_ids", "decoder_input_ids")
Spec = tuple[str, str, dict[str, Any], tuple[str, ...], Example]

_SPECS: dict[str, Spec] = {
    "bert-base": ("Bert", "BertModel", {}, MASKED, masked),
    "roberta-large": ("Roberta", "RobertaForMaskedLM",
                      dict(hidden_size=1024, num_hidden_layers=24, num_attention_heads=16,
                           intermediate_size=4096, vocab_size=50265), IDS, ids),
    "distilbert": ("DistilBert", "DistilBertForMaskedLM", {}, MASKED, masked),
    "albert-base": ("Albert", "AlbertModel",
                    dict(hidden_size=768, num_attention_heads=12, intermediate_size=3072),
                    MASKED, masked),
    "electra-base": ("Electra", "ElectraModel",
                     dict(embedding_size=768, hidden_size=768, num_attention_heads=12,
                          intermediate_size=3072), MASKED, masked),
    "deberta-v3-base": ("DebertaV2", "DebertaV2Model",
                        dict(hidden_size=768, num_attention_heads=12, intermediate_size=3072,
                             num_hidden_layers=12, relative_attention=True, position_buckets=256,
                             norm_rel_ebd="layer_norm", share_att_key=True,
                             pos_att_type=["p2c", "c2p"], vocab_size=128100), IDS, ids),
    "gpt2-medium": ("GPT2", "GPT2LMHeadModel", dict(n_embd=1024, n_layer=24, n_head=16),
                    IDS, ids),
    "opt-1.3b": ("OPT", "OPTForCausalLM",
                 dict(hidden_size=2048, num_hidden_layers=24, num_attention_heads=32,
                      ffn_dim=8192, word_embed_proj_dim=2048), IDS, ids),
    "pythia-410m": ("GPTNeoX", "GPTNeoXForCausalLM",
                    dict(hidden_size=1024, num_hidden_layers=24, num_attention_heads=16,
                         intermediate_size=4096, vocab_size=50304), IDS, ids),
    "bloom-560m": ("Bloom", "BloomForCausalLM", dict(hidden_size=1024, n_layer=24, n_head=16),
                   IDS, ids),
    "falcon-7b": ("Falcon", "FalconForCausalLM", dict(num_hidden_layers=4), IDS, ids),
    "qwen2-1.5b": ("Qwen2", "Qwen2ForCausalLM",
                   dict(hidden_size=1536, num_hidden_layers=28, num_attention_heads=12,
                        num_key_value_heads=2, intermediate_size=8960), IDS, ids),
    "qwen3-0.6b": ("Qwen3", "Qwen3ForCausalLM",
                   dict(hidden_size=1024, num_hidden_layers=28, num_attention_heads=16,
                        num_key_value_heads=8, head_dim=128, intermediate_size=3072),
                   MASKED, masked),
    "mistral-7b": ("Mistral", "MistralForCausalLM", dict(num_hidden_layers=8), IDS, ids),
    "gemma2-2b": ("Gemma2", "Gemma2ForCausalLM",
                  dict(num_hidden_layers=8, hidden_size=2304, num_attention_heads=8,
                       num_key_value_heads=4, head_dim=256, intermediate_size=9216), IDS, ids),
    "phi3-mini": ("Phi3", "Phi3ForCausalLM",
                  dict(num_hidden_layers=8, pad_token_id=0), IDS, ids),
    "mixtral-small": ("Mixtral", "MixtralForCausalLM",
                      dict(hidden_size=1024, num_hidden_layers=8, num_attention_heads=16,
                           num_key_value_heads=4, intermediate_size=3584), IDS, ids),
    "t5-base": ("T5", "T5ForConditionalGeneration",
                dict(d_model=768, d_ff=3072, num_layers=12, num_heads=12), PAIRS, pairs),
    "bart-large": ("Bart", "BartModel", {}, PAIRS, pairs),
    "whisper-small": ("Whisper", "WhisperModel",
                      dict(d_model=768, encoder_layers=12, decoder_layers=12,
                           encoder_attention_heads=12, decoder_attention_heads=12,
                           encoder_ffn_dim=3072, decoder_ffn_dim=3072),
                      ("input_features", "decoder_input_ids"), mels),
    "wav2vec2-base": ("Wav2Vec2", "Wav2Vec2Model", {}, ("input_values",), wave),
    "clip-b32": ("CLIP", "CLIPModel", {}, ("input_ids", "pixel_values"), captioned),
    "vit-large": ("ViT", "ViTModel",
                  dict(hidden_size=1024, num_hidden_layers=24, num_attention_heads=16,
                       intermediate_size=4096), PIXELS, partial(pixels, 224)),
    "dinov2-base": ("Dinov2", "Dinov2Model", {}, PIXELS, partial(pixels, 224)),
    "segformer-b2": ("Segformer", "SegformerForSemanticSegmentation",
                     dict(depths=[3, 4, 6, 3], hidden_sizes=[64, 128, 320, 512],
                          decoder_hidden_size=768), PIXELS, partial(pixels, 512)),
    "swinv2-tiny": ("Swinv2", "Swinv2Model", {}, PIXELS, partial(pixels, 224)),
    "convnextv2-base": ("ConvNextV2", "ConvNextV2Model",
                        dict(depths=[3, 3, 27, 3], hidden_sizes=[128, 256, 512, 1024]),
                        PIXELS, partial(pixels, 224)),
}  # fmt: skip
"""Configuration, class, sizes that override the configuration's, names of inputs, example."""

_PICTURES = {
    "resnet50d": 224, "regnety_032": 224, "efficientnet_b2": 256, "convnextv2_tiny": 224,
    "mobilenetv3_large_100": 224, "vit_small_patch16_224": 224, "deit3_base_patch16_224": 224,
    "swinv2_tiny_window8_256": 256, "beit_base_patch16_224": 224, "mixer_b16_224": 224,
    "resnext50_32x4d": 224, "densenet121": 224, "hrnet_w18": 224, "vgg16_bn": 224,
    "inception_v3": 299, "ghostnet_100": 224, "poolformer_s12": 224, "cait_xxs24_224": 224,
    "levit_256": 224, "xcit_tiny_12_p16_224": 224, "repvgg_a2": 224, "nfnet_l0": 224,
    "maxvit_tiny_tf_224": 224, "coat_lite_small": 224, "edgenext_small": 256,
    "tf_efficientnetv2_s": 300, "mvitv2_tiny": 224,
}  # fmt: skip
"""timm's networks and their image size in pixels."""


def transformer(spec: Spec, **sizes: Any) -> nn.Module:
    """A network from transformers. Raises ImportError if the package is not installed."""
    import transformers  # pyright: ignore[reportMissingImports]  # an optional package

    config_name, network_name, own, names, example = spec
    config = getattr(transformers, f"{config_name}Config")(**own, **sizes)
    return Sized(getattr(transformers, network_name)(config), names, example)


def picture_network(name: str, side: int, **sizes: Any) -> nn.Module:
    """A network from timm and its image size in pixels. Raises ImportError if the package is not
    installed."""
    import timm  # pyright: ignore[reportMissingImports]  # an optional package

    network: Any = timm.create_model(name, pretrained=False, **sizes)  # pyright: ignore
    return Sized(network, ("x",), partial(pixels, side))


def by_name(
    specs: Mapping[str, Spec], sides: Mapping[str, int]
) -> dict[str, Callable[..., nn.Module]]:
    """The function that creates each network from transformers and from timm."""
    return {
        **{f"hf-{name}": partial(transformer, spec) for name, spec in specs.items()},
        **{f"timm:{name}": partial(picture_network, name, side) for name, side in sides.items()},
    }


SIZED = by_name(_SPECS, _PICTURES)
"""The networks by name."""
