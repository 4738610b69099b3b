"""Small networks from transformers and timm, as built by these packages, with random weights.

Few tokens and narrow layers make the steps host-bound. They run the Python and dispatch of users'
networks, not of this repository's.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from simulator.networks.output import Output

VOCABULARY = 512
Inputs = dict[str, Tensor]


class Packaged(nn.Module):
    """A package's network called with positional tensors; returns its loss, or the mean square of
    its result."""

    def __init__(
        self,
        network: nn.Module,
        names: tuple[str, ...],
        example: Callable[[int, int], tuple[Tensor, ...]],
    ) -> None:
        super().__init__()
        self.network = network
        self.names = names
        self.example = example

    def example_inputs(self, batch: int, seq: int, training: bool = False) -> tuple[Tensor, ...]:
        return self.example(batch, seq)

    def forward(self, *tensors: Tensor) -> Any:
        out = self.network(**dict(zip(self.names, tensors, strict=True)))
        if not self.training:
            return out
        first = out if isinstance(out, Tensor) else out[0]
        return Output(first, first.float().pow(2).mean())


def _ids(batch: int, seq: int) -> tuple[Tensor, ...]:
    return (torch.randint(0, VOCABULARY, (batch, seq)),)


def _masked(batch: int, seq: int) -> tuple[Tensor, ...]:
    return *_ids(batch, seq), torch.ones(batch, seq, dtype=torch.int64)


def _pairs(batch: int, seq: int) -> tuple[Tensor, ...]:
    return *_ids(batch, seq), *_ids(batch, seq)


def _image(size: int, batch: int, seq: int) -> tuple[Tensor, ...]:
    return (torch.randn(batch, 3, size, size, dtype=torch.get_default_dtype()),)


def _mels(batch: int, seq: int) -> tuple[Tensor, ...]:
    return torch.randn(batch, 80, seq), torch.randint(0, VOCABULARY, (batch, 8))


def _wave(batch: int, seq: int) -> tuple[Tensor, ...]:
    return (torch.randn(batch, seq),)


def _captioned(batch: int, seq: int) -> tuple[Tensor, ...]:
    return *_ids(batch, seq), *_image(64, batch, seq)


IDS, PIXELS = ("input_ids",), ("pixel_values",)
IMAGE = dict[str, Any](image_size=64, patch_size=16)
WIDE = dict[str, Any](hidden_size=128, num_attention_heads=4, intermediate_size=256)
DECODER = dict[str, Any](
    **WIDE,
    num_key_value_heads=2,
    vocab_size=VOCABULARY,
    max_position_embeddings=512,
    pad_token_id=0,
)
ENCODER = dict[str, Any](**WIDE, vocab_size=VOCABULARY)
Spec = tuple[str, str, str, dict[str, Any], tuple[str, ...], Any]

_SPECS: dict[str, Spec] = {
    "bert": ("Bert", "BertModel", "num_hidden_layers", ENCODER, IDS, _ids),
    "bert-mask": ("Bert", "BertModel", "num_hidden_layers", ENCODER,
                  ("input_ids", "attention_mask"), _masked),
    "bert-mlm": ("Bert", "BertForMaskedLM", "num_hidden_layers", ENCODER, IDS, _ids),
    "roberta": ("Roberta", "RobertaModel", "num_hidden_layers", ENCODER, IDS, _ids),
    "electra": ("Electra", "ElectraModel", "num_hidden_layers", ENCODER, IDS, _ids),
    "distilbert": ("DistilBert", "DistilBertModel", "n_layers",
                   dict(dim=128, n_heads=4, hidden_dim=256, vocab_size=VOCABULARY), IDS, _ids),
    "albert": ("Albert", "AlbertModel", "num_hidden_layers",
               ENCODER | dict(embedding_size=64), IDS, _ids),
    "deberta": ("DebertaV2", "DebertaV2Model", "num_hidden_layers",
                ENCODER | dict(relative_attention=True, pos_att_type=["p2c", "c2p"]), IDS, _ids),
    "gpt2": ("GPT2", "GPT2LMHeadModel", "n_layer",
             dict(n_embd=128, n_head=4, vocab_size=VOCABULARY), IDS, _ids),
    "gptneox": ("GPTNeoX", "GPTNeoXForCausalLM", "num_hidden_layers", ENCODER, IDS, _ids),
    "opt": ("OPT", "OPTForCausalLM", "num_hidden_layers",
            dict(hidden_size=128, num_attention_heads=4, ffn_dim=256, vocab_size=VOCABULARY,
                 word_embed_proj_dim=128), IDS, _ids),
    "llama": ("Llama", "LlamaForCausalLM", "num_hidden_layers", DECODER, IDS, _ids),
    "mistral": ("Mistral", "MistralForCausalLM", "num_hidden_layers", DECODER, IDS, _ids),
    "qwen2": ("Qwen2", "Qwen2ForCausalLM", "num_hidden_layers", DECODER, IDS, _ids),
    "qwen3": ("Qwen3", "Qwen3ForCausalLM", "num_hidden_layers",
              DECODER | dict(head_dim=32), IDS, _ids),
    "gemma2": ("Gemma2", "Gemma2ForCausalLM", "num_hidden_layers",
               DECODER | dict(head_dim=32), IDS, _ids),
    "phi3": ("Phi3", "Phi3ForCausalLM", "num_hidden_layers", DECODER, IDS, _ids),
    "mixtral": ("Mixtral", "MixtralForCausalLM", "num_hidden_layers",
                DECODER | dict(num_local_experts=4), IDS, _ids),
    "mamba": ("Mamba", "MambaForCausalLM", "num_hidden_layers",
              dict(hidden_size=128, vocab_size=VOCABULARY, state_size=8), IDS, _ids),
    "t5": ("T5", "T5ForConditionalGeneration", "num_layers",
           dict(d_model=128, num_heads=4, d_kv=32, d_ff=256, vocab_size=VOCABULARY),
           ("input_ids", "decoder_input_ids"), _pairs),
    "bart": ("Bart", "BartModel", "encoder_layers",
             dict(d_model=128, encoder_attention_heads=4, decoder_attention_heads=4,
                  encoder_ffn_dim=256, decoder_ffn_dim=256, vocab_size=VOCABULARY),
             ("input_ids", "decoder_input_ids"), _pairs),
    "vit": ("ViT", "ViTModel", "num_hidden_layers", WIDE | IMAGE, PIXELS, partial(_image, 64)),
    "beit": ("Beit", "BeitModel", "num_hidden_layers", WIDE | IMAGE, PIXELS, partial(_image, 64)),
    "dinov2": ("Dinov2", "Dinov2Model", "num_hidden_layers",
               dict(hidden_size=128, num_attention_heads=4) | IMAGE, PIXELS, partial(_image, 64)),
    "clip": ("CLIP", "CLIPModel", "layers", {}, ("input_ids", "pixel_values"), _captioned),
    "swin": ("Swin", "SwinModel", "", dict(image_size=64, embed_dim=32, depths=[2, 2],
             num_heads=[2, 4], window_size=4), PIXELS, partial(_image, 64)),
    "convnext": ("ConvNext", "ConvNextModel", "", dict(depths=[2, 2, 4, 2],
                 hidden_sizes=[16, 32, 64, 128]), PIXELS, partial(_image, 64)),
    "resnet": ("ResNet", "ResNetModel", "", dict(depths=[2, 2, 2, 2], embedding_size=16,
               hidden_sizes=[16, 32, 64, 128]), PIXELS, partial(_image, 64)),
    "segformer": ("Segformer", "SegformerModel", "", dict(hidden_sizes=[16, 32, 64, 128]),
                  PIXELS, partial(_image, 64)),
    "mobilevit": ("MobileViT", "MobileViTModel", "", dict(image_size=64), PIXELS,
                  partial(_image, 64)),
    "whisper": ("Whisper", "WhisperModel", "encoder_layers",
                dict(d_model=128, encoder_attention_heads=4, decoder_attention_heads=4,
                     encoder_ffn_dim=256, decoder_ffn_dim=256, vocab_size=VOCABULARY,
                     max_source_positions=50, pad_token_id=0, bos_token_id=1, eos_token_id=2,
                     decoder_start_token_id=1),
                ("input_features", "decoder_input_ids"), _mels),
    "wav2vec2": ("Wav2Vec2", "Wav2Vec2Model", "num_hidden_layers",
                 WIDE | dict(conv_dim=[32] * 7, vocab_size=32), ("input_values",), _wave),
}  # fmt: skip
"""Configuration, class, key of the number of layers, sizes, names of inputs, and their example."""


def transformer(name: str, layers: int = 4) -> nn.Module:
    """A network from transformers with `layers` layers. Raises ImportError if the package is not
    installed."""
    import transformers  # pyright: ignore[reportMissingImports]  # an optional package

    config_name, network_name, counted, sizes, names, example = _SPECS[name]
    sizes = dict(sizes)
    if name == "clip":
        part = WIDE | dict(num_hidden_layers=layers)
        sizes |= dict(
            text_config=part | dict(vocab_size=VOCABULARY, eos_token_id=2),
            vision_config=part | IMAGE,
            projection_dim=64,
        )
    elif counted:
        sizes[counted] = layers
    if counted == "encoder_layers":
        sizes["decoder_layers"] = layers
    config = getattr(transformers, f"{config_name}Config")(**sizes)
    return Packaged(getattr(transformers, network_name)(config), names, example)


def timm_network(name: str, size: int = 64, **more: Any) -> nn.Module:
    """A network from timm for small images. Raises ImportError if the package is not installed."""
    import timm  # pyright: ignore[reportMissingImports]

    network: Any = timm.create_model(name, pretrained=False, num_classes=16, **more)  # pyright: ignore
    return Packaged(network, ("x",), partial(_image, size))


PACKAGED: dict[str, Callable[..., nn.Module]] = {
    **{f"transformers-{name}": partial(transformer, name) for name in _SPECS},
    **{f"timm-{name}": partial(timm_network, name)
       for name in ("resnet18", "resnet50", "mobilenetv3_small_100", "efficientnet_b0",
                    "regnety_002", "convnext_atto", "densenet121", "ghostnet_100")},
}  # fmt: skip
