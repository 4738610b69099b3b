"""The catalogue of example networks. Looking one up does not import torch."""

from __future__ import annotations

import ast
import difflib
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simulator.errors import InputError

if TYPE_CHECKING:
    from torch import nn


@dataclass(frozen=True)
class Network:
    """An entry: class, constructor sizes, and default batch and sequence length.

    `factory` is "module:class". `seq` and `seq_unit` are None for networks without a sequence.
    `trains` is False for networks without a loss: `example_inputs(training=True)` raises
    ValueError. `quantised` is a pattern of the modules that serving engines run in low precision,
    and `quantised_4bit` of those that they run in 4 bits.
    """

    name: str
    factory: str
    sizes: Mapping[str, Any]
    batch: int
    seq: int | None
    seq_unit: str | None
    summary: str
    trains: bool = True
    quantised: str = "**"
    quantised_4bit: str = "**"

    @property
    def repeats(self) -> int:
        """The number of layers after which their kinds repeat: 2 if every other layer has a
        window."""
        return 2 if self.sizes.get("window") else 1

    @property
    def unlike(self) -> int:
        """The number of leading layers that do not repeat: those without experts."""
        return int(self.sizes.get("dense", 0))


def _entry(
    name: str,
    factory: str,
    summary: str,
    batch: int,
    seq: int | None = None,
    seq_unit: str | None = None,
    trains: bool = True,
    quantised: str = "**",
    quantised_4bit: str = "",
    **sizes: Any,
) -> Network:
    unit = seq_unit or ("tokens" if seq is not None else None)
    where, in_4bit = f"simulator.networks.{factory}", quantised_4bit or quantised
    return Network(name, where, sizes, batch, seq, unit, summary, trains, quantised, in_4bit)


_LLAMA: dict[str, dict[str, Any]] = {
    "1b": dict(width=2048, layers=16, heads=32, kv_heads=8, hidden=8192, tied=True),
    "8b": dict(width=4096, layers=32, heads=32, kv_heads=8, hidden=14336, tied=False),
    "70b": dict(width=8192, layers=80, heads=64, kv_heads=8, hidden=28672, tied=False),
}

_MOE: dict[str, dict[str, Any]] = {
    "gpt-oss-20b": dict(width=2880, layers=24, heads=64, kv_heads=8, d=64, hidden=2880, experts=32,
                        top=4, vocab=201088, window=128, bias=True),
    "gpt-oss-120b": dict(width=2880, layers=36, heads=64, kv_heads=8, d=64, hidden=2880,
                         experts=128, top=4, vocab=201088, window=128, bias=True),
    "qwen3-30b": dict(width=2048, layers=48, heads=32, kv_heads=4, d=128, hidden=768, experts=128,
                      top=8, vocab=151936, normed=True),
    "minimax-m2": dict(width=3072, layers=62, heads=48, kv_heads=8, d=128, hidden=1536,
                       experts=256, top=8, vocab=200064, normed=True),
}  # fmt: skip
_EXPERTS_ONLY = {"gpt-oss-20b": "**.experts", "gpt-oss-120b": "**.experts"}
"""Networks whose published weights are in low precision in their experts only."""

_ENTRIES = (
    _entry("chain", "vectors.chain:Chain", "cos of cos: a chain of pointwise ops", 1,
           trains=False, n=2, elements=1 << 24),
    _entry("multiply-adds", "vectors.multiply_adds:MultiplyAdds",
           "a chain of multiply-adds: its length sets the intensity", 1,
           trains=False, n=1, elements=1 << 24),
    _entry("mlp-tiny", "vectors.mlp:Mlp", "eight narrow linear layers: all overhead", 32,
           width=128, depth=8),
    _entry("mlp-wide", "vectors.mlp:Mlp", "four wide linear layers: all matrix products", 1024,
           width=8192, depth=4),
    _entry("bert-base", "sequences.bert:Bert", "bidirectional encoder with pre-training heads",
           16, 128, width=768, layers=12, heads=12, hidden=3072, mask=False),
    _entry("bert-large", "sequences.bert:Bert", "the larger bidirectional encoder", 8, 512,
           width=1024, layers=24, heads=16, hidden=4096, mask=False),
    _entry("gpt2", "sequences.gpt2:Gpt2", "causal decoder, 124M", 8, 1024,
           width=768, layers=12, heads=12),
    _entry("gpt2-xl", "sequences.gpt2:Gpt2", "causal decoder, 1.6B", 4, 1024,
           width=1600, layers=48, heads=25),
    *(_entry(f"llama3-{size}", "sequences.llama:Llama",
             f"Llama 3 decoder, {size.upper()}: prefill or training", 1, 2048, **sizes)
      for size, sizes in _LLAMA.items()),
    *(_entry(f"llama3-{size}-decode", "sequences.llama_decode:LlamaDecode",
             f"Llama 3, {size.upper()}: one new token against a cache of seq tokens", 8, 2048,
             trains=False, **sizes)
      for size, sizes in _LLAMA.items()),
    _entry("mixtral", "sequences.mixtral:Mixtral", "mixture of 8 experts, 2 per token, 47B", 1,
           2048, width=4096, layers=32, heads=32, kv_heads=8, hidden=14336, experts=8, top=2),
    _entry("mixtral-small", "sequences.mixtral:Mixtral", "a 4-layer mixture of experts", 4, 512,
           width=1024, layers=4, heads=16, kv_heads=4, hidden=3584, experts=8, top=2),
    *(_entry(name, "sequences.moe_decoder:MoeDecoder",
             f"{sizes['experts']} experts, {sizes['top']} per token: prefill or training", 1, 2048,
             quantised=_EXPERTS_ONLY.get(name, "**"), **sizes)
      for name, sizes in _MOE.items()),
    *(_entry(f"{name}-decode", "sequences.moe_decode:MoeDecode",
             f"{name}: one new token against a cache of seq tokens", 8, 2048, trains=False,
             quantised=_EXPERTS_ONLY.get(name, "**"), **sizes)
      for name, sizes in _MOE.items()),
    *(_entry(f"deepseek-v3{step}", f"sequences.latent_decoder:{factory}", summary, batch, 2048,
             trains=not step, quantised="layers", quantised_4bit="**.feed_forward", dense=3,
             experts=256)
      for step, factory, batch, summary in (
          ("", "LatentDecoder", 1, "latent attention, 256 experts, 671B: prefill or training"),
          ("-decode", "LatentDecode", 8, "deepseek-v3: one new token against cached latents"))),
    _entry("t5-base", "sequences.t5:T5", "encoder-decoder with relative position bias", 8, 512,
           width=768, layers=12, heads=12, hidden=3072),
    _entry("vit-b16", "images.vit:Vit", "vision transformer, base", 32,
           width=768, layers=12, heads=12, hidden=3072, image=224),
    _entry("vit-l16", "images.vit:Vit", "vision transformer, large", 32,
           width=1024, layers=24, heads=16, hidden=4096, image=224),
    _entry("swin-t", "images.swin:Swin", "vision transformer with shifted windows", 32, image=224),
    _entry("convnext-t", "images.convnext:ConvNext", "depthwise 7x7 convolutions and MLPs", 32,
           image=224),
    _entry("resnet50", "images.resnet:ResNet", "residual convolutions with bottlenecks", 32,
           depths=(3, 4, 6, 3), bottleneck=True, image=224),
    _entry("resnet18", "images.resnet:ResNet", "residual 3x3 convolutions", 32,
           depths=(2, 2, 2, 2), bottleneck=False, image=224),
    _entry("mobilenet-v2", "images.mobilenet:MobileNetV2", "depthwise convolutions, low intensity",
           32, image=224),
    _entry("convnet-tiny", "images.convnet:ConvNet", "two convolutions for digits", 64, image=28),
    _entry("unet", "images.unet:UNet", "the diffusion U-Net of Stable Diffusion 1.5", 2, latent=64),
    _entry("dit-xl", "images.dit:Dit", "diffusion transformer DiT-XL/2", 8,
           width=1152, layers=28, heads=16, patch=2, latent=32),
    _entry("whisper-encoder", "sequences.whisper:WhisperEncoder",
           "the speech encoder of Whisper base", 8, 3000, "frames", width=512, layers=6, heads=8),
    _entry("dlrm", "vectors.dlrm:Dlrm", "recommender: embedding tables and MLPs", 2048,
           tables=26, rows=100_000, width=128),
    _entry("lstm", "sequences.recurrent:Recurrent", "two-layer LSTM language model", 32, 256,
           cell="lstm", width=1024, layers=2),
    _entry("gru", "sequences.recurrent:Recurrent", "two-layer GRU language model", 32, 256,
           cell="gru", width=1024, layers=2),
    _entry("mamba2-130m", "sequences.mamba2:Mamba2", "state space model, chunked scan", 8, 1024,
           width=768, layers=24, state=128, chunk=64),
)  # fmt: skip

CATALOGUE: dict[str, Network] = {entry.name: entry for entry in _ENTRIES}


LORA_RANK, LORA_MODULES, LORA_DEFAULT = "lora_rank", "lora_modules", "query+value"
"""Sizes that every network accepts for LoRA, and the linear layers that get adapters by default."""


def _did_you_mean(name: str, known: list[str]) -> str:
    """ ": did you mean 'a' or 'b'?", or ";" if no name is close."""
    near = [other for other in known if other.startswith(name)] if name else []
    near += [other for other in difflib.get_close_matches(name, known) if other not in near]
    return f": did you mean {' or '.join(repr(other) for other in near[:3])}?" if near else ";"


def network(name: str) -> Network:
    """The entry `name`. Raises InputError, with the closest names, if the name is unknown."""
    if name not in CATALOGUE:
        near = _did_you_mean(name, list(CATALOGUE))
        raise InputError(f"unknown network {name!r}{near} `ridgepoint networks` lists all")
    return CATALOGUE[name]


@cache
def constructor_sizes(name: str) -> Mapping[str, Any]:
    """Default arguments of a network's constructor, read from its source to avoid importing
    torch."""
    module, _, factory = network(name).factory.partition(":")
    constructor = _constructor(module, factory)
    named = [*constructor.args.posonlyargs, *constructor.args.args]
    first = len(named) - len(constructor.args.defaults)
    pairs = [
        *zip(named[first:], constructor.args.defaults, strict=True),
        *zip(constructor.args.kwonlyargs, constructor.args.kw_defaults, strict=True),
    ]
    return {word.arg: ast.literal_eval(value) for word, value in pairs if value is not None}


def depth(name: str, sizes: Mapping[str, Any]) -> int | None:
    """The number of identical blocks of a catalogue network with these sizes; None for other
    networks and for networks whose blocks differ."""
    entry = CATALOGUE.get(name)
    if entry is None or entry.unlike:
        return None
    layers = {**constructor_sizes(name), **entry.sizes, **sizes}.get("layers")
    return layers if isinstance(layers, int) else None


def _constructor(module: str, name: str) -> ast.FunctionDef:
    """The `__init__` of a class or of its base class."""
    path = Path(__file__).parent.joinpath(*module.split(".")[2:]).with_suffix(".py")
    body = ast.parse(path.read_text("utf-8")).body
    definition = next(n for n in body if isinstance(n, ast.ClassDef) and n.name == name)
    for node in definition.body:
        if isinstance(node, ast.FunctionDef) and node.name == "__init__":
            return node
    base = next(b.id for b in definition.bases if isinstance(b, ast.Name))
    for node in body:
        if isinstance(node, ast.ImportFrom) and base in [alias.name for alias in node.names]:
            return _constructor(node.module or "", base)
    return _constructor(module, base)


def build(name: str, **sizes: Any) -> nn.Module:
    """Build a network on the current default device; `sizes` override those of the entry.

    The sizes `lora_rank` and `lora_modules` ("query+value") add LoRA to any network. Under
    `torch.device("meta")` the network takes no memory. Raises InputError if the network or a size
    is unknown.
    """
    entry = network(name)
    rank, modules = sizes.pop(LORA_RANK, None), sizes.pop(LORA_MODULES, LORA_DEFAULT)
    module, _, factory_name = entry.factory.partition(":")
    factory: Callable[..., nn.Module] = getattr(import_module(module), factory_name)
    known = list(inspect.signature(factory).parameters)
    for size in sizes:
        if size not in known:
            near = _did_you_mean(size, known)
            raise InputError(
                f"network {name!r} has no size {size!r}{near} its sizes are {', '.join(known)}"
            )
    built = factory(**{**entry.sizes, **sizes})
    if rank is None:
        return built
    from simulator.networks.lora import with_lora  # imports torch

    return with_lora(built, rank, tuple(modules.split("+")))
