"""Shapes of pipeline stages without communication, since ranks are traced one by one."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import torch

from simulator.tracing.substituted import substituted


@contextmanager
def static_stage_shapes() -> Generator[None]:
    """Take forward shapes from the previous stage's message, and gradient shapes from the outputs.
    (Since torch 2.12 stages first vote on this, and the vote needs values.)"""
    # imports Dynamo, which programs without stages do not need
    from torch.distributed.pipelining import stage as stages

    stage: Any = stages.PipelineStage
    if not hasattr(stage, "_warmup_backward_result"):
        yield
        return
    prepare = stage._prepare_backward_infra

    def vote(self: Any, *_: Any, **__: Any) -> torch.Tensor:
        return torch.zeros((), dtype=torch.int32, device="cpu")  # 0: shapes are inferred

    def backward(self: Any, *args: Any, **kwargs: Any) -> Any:
        self._inference_mode = stages.InferenceMode.STATIC  # pyright: ignore
        return prepare(self, *args, **kwargs)

    with substituted(
        stage,
        _warmup_forward_vote=vote,
        _warmup_backward_result=vote,
        _prepare_backward_infra=backward,
    ):
        yield
