"""The command `ridgepoint`. Only what the help needs is imported before a command runs."""

from __future__ import annotations

import contextlib
import sys
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from simulator.errors import InputError, RidgepointError

if TYPE_CHECKING:
    from app.scenario import Scenario


class Dtype(StrEnum):
    """Precisions; "autocast" keeps fp32 weights and computes in bf16."""

    fp32 = "fp32"
    bf16 = "bf16"
    fp16 = "fp16"
    autocast = "autocast"
    autocast_fp16 = "autocast-fp16"


class Optimizer(StrEnum):
    """Optimizers whose step can be predicted."""

    adamw = "adamw"
    adamw_fused = "adamw_fused"
    sgd = "sgd"
    none = "none"


class Mode(StrEnum):
    """How the host drives the GPU."""

    eager = "eager"
    cuda_graph = "cuda_graph"
    compiled = "compiled"


class Commands(TyperGroup):
    """Ends every error of Ridgepoint's own as one message and exit status 2."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except RidgepointError as error:
            typer.echo(f"{typer.style('error:', fg='red', bold=True)} {error}", err=True)
            raise typer.Exit(2) from None
        except KeyboardInterrupt:
            raise typer.Exit(130) from None


app = typer.Typer(
    name="ridgepoint", cls=Commands, no_args_is_help=True, pretty_exceptions_enable=False,
    add_completion=False, context_settings={"help_option_names": ["-h", "--help"]},
    help="How long a PyTorch network takes on a GPU, and why. No GPU is needed.",
)  # fmt: skip

Network = Annotated[
    str,
    typer.Argument(
        metavar="NETWORK",
        help="A name (`ridgepoint networks`), file.py:factory, hf:folder, timm:name, or a saved "
        "trace.",
    ),
]
Gpu = Annotated[str, typer.Option(help="A name (`ridgepoint gpus`) or a TOML file.")]
Batch = Annotated[int | None, typer.Option(help="Samples a step.", show_default="the network's")]
Seq = Annotated[int | None, typer.Option(help="Tokens a sample.", show_default="the network's")]
Precision = Annotated[Dtype | None, typer.Option("--dtype", show_default="fp32")]
Train = Annotated[
    bool | None, typer.Option("--train/--no-train", help="Training or inference.",
                              show_default="no-train"),
]  # fmt: skip
OptimizerName = Annotated[Optimizer | None, typer.Option("--optimizer", show_default="adamw")]
Sizes = Annotated[
    list[str] | None,
    typer.Option("--size", metavar="NAME=VALUE", help="A size of the network: 512, 2,2,6,2, true."),
]
DataSizes = Annotated[
    list[str] | None,
    typer.Option(
        "--data-size", metavar="OP=N", help="What a data-dependent op gives: nonzero=640."
    ),
]


def _scenario(
    network: str, gpu: str, batch: int | None, seq: int | None, dtype: Dtype | None,
    train: bool | None, optimizer: Optimizer | None, size: list[str] | None,
    data_size: list[str] | None, host: str | None = None, mode: str = "eager",
) -> Scenario:  # fmt: skip
    from app.scenario import Scenario, data_sizes, sizes

    return Scenario(
        network, gpu, host, mode, batch, seq, dtype and dtype.value, train,
        optimizer and optimizer.value, sizes(size or []), data_sizes(data_size or []),
    )  # fmt: skip


@app.command()
def predict(
    network: Network,
    gpu: Gpu = "h200",
    host: Annotated[str | None, typer.Option(help="A host (`ridgepoint hosts`).")] = None,
    batch: Batch = None,
    seq: Seq = None,
    dtype: Precision = None,
    train: Train = None,
    optimizer: OptimizerName = None,
    mode: Annotated[Mode, typer.Option(help="How the host drives the GPU.")] = Mode.eager,
    size: Sizes = None,
    data_size: DataSizes = None,
    json: Annotated[str | None, typer.Option(metavar="FILE|-", help="Write it all.")] = None,
    csv: Annotated[str | None, typer.Option(metavar="FILE|-", help="One row a kernel.")] = None,
    chrome_trace: Annotated[
        str | None, typer.Option(metavar="FILE", help="A timeline for ui.perfetto.dev.")
    ] = None,
    save_trace: Annotated[
        str | None, typer.Option(metavar="FILE", help="The ops: *.rpt.json, or *.rpt for msgpack.")
    ] = None,
    top: Annotated[int, typer.Option(min=1, help="Rows in each table.")] = 12,
) -> None:
    """How long a step takes, why, and whether it fits."""
    from app import outputs, progress, scenario

    if json == csv == outputs.STDOUT:
        raise InputError("--json - and --csv - both: expected one on standard output; name a file")
    for option, target in (("--json", json), ("--csv", csv), ("--chrome-trace", chrome_trace),
                           ("--save-trace", save_trace)):  # fmt: skip
        outputs.check(option, target)
    asked = _scenario(
        network, gpu, batch, seq, dtype, train, optimizer, size, data_size, host, mode.value
    )
    with progress.shown() as step:
        with contextlib.redirect_stdout(sys.stderr):  # what the user's file prints is no answer
            found = scenario.subject(asked, step)
        p = scenario.predict(asked, found, step)
    if json:
        from app.exports import as_json

        outputs.write("--json", json, as_json(p, found))
    if csv:
        from app.exports import as_csv

        outputs.write("--csv", csv, as_csv(p))
    if chrome_trace:
        from app.chrome_trace import as_text

        outputs.write("--chrome-trace", chrome_trace, as_text(p, found))
    if save_trace:
        from simulator.trace_file import save

        save(found.trace, save_trace)
    if outputs.STDOUT not in (json, csv):
        from rich.console import Console

        from app.render import show

        show(Console(highlight=False), p, found, top)


@app.command()
def trace(
    network: Network,
    output: Annotated[
        str, typer.Option("-o", "--output", metavar="FILE", help="*.rpt.json, or *.rpt.")
    ],
    gpu: Gpu = "h200",
    batch: Batch = None,
    seq: Seq = None,
    dtype: Precision = None,
    train: Train = None,
    optimizer: OptimizerName = None,
    size: Sizes = None,
    data_size: DataSizes = None,
) -> None:
    """Write down a network's ops, to be predicted later without torch."""
    from app import outputs, progress, scenario

    outputs.check("--output", output)
    asked = _scenario(network, gpu, batch, seq, dtype, train, optimizer, size, data_size)
    with progress.shown() as step:
        with contextlib.redirect_stdout(sys.stderr):  # what the user's file prints is no answer
            found = scenario.subject(asked, step)
        from simulator.trace_file import save

        save(found.trace, output)
    typer.echo(f"{output}: {len(found.trace.ops):,} ops of {found.name}, as on {found.trace.gpu}")


@app.command()
def gpus(
    name: Annotated[str | None, typer.Argument(help="All figures of one, with sources.")] = None,
) -> None:
    """The GPUs that can be predicted."""
    from app import listings

    listings.one_gpu(name) if name else listings.all_gpus()


@app.command()
def networks() -> None:
    """The networks that are known by name."""
    from app import listings

    listings.all_networks()


@app.command()
def hosts() -> None:
    """The hosts that can drive a GPU."""
    from app import listings

    listings.all_hosts()


_PASSED_ON: dict[str, Any] = {
    "allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": [],
}  # fmt: skip


@app.command(context_settings=_PASSED_ON)
def calibrate(ctx: typer.Context) -> None:
    """Measure a GPU and its host, fit, validate: measure, fit, validate or all."""
    from app.calibrate import run

    raise typer.Exit(run(ctx.args or ["--help"]))


@app.command(context_settings=_PASSED_ON)
def validate(ctx: typer.Context) -> None:
    """Predictions held against measured networks; needs no GPU."""
    from app.calibrate import run

    raise typer.Exit(run(["validate", *ctx.args]))


@app.command()
def doctor() -> None:
    """What is installed, and what works."""
    from app.doctor import examine

    raise typer.Exit(0 if examine() else 1)


def main() -> None:
    """The console script."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a µ must not end a report on a narrow code page
            stream.reconfigure(errors="replace")  # pyright: ignore[reportAttributeAccessIssue]
    app()


if __name__ == "__main__":
    main()
