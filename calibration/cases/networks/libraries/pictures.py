"""Networks for pictures, volumes and clips: MONAI, segmentation-models-pytorch, vit-pytorch,
kornia, open_clip and ultralytics."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from calibration.cases.networks.libraries.network import Spec, by_name, drawn, imported, tensors

_VOLUME = tensors(drawn(1, 96, 96, 96))
_CLASSES, _ORGANS = 1000, 14


def _picture(side: int) -> Any:
    return tensors(drawn(3, side, side))


class Captions(nn.Module):
    """A network of open_clip with its contrastive loss."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.network: nn.Module = imported("open_clip:create_model")(
            name, load_weights=False, device=torch.get_default_device()
        )
        self.loss: nn.Module = imported("open_clip:ClipLoss")()

    def forward(self, image: Tensor, text: Tensor) -> Any:
        images, texts, scale = self.network(image, text)
        return self.loss(images, texts, scale) if self.training else (images, texts)


class Detector(nn.Module):
    """A detector of ultralytics; in training, it returns its scores, boxes and feature maps."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.network: nn.Module = imported("ultralytics.nn.tasks:DetectionModel")(
            f"{name}.yaml", verbose=False
        )

    def forward(self, x: Tensor) -> Any:
        out = self.network(x)
        return (torch.cat([out["boxes"], out["scores"]], 1),) if self.training else out


def _transformer_detector(backbone: str) -> nn.Module:
    config = imported("kornia.models.rt_detr:RTDETRConfig")(backbone, 80)
    return imported("kornia.models.rt_detr:RTDETR").from_config(config)


_CAPTIONED = tensors(drawn(3, 224, 224), lambda batch: torch.randint(1, 49408, (batch, 77)))

_SPECS: dict[str, Spec] = {
    "unet-3d": Spec(
        "monai.networks.nets:UNet",
        ("x",),
        _VOLUME,
        dict(
            spatial_dims=3, in_channels=1, out_channels=2, channels=(16, 32, 64, 128, 256),
            strides=(2, 2, 2, 2), num_res_units=2, norm="BATCH",
        ),
    ),
    "segresnet": Spec(
        "monai.networks.nets:SegResNet",
        ("x",),
        tensors(drawn(4, 128, 128, 128)),
        dict(init_filters=16, in_channels=4, out_channels=3, dropout_prob=0.2),
    ),
    "vnet": Spec("monai.networks.nets:VNet", ("x",), _VOLUME, dict(out_channels=2)),
    "swin-unetr": Spec(
        "monai.networks.nets:SwinUNETR",
        ("x_in",),
        _VOLUME,
        dict(in_channels=1, out_channels=_ORGANS, feature_size=48),
        on_cpu=True,
    ),
    "unetr": Spec(
        "monai.networks.nets:UNETR",
        ("x_in",),
        _VOLUME,
        dict(in_channels=1, out_channels=_ORGANS, img_size=96),
    ),
    "smp-unet": Spec(
        "segmentation_models_pytorch:Unet",
        ("x",),
        _picture(512),
        dict(encoder_weights=None),
    ),
    "smp-deeplab": Spec(
        "segmentation_models_pytorch:DeepLabV3Plus",
        ("x",),
        _picture(512),
        dict(encoder_name="resnet50", encoder_weights=None, classes=21),
    ),
    "smp-manet": Spec(
        "segmentation_models_pytorch:MAnet",
        ("x",),
        _picture(512),
        dict(encoder_name="mit_b2", encoder_weights=None, classes=21),
        on_cpu=True,
    ),
    "cct-14": Spec(
        "vit_pytorch.cct:CCT",
        ("x",),
        _picture(224),
        dict(
            embedding_dim=384, n_conv_layers=2, num_layers=14, num_heads=6, mlp_ratio=3,
            num_classes=_CLASSES,
        ),
        on_cpu=True,
    ),
    "cvt-13": Spec("vit_pytorch.cvt:CvT", ("x",), _picture(224), dict(num_classes=_CLASSES)),
    "regionvit": Spec("vit_pytorch.regionvit:RegionViT", ("x",), _picture(224)),
    "crossformer": Spec("vit_pytorch.crossformer:CrossFormer", ("x",), _picture(224)),
    "vivit": Spec(
        "vit_pytorch.vivit:ViViT",
        ("video",),
        tensors(drawn(3, 16, 128, 128)),
        dict(
            image_size=128, image_patch_size=16, frames=16, frame_patch_size=2, dim=1024,
            num_classes=_CLASSES, spatial_depth=6, temporal_depth=6, heads=8, mlp_dim=2048,
        ),
    ),
    "openclip-vit-b32": Spec(
        Captions, ("image", "text"), _CAPTIONED, dict(name="ViT-B-32")
    ),
    "edges": Spec(
        "kornia.models.dexined:DexiNed", ("x",), _picture(320), dict(pretrained=False)
    ),
    "enlarger": Spec(
        "kornia.models.rrdbnet:RRDBNet",
        ("x",),
        _picture(128),
        dict(num_in_ch=3, num_out_ch=3),
    ),
    "rt-detr": Spec(
        _transformer_detector, ("images",), _picture(640), dict(backbone="resnet50d")
    ),
    "yolo11s": Spec(Detector, ("x",), _picture(640), dict(name="yolo11s"), on_cpu=True),
    "yolov8n": Spec(Detector, ("x",), _picture(640), dict(name="yolov8n"), on_cpu=True),
}  # fmt: skip
PICTURES = by_name(_SPECS)
"""The networks by name."""
