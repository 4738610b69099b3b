"""Networks of torchvision with their default configurations: classifiers, segmentation, video,
optical flow, and the pyramid of features of a detector."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import Tensor, nn

from calibration.cases.networks.libraries.network import Spec, by_name, drawn, imported, tensors

_SIDES = {
    **dict.fromkeys(
        (
            "alexnet", "vgg16", "densenet121", "squeezenet1_1", "shufflenet_v2_x1_0",
            "mnasnet1_0", "regnet_y_3_2gf", "mobilenet_v3_large", "maxvit_t", "vit_l_32",
            "convnext_small", "wide_resnet50_2", "resnext101_32x8d",
        ),
        224,
    ),
    "swin_v2_t": 256, "efficientnet_v2_s": 384,
}  # fmt: skip
"""The image sizes of classifiers, in pixels."""
_CLIPS = {"r3d_18": 112, "r2plus1d_18": 112, "s3d": 224, "mvit_v2_s": 224, "swin3d_t": 224}
"""The frame sizes of networks for clips of 16 frames, in pixels."""


class _Result(nn.Module):
    """A network that returns its results by name, as a network with one result: `name`, or the sum
    of the means of all."""

    def __init__(self, make: str, name: str = "", **sizes: Any) -> None:
        super().__init__()
        self.network: nn.Module = imported(f"torchvision.models.{make}")(**sizes)
        self.name = name

    def forward(self, x: Tensor) -> Tensor:
        results: Mapping[str, Tensor] = self.network(x)
        if self.name:
            return results[self.name]
        return sum((each.mean() for each in results.values()), start=x.new_zeros(()))


class _Flow(nn.Module):
    """A network for optical flow, which returns the flow after each update."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.network: nn.Module = imported(f"torchvision.models.optical_flow:{name}")()

    def forward(self, first: Tensor, second: Tensor) -> Tensor:
        return self.network(first, second)[-1]


def _classifier(name: str, side: int, **sizes: Any) -> Spec:
    return Spec(f"torchvision.models:{name}", ("x",), tensors(drawn(3, side, side)), sizes)


def _segmentation(name: str) -> Spec:
    sizes = {"make": f"segmentation:{name}", "name": "out", "weights_backbone": None}
    return Spec(_Result, ("x",), tensors(drawn(3, 512, 512)), sizes)


def _flow(name: str) -> Spec:
    pair = tensors(drawn(3, 360, 520), drawn(3, 360, 520))
    return Spec(_Flow, ("first", "second"), pair, {"name": name})


TORCHVISION = by_name(
    {
        **{name: _classifier(name, side) for name, side in _SIDES.items()},
        "googlenet": _classifier("googlenet", 224, aux_logits=False, init_weights=False),
        "inception_v3": _classifier("inception_v3", 299, aux_logits=False, init_weights=False),
        **{
            name: _segmentation(name)
            for name in ("deeplabv3_resnet50", "fcn_resnet50", "lraspp_mobilenet_v3_large")
        },
        **{
            name: Spec(
                f"torchvision.models.video:{name}", ("x",), tensors(drawn(3, 16, side, side))
            )
            for name, side in _CLIPS.items()
        },
        "raft_small": _flow("raft_small"),
        "raft_large": _flow("raft_large"),
        "fpn_resnet50": Spec(
            _Result,
            ("x",),
            tensors(drawn(3, 800, 1344)),
            {
                "make": "detection.backbone_utils:resnet_fpn_backbone",
                "backbone_name": "resnet50",
                "weights": None,
            },
        ),
    }
)
"""The networks by name."""
