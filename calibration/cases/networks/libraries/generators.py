"""Networks that generate images, videos and sound: diffusers and denoising-diffusion-pytorch."""

from __future__ import annotations

import torch
from torch import Tensor

from calibration.cases.networks.libraries.network import (
    Spec,
    by_name,
    drawn,
    steps,
    tensors,
    waves,
)

_GRID = 32
"""Flux's image tokens on one side: 512 pixels, 8 to a latent, in patches of 2."""
_WORDS = 512
"""Flux's text tokens."""
_NOISE, _TEXT = "hidden_states", "encoder_hidden_states"


def _flux(batch: int, seq: int) -> tuple[Tensor, ...]:
    """Latents, text, pooled text, time in [0, 1], positions of both, and the guidance."""
    across = torch.arange(_GRID).float()
    positions = torch.cartesian_prod(torch.zeros(1), across, across)
    return (
        torch.randn(batch, _GRID**2, 64),
        torch.randn(batch, _WORDS, 4096),
        torch.randn(batch, 768),
        torch.rand(batch),
        positions,
        torch.zeros(_WORDS, 3),
        torch.full((batch,), 3.5),
    )


_SPECS: dict[str, Spec] = {
    # Stable Diffusion 1.5 at 512 pixels: its U-Net, ControlNet and autoencoder
    "sd15-unet": Spec(
        "diffusers:UNet2DConditionModel",
        ("sample", "timestep", "encoder_hidden_states"),
        tensors(drawn(4, 64, 64), steps, drawn(77, 768)),
        dict(cross_attention_dim=768),
    ),
    "sd15-controlnet": Spec(
        "diffusers:ControlNetModel",
        ("sample", "timestep", "encoder_hidden_states", "controlnet_cond"),
        tensors(drawn(4, 64, 64), steps, drawn(77, 768), drawn(3, 512, 512)),
        dict(cross_attention_dim=768),
    ),
    "sd15-autoencoder": Spec(
        "diffusers:AutoencoderKL",
        ("sample",),
        tensors(drawn(3, 512, 512)),
        dict(
            down_block_types=("DownEncoderBlock2D",) * 4,
            up_block_types=("UpDecoderBlock2D",) * 4,
            block_out_channels=(128, 256, 512, 512),
            layers_per_block=2,
        ),
    ),
    "deep-autoencoder": Spec(  # SANA's: blocks of linear attention in its deepest three stages
        "diffusers:AutoencoderDC",
        ("sample",),
        tensors(drawn(3, 512, 512)),
        dict(
            encoder_block_types=("ResBlock",) * 3 + ("EfficientViTBlock",) * 3,
            decoder_block_types=("ResBlock",) * 3 + ("EfficientViTBlock",) * 3,
        ),
    ),
    "dit-xl": Spec(
        "diffusers:DiTTransformer2DModel",
        (_NOISE, "timestep", "class_labels"),
        tensors(drawn(4, 32, 32), steps, steps),
    ),
    "sd3": Spec(  # 8 of 24 layers
        "diffusers:SD3Transformer2DModel",
        (_NOISE, _TEXT, "pooled_projections", "timestep"),
        tensors(drawn(16, 64, 64), drawn(154, 4096), drawn(2048), steps),
        dict(
            num_layers=8,
            num_attention_heads=24,
            caption_projection_dim=1536,
            pos_embed_max_size=192,
        ),
    ),
    "flux": Spec(  # 3 of 19 layers for two streams, 6 of 38 for one
        "diffusers:FluxTransformer2DModel",
        (_NOISE, _TEXT, "pooled_projections", "timestep", "img_ids", "txt_ids", "guidance"),
        _flux,
        dict(num_layers=3, num_single_layers=6, guidance_embeds=True),
    ),
    "pixart": Spec(
        "diffusers:PixArtTransformer2DModel",
        (_NOISE, _TEXT, "timestep"),
        tensors(drawn(4, 64, 64), drawn(120, 4096), steps),
        dict(sample_size=64, caption_channels=4096),
    ),
    "sana": Spec(  # 10 of 20 layers
        "diffusers:SanaTransformer2DModel",
        (_NOISE, _TEXT, "timestep"),
        tensors(drawn(32, 32, 32), drawn(300, 2304), steps),
        dict(num_layers=10),
    ),
    "wan": Spec(  # 6 of 30 layers of the network with 1.3 billion parameters
        "diffusers:WanTransformer3DModel",
        (_NOISE, "timestep", _TEXT),
        tensors(drawn(16, 5, 60, 104), steps, drawn(512, 4096)),
        dict(num_layers=6, num_attention_heads=12, ffn_dim=8960),
    ),
    "ddpm-unet": Spec(
        "diffusers:UNet2DModel", ("sample", "timestep"), tensors(drawn(3, 64, 64), steps)
    ),
    "unet-1d": Spec(  # Dance Diffusion with 6 of its 14 stages
        "diffusers:UNet1DModel",
        ("sample", "timestep"),
        lambda batch, seq: (*waves(2)(batch, seq), steps(batch)),
        dict(
            time_embedding_dim=16,
            extra_in_channels=16,
            down_block_types=("DownBlock1DNoSkip",)
            + ("DownBlock1D",) * 2
            + ("AttnDownBlock1D",) * 3,
            up_block_types=("AttnUpBlock1D",) * 3 + ("UpBlock1D",) * 2 + ("UpBlock1DNoSkip",),
            block_out_channels=(128, 128, 256, 256, 512, 512),
        ),
    ),
    "plain-ddpm": Spec(
        "denoising_diffusion_pytorch:Unet",
        ("x", "time"),
        tensors(drawn(3, 128, 128), steps),
        dict(dim=64),
    ),
}  # fmt: skip
GENERATORS = by_name(_SPECS)
"""The networks by name."""
