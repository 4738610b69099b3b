"""Small networks from transformers with random weights, as a user would call them."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import torch

NETWORKS = (
    ("bert", True), ("llama", True), ("llama", False), ("bert", False), ("mistral", True),
    ("gpt2", True), ("t5", True), ("vit", False), ("gpt2", False), ("mistral", False),
    ("t5", False), ("llama_decode", True), ("bert_train", True), ("llama_train", False),
)  # fmt: skip
"""Each case: its name, and whether the network gets an attention mask of ones."""

_TEXT: dict[str, Any] = {"vocab_size": 1000, "hidden_size": 768, "num_hidden_layers": 2}
_HEADS: dict[str, Any] = {"num_attention_heads": 12, "intermediate_size": 3072}
_GROUPED: dict[str, Any] = {"num_key_value_heads": 4, "pad_token_id": 0}


def configured(name: str) -> tuple[Any, Any]:
    """The class of a network and its configuration."""
    t = importlib.import_module("transformers")
    makers: dict[str, Callable[[], tuple[Any, Any]]] = {
        "bert": lambda: (t.BertModel, t.BertConfig(**_TEXT, **_HEADS)),
        "llama": lambda: (t.LlamaForCausalLM, t.LlamaConfig(**_TEXT, **_HEADS, **_GROUPED)),
        "mistral": lambda: (
            t.MistralForCausalLM,
            t.MistralConfig(**_TEXT, **_HEADS, **_GROUPED, sliding_window=128),
        ),
        "gpt2": lambda: (
            t.GPT2LMHeadModel,
            t.GPT2Config(vocab_size=1000, n_embd=768, n_layer=2, n_head=12),
        ),
        "t5": lambda: (
            t.T5EncoderModel,
            t.T5Config(
                vocab_size=1000, d_model=768, d_kv=64, d_ff=3072, num_layers=2, num_heads=12
            ),
        ),
        "vit": lambda: (t.ViTModel, t.ViTConfig(num_hidden_layers=2)),
    }
    return makers[name]()


def network(name: str, masked: bool, device: str) -> tuple[str, Any, Callable[[], object]]:
    """A network's precision, its module and one step: forward, and backward for `_train`."""
    torch.manual_seed(0)
    base, _, variant = name.partition("_")
    kind, config = configured(base)
    small = device == "cpu"
    batch, length = (2, 32) if small else (16, 512)
    dtype = torch.float32 if small or variant == "train" else torch.bfloat16
    module = kind(config).to(device=device, dtype=dtype).train(variant == "train")
    inputs: dict[str, Any] = {}
    if base == "vit":
        inputs["pixel_values"] = torch.randn(batch, 3, 224, 224, device=device, dtype=dtype)
    else:
        inputs["input_ids"] = torch.randint(1, 1000, (batch, length), device=device)
    if masked:
        inputs["attention_mask"] = torch.ones(batch, length, dtype=torch.long, device=device)
    if variant == "decode":
        with torch.no_grad():
            past = module(**inputs, use_cache=True).past_key_values
        inputs["input_ids"] = inputs["input_ids"][:, :1]
        if masked:
            inputs["attention_mask"] = torch.ones(batch, length + 1, device=device).long()

        def decode() -> object:
            output = module(**inputs, past_key_values=past, use_cache=True)
            past.crop(-1)  # remove the new token, so that each step starts from the same cache
            return output

        return "bf16", module, decode
    if base not in ("bert", "vit", "t5"):
        inputs["use_cache"] = False
    if variant != "train":
        return "bf16", module, lambda: module(**inputs)

    def train() -> None:
        with torch.enable_grad(), torch.autocast(device, dtype=torch.bfloat16):
            module(**inputs)[0].float().pow(2).mean().backward()

    return "autocast", module, train
