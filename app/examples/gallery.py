"""The examples of the gallery: scenarios that show one thing each. Their traces are packaged."""

from __future__ import annotations

from dataclasses import dataclass

from app.examples import FIRST
from simulator.scenario.scenario import Applied, Scenario


@dataclass(frozen=True)
class Example:
    """A scenario with a title, and a note on what to look at."""

    title: str
    about: str
    scenario: Scenario


GALLERY = (
    Example(
        "A batch of sentences",
        "The step is compute-bound. Halve the batch until it is overhead-bound.",
        FIRST,
    ),
    Example(
        "One sentence",
        "The host issues kernels more slowly than the GPU runs them: the timeline has gaps.",
        Scenario("bert-base", gpu="h200", batch=1, seq=128, dtype="bf16"),
    ),
    Example(
        "One sentence as a CUDA graph",
        "One launch replaces those of all kernels, and the gaps close.",
        Scenario("bert-base", gpu="h200", batch=1, seq=128, dtype="bf16", mode="cuda_graph"),
    ),
    Example(
        "Train Llama 3 8B",
        "Memory: see what the optimizer and the activations need in addition to the weights.",
        Scenario("llama3-8b", gpu="h200", batch=1, seq=2048, dtype="bf16", training=True),
    ),
    Example(
        "Decode with Llama 3 8B",
        "Each token reads all weights once: bandwidth limits the step, not arithmetic.",
        Scenario("llama3-8b-decode", gpu="h200", batch=8, dtype="bf16", mode="cuda_graph"),
    ),
    Example(
        "Decode with 8-bit weights",
        "Weights of half the size save a quarter of the time: fixed parts of kernels remain.",
        Scenario(
            "llama3-8b-decode",
            gpu="h200",
            batch=8,
            dtype="bf16",
            mode="cuda_graph",
            whatifs=(Applied("weights", {"dtype": "int8"}),),
        ),
    ),
    Example(
        "Train ResNet-50 in bf16",
        "Normalisation and activations move bytes between convolutions: see their share.",
        Scenario("resnet50", gpu="h200", batch=64, dtype="bf16", training=True),
    ),
    Example(
        "Vision transformer, compiled",
        "torch.compile fuses the ops between the products: see the Fusion page.",
        Scenario("vit-b16", gpu="h200", batch=16, mode="compiled"),
    ),
)
