"""Networks for graphs, text and sound: torch_geometric, e3nn, x-transformers, torchaudio and
speechbrain."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from calibration.cases.networks.libraries.network import Spec, by_name, frames, imported, waves
from calibration.cases.networks.packages import Example, ids

_GRAPH = ("x", "edge_index")
_VOCABULARY = 20000


def graph(features: int) -> Example:
    """Node features of shape [batch, features], and on average `seq` edges for each node."""

    def example(batch: int, seq: int) -> tuple[Tensor, ...]:
        return torch.randn(batch, features), torch.randint(0, batch, (2, batch * seq))

    return example


def _molecules(batch: int, seq: int) -> tuple[Tensor, ...]:
    """Features and attributes of atoms, the ends of their bonds, and these bonds' spherical
    harmonics and lengths."""
    source, target = torch.randint(0, batch, (2, batch * seq))
    edges = (torch.randn(batch * seq, 9), torch.randn(batch * seq, 10))
    return torch.randn(batch, 16), torch.ones(batch, 1), source, target, *edges


def _speech(features: int) -> Example:
    """Frames of shape [batch, seq, features] without padding, and their numbers."""

    def example(batch: int, seq: int) -> tuple[Tensor, ...]:
        return torch.randn(batch, seq, features), torch.full((batch,), seq)

    return example


class Recogniser(nn.Module):
    """SpeechBrain's small recogniser for LibriSpeech; returns its decoder's states."""

    def __init__(self) -> None:
        super().__init__()
        self.network: nn.Module = imported(
            "speechbrain.lobes.models.transformer.TransformerASR:TransformerASR"
        )(
            tgt_vocab=5000, input_size=640, d_model=144, nhead=4, num_encoder_layers=12,
            num_decoder_layers=4, d_ffn=1024, encoder_module="conformer",
            attention_type="RelPosMHAXL", normalize_before=True, causal=False,
        )  # fmt: skip

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        return self.network(src, tgt)[1]


def _aggregated() -> nn.Module:
    """Principal neighbourhood aggregation for degrees of up to 5, as in molecules."""
    return imported("torch_geometric.nn.models:PNA")(
        75, 75, 4, aggregators=["mean", "min", "max", "std"],
        scalers=["identity", "amplification", "attenuation"],
        deg=torch.tensor([0, 400, 900, 1200, 500, 20], device="cpu"), towers=5,
    )  # fmt: skip


def _equivariant() -> nn.Module:
    return imported("e3nn.nn.models.v2106.gate_points_message_passing:MessagePassing")(
        irreps_node_sequence=["16x0e"] + ["64x0e + 32x1o + 16x2e"] * 3 + ["1x0e"],
        irreps_node_attr="0e",
        irreps_edge_attr="0e + 1o + 2e",
        fc_neurons=[10, 64],
        num_neighbors=16.0,
    )


def _text(kind: str, length: int, **sizes: Any) -> Callable[[], nn.Module]:
    """A wrapper of x-transformers around its encoder or decoder."""

    def make() -> nn.Module:
        return imported("x_transformers:TransformerWrapper")(
            num_tokens=_VOCABULARY,
            max_seq_len=length,
            attn_layers=imported(f"x_transformers:{kind}")(**sizes),
        )

    return make


def _side(name: str) -> dict[str, int]:
    """The sizes of one half of a translator."""
    sizes = dict(num_tokens=8192, depth=6, heads=8, max_seq_len=1024)
    return {f"{name}_{key}": value for key, value in sizes.items()}


def _picture_encoder() -> nn.Module:
    encoder = imported("x_transformers:Encoder")(
        dim=768, depth=12, heads=12, attn_flash=True, ff_glu=True, attn_num_mem_kv=8
    )
    return imported("x_transformers:ViTransformerWrapper")(
        image_size=224, patch_size=16, num_classes=1000, num_register_tokens=4,
        attn_layers=encoder,
    )  # fmt: skip


def _sepformer() -> nn.Module:
    """The masks of SepFormer with one of two layers, each a transformer within chunks and one
    across them."""
    block = imported("speechbrain.lobes.models.dual_path:SBTransformerBlock")
    within, across = (
        block(num_layers=8, d_model=256, nhead=8, d_ffn=1024, dropout=0.0, norm_before=True,
              use_positional_encoding=True)
        for _ in range(2)
    )  # fmt: skip
    return imported("speechbrain.lobes.models.dual_path:Dual_Path_Model")(
        256, 256, within, across, num_layers=1, K=250, skip_around_intra=True,
        linear_layer_after_inter_intra=False,
    )  # fmt: skip


def _translated(batch: int, seq: int) -> tuple[Tensor, ...]:
    return *ids(batch, seq), *ids(batch, seq)


def _recognised(batch: int, seq: int) -> tuple[Tensor, ...]:
    """Frames of shape [batch, seq, 640], and a tenth as many tokens."""
    return torch.randn(batch, seq, 640), *ids(batch, seq // 10)


def _mels(batch: int, seq: int) -> tuple[Tensor, ...]:
    return waves(80)(batch, seq)


_SPECS: dict[str, Spec] = {
    "gcn": Spec(  # for ogbn-arxiv with its self-loops
        "torch_geometric.nn.models:GCN",
        _GRAPH,
        graph(128),
        dict(in_channels=128, hidden_channels=256, num_layers=3, out_channels=40, dropout=0.5,
             norm="batch_norm", add_self_loops=False),
    ),
    "gat": Spec(
        "torch_geometric.nn.models:GAT",
        _GRAPH,
        graph(602),
        dict(in_channels=602, hidden_channels=256, num_layers=3, out_channels=41, heads=4),
    ),
    "sage": Spec(
        "torch_geometric.nn.models:GraphSAGE",
        _GRAPH,
        graph(100),
        dict(in_channels=100, hidden_channels=256, num_layers=3, out_channels=47, dropout=0.5),
    ),
    "gin": Spec(
        "torch_geometric.nn.models:GIN",
        _GRAPH,
        graph(300),
        dict(in_channels=300, hidden_channels=300, num_layers=5, norm="batch_norm", jk="cat",
             out_channels=128),
    ),
    "pna": Spec(_aggregated, _GRAPH, graph(75)),
    "equivariant": Spec(
        _equivariant,
        ("node_features", "node_attr", "edge_src", "edge_dst", "edge_attr", "edge_scalars"),
        _molecules,
        on_cpu=True,
    ),
    "rotary-decoder": Spec(
        _text("Decoder", 2048, dim=1024, depth=12, heads=16, rotary_pos_emb=True, attn_flash=True,
              use_rmsnorm=True, ff_swish=True, ff_glu=True, ff_no_bias=True, attn_kv_heads=4),
        ("x",),
        ids,
    ),
    "plain-decoder": Spec(
        _text("Decoder", 1024, dim=512, depth=12, heads=8), ("x",), ids
    ),
    "alibi-encoder": Spec(
        _text("Encoder", 1024, dim=768, depth=12, heads=12, alibi_pos_bias=True,
              alibi_num_heads=6, attn_qk_norm=True),
        ("x",),
        ids,
    ),
    "translator": Spec(
        "x_transformers:XTransformer",
        ("src", "tgt"),
        _translated,
        dict(dim=512, tie_token_emb=True, **_side("enc"), **_side("dec")),
    ),
    "register-vit": Spec(
        _picture_encoder, ("img",), lambda batch, seq: (torch.randn(batch, 3, 224, 224),)
    ),
    "conformer": Spec(
        "torchaudio.models:Conformer",
        ("input", "lengths"),
        _speech(256),
        dict(input_dim=256, num_heads=4, ffn_dim=1024, num_layers=12,
             depthwise_conv_kernel_size=31, dropout=0.1),
    ),
    "emformer": Spec(
        "torchaudio.models:Emformer",
        ("input", "lengths"),
        _speech(512),
        dict(input_dim=512, num_heads=8, ffn_dim=2048, num_layers=20, segment_length=16,
             left_context_length=30, right_context_length=4),
    ),
    "conv-tasnet": Spec("torchaudio.models:ConvTasNet", ("input",), waves(1)),
    "audio-wav2vec2": Spec(
        "torchaudio.models:wav2vec2_base",
        ("waveforms",),
        lambda batch, seq: (torch.randn(batch, seq),),
        dict(aux_num_out=32),
    ),
    "hybrid-demucs": Spec(
        "torchaudio.models:hdemucs_high",
        ("input",),
        waves(2),
        dict(sources=["drums", "bass", "other", "vocals"]),
    ),
    "ecapa": Spec(
        "speechbrain.lobes.models.ECAPA_TDNN:ECAPA_TDNN",
        ("x",),
        frames(80),
        dict(input_size=80, channels=[1024, 1024, 1024, 1024, 3072]),
    ),
    "sepformer": Spec(_sepformer, ("x",), waves(256)),
    "hifigan": Spec(
        "speechbrain.lobes.models.HifiGAN:HifiganGenerator",
        ("x",),
        _mels,
        dict(in_channels=80, out_channels=1, resblock_type="1",
             resblock_dilation_sizes=[[1, 3, 5]] * 3, resblock_kernel_sizes=[3, 7, 11],
             upsample_kernel_sizes=[16, 16, 4, 4], upsample_initial_channel=512,
             upsample_factors=[8, 8, 2, 2]),
    ),
    "asr-conformer": Spec(Recogniser, ("src", "tgt"), _recognised),
}  # fmt: skip
SEQUENCES = by_name(_SPECS)
"""The networks by name."""
