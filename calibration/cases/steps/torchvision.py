"""Cases of networks of torchvision, predicted before they were measured. No fit uses them, but two
costs were derived from them later: of pools of volumes, and of the gradient of enlarged values
(`simulator.costs.spatial`)."""

from __future__ import annotations

from dataclasses import replace

from calibration.cases.case import Case, infer, train

TORCHVISION: tuple[Case, ...] = (
    *infer("lib-deeplabv3_resnet50", "fp16", 8),
    *train("lib-r3d_18", "autocast", 16, by="sgd"),
    *infer("lib-raft_small", "fp32", 1),
    *train("lib-shufflenet_v2_x1_0", "autocast-fp16", 128),
    *infer("lib-mvit_v2_s", "fp16", 4),
    *train("lib-fpn_resnet50", "autocast", 4, by="sgd"),
    *infer("lib-densenet121", "fp16", 64),
    *train("lib-efficientnet_v2_s", "autocast", 16),
    *infer("lib-swin_v2_t", "bf16", 32),
    *train("lib-googlenet", "autocast", 128, by="sgd"),
    *infer("lib-inception_v3", "fp32", 32),
    *train("lib-lraspp_mobilenet_v3_large", "fp32", 16),
    *infer("lib-maxvit_t", "fp16", 16),
    *train("lib-swin3d_t", "autocast", 2),
    *infer("lib-r2plus1d_18", "fp16", 8),
    *train("lib-alexnet", "fp32", 256, by="sgd"),
    *infer("lib-s3d", "bf16", 8),
    *train("lib-regnet_y_3_2gf", "autocast", 64, by="sgd"),
    *infer("lib-fpn_resnet50", "fp16", 2),
    *train("lib-raft_small", "fp32", 2),
    *infer("lib-squeezenet1_1", "fp16", 128),
    *train("lib-densenet121", "fp32", 32, by="sgd"),
    *infer("lib-vit_l_32", "fp16", 32),
    *train("lib-swin_v2_t", "autocast", 32, by="adamw_fused"),
    *infer("lib-mobilenet_v3_large", "fp16", 1),
    *train("lib-deeplabv3_resnet50", "autocast", 8, by="sgd"),
    *infer("lib-fcn_resnet50", "fp32", 4),
    *train("lib-mvit_v2_s", "autocast", 4),
    *infer("lib-raft_large", "fp32", 1),
    *train("lib-convnext_small", "bf16", 32),
    *infer("lib-wide_resnet50_2", "fp32", 16),
    *train("lib-maxvit_t", "autocast", 16),
    *infer("lib-mnasnet1_0", "fp16", 64),
    *train("lib-mobilenet_v3_large", "fp32", 64),
    *infer("lib-resnext101_32x8d", "fp16", 16),
    *infer("lib-vgg16", "bf16", 32),
    *infer("lib-efficientnet_v2_s", "fp16", 32),
    *infer("lib-lraspp_mobilenet_v3_large", "fp16", 32),
    *infer("lib-swin3d_t", "fp16", 4),
    *infer("lib-shufflenet_v2_x1_0", "fp32", 64),
    *infer("lib-regnet_y_3_2gf", "fp16", 1),
    *infer("lib-r3d_18", "fp32", 8),
)
"""Eager steps (inference steps as CUDA graphs too), ordered so that every prefix covers all
kinds."""

_COMPILED = (
    *("deeplabv3_resnet50", "r3d_18", "shufflenet_v2_x1_0", "mvit_v2_s", "densenet121"),
    *("googlenet", "lraspp_mobilenet_v3_large", "maxvit_t", "alexnet", "s3d", "fpn_resnet50"),
    *("swin_v2_t", "mobilenet_v3_large"),
)
TORCHVISION_COMPILED: tuple[Case, ...] = tuple(
    replace(case, mode="compiled")
    for case in TORCHVISION
    if case.network.removeprefix("lib-") in _COMPILED
)
"""The steps of networks that compile in short time, compiled."""
