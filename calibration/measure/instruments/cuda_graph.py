"""Capture a step in a CUDA graph."""

from __future__ import annotations

from collections.abc import Callable

import torch


def captured(step: Callable[[], object]) -> torch.cuda.CUDAGraph:
    """A CUDA graph of a step that has run before. Raises RuntimeError if it cannot be captured."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        step()
        step()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    return graph
