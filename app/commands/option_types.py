"""The types of shared options: their choices, names and help texts."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer


class Dtype(StrEnum):
    """Precisions; "autocast" keeps fp32 weights and computes in bf16."""

    fp32 = "fp32"
    bf16 = "bf16"
    fp16 = "fp16"
    autocast = "autocast"
    autocast_fp16 = "autocast-fp16"


class Optimizer(StrEnum):
    """Supported optimizers."""

    adamw = "adamw"
    adamw_fused = "adamw_fused"
    sgd = "sgd"
    none = "none"


class Mode(StrEnum):
    """How kernels are launched; the last three are modes of torch.compile."""

    eager = "eager"
    cuda_graph = "cuda_graph"
    compiled = "compiled"
    reduce_overhead = "reduce-overhead"
    max_autotune = "max-autotune"
    max_autotune_no_cudagraphs = "max-autotune-no-cudagraphs"


class ThemeName(StrEnum):
    """Colour themes of a picture."""

    dark = "dark"
    light = "light"


_NETWORK = (
    "A built-in name (`ridgepoint networks`), file.py:factory, hf:folder, timm:name, a saved trace "
    "or a scenario's link."
)
Network = Annotated[str | None, typer.Argument(metavar="NETWORK", help=_NETWORK)]
WhatIfs = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="+WHAT-IF", help="Changes to apply, in order (`ridgepoint whatifs` lists them)."
    ),
]
ScenarioFile = Annotated[
    str | None,
    typer.Option(
        "--scenario",
        metavar="FILE",
        help="Read the scenario from a file or a link; other options override its fields.",
    ),
]
SaveScenario = Annotated[
    str | None,
    typer.Option("--save-scenario", metavar="FILE|-", help="Write the scenario as TOML."),
]
Gpu = Annotated[
    str | None, typer.Option(help="A GPU (`ridgepoint gpus`) or a TOML file.", show_default="h200")
]
Host = Annotated[str | None, typer.Option(help="The host CPU (`ridgepoint hosts`).")]
Batch = Annotated[int | None, typer.Option(help="Samples per step.", show_default="the network's")]
Seq = Annotated[int | None, typer.Option(help="Tokens per sample.", show_default="the network's")]


def dtype_of(text: str) -> Dtype:
    """Return the precision with this name. Raises BadParameter if it is unknown; for tf32 the
    message names the what-if."""
    if text in list(Dtype):
        return Dtype(text)
    known = ", ".join(Dtype)
    hint = "; tf32 is a what-if on fp32: write +precision=tf32" if text == "tf32" else ""
    raise typer.BadParameter(f"{text!r}: expected one of {known}{hint}")


Precision = Annotated[
    Dtype | None,
    typer.Option(
        "--dtype",
        help="Precision.",
        parser=dtype_of,
        metavar=f"[{'|'.join(Dtype)}]",
        show_default="fp32",
    ),
]
Train = Annotated[
    bool | None,
    typer.Option(
        "--train/--no-train", help="Predict training or inference.", show_default="no-train"
    ),
]
OptimizerName = Annotated[
    Optimizer | None,
    typer.Option("--optimizer", help="Optimizer of a training step.", show_default="adamw"),
]
HostMode = Annotated[
    Mode | None,
    typer.Option(
        "--mode",
        help="How kernels are launched; compiled is torch.compile, the last three are its modes.",
        show_default="eager",
    ),
]
Sizes = Annotated[
    list[str] | None,
    typer.Option(
        "--size",
        metavar="NAME=VALUE",
        help="Set a size of the network, such as width=512, depths=2,2,6,2 or mask=true.",
    ),
]
DataSizes = Annotated[
    list[str] | None,
    typer.Option(
        "--data-size",
        metavar="OP=N",
        help="Set the number of rows that a data-dependent op returns: nonzero=640.",
    ),
]
StatedCosts = Annotated[
    list[str] | None,
    typer.Option(
        "--op",
        metavar="LIB::OP=flops:N,bytes:N",
        help="State the cost of an op of another library (tensor_flops:N for matrix units).",
    ),
]
TimeLimit = Annotated[
    float,
    typer.Option(
        "--time-limit", min=0, metavar="SECONDS", help="Stop a trace that takes longer than this."
    ),
]
NoSandbox = Annotated[
    bool,
    typer.Option(
        "--no-sandbox",
        help="Run the network's file in this process, with internet access and without "
        "limits, for debugging.",
    ),
]
With = Annotated[
    list[str] | None,
    typer.Option(
        "--with", metavar='"+WHAT-IF…"', help="Add a variant of the scenario with these what-ifs."
    ),
]
Top = Annotated[int, typer.Option(min=1, help="Rows per table.")]
