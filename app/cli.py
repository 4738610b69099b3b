"""The command `ridgepoint`: the root that wires commands and explorer together.

Imports at the top are those that the help needs: `--help` takes 0.2 s at most. Each command
imports the rest in its body. The help is plain text because typer's boxes cost 0.2 s of rich.
"""

from __future__ import annotations

import errno
import os
import sys
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

from app.commands.advise import advise
from app.commands.cache import cache
from app.commands.compare import compare
from app.commands.export_kernel import export_kernel
from app.commands.option_types import ThemeName
from app.commands.options import Opening, expanded
from app.commands.plan import plan
from app.commands.predict import predict, trace
from app.commands.regime_map import regime_map
from app.commands.seek import seek
from app.commands.sweep import sweep
from app.commands.whatif import whatif
from app.commands.whatifs import whatifs
from app.printable import printable
from simulator.errors import RidgepointError
from simulator.networks.watching import WATCH
from simulator.scenario.trace_folder import TRACE_FOLDER


class Commands(TyperGroup):
    """The group of commands: reports a `RidgepointError` as one message with exit status 2."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands with their summaries, one section per panel."""
        panels: dict[str, list[tuple[str, str]]] = {}
        for name in self.list_commands(ctx):
            command = self.commands[name]
            rows = panels.setdefault(getattr(command, "rich_help_panel", "Commands"), [])
            rows.append((name, (command.help or "").partition("\n")[0]))
        width = max(len(name) for name in self.commands)
        for panel, rows in panels.items():
            with formatter.section(panel):
                formatter.write_dl([(name.ljust(width), text) for name, text in rows])

    def invoke(self, ctx: Any) -> Any:
        """Run the command; it keeps traces on disk."""
        before, folder = WATCH.get(), TRACE_FOLDER.path
        TRACE_FOLDER.keep(folder)
        try:
            return super().invoke(ctx)
        except RidgepointError as error:
            typer.echo(
                f"{typer.style('error:', fg='red', bold=True)} {printable(f'{error}')}", err=True
            )
            raise typer.Exit(2) from None
        except KeyboardInterrupt:
            raise typer.Exit(130) from None
        finally:
            WATCH.set(before)
            TRACE_FOLDER.path = folder
            for path in TRACE_FOLDER.reported():
                typer.echo(f"note: {path} was damaged: its network was traced again", err=True)


app = typer.Typer(
    name="ridgepoint",
    cls=Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Predict how long a PyTorch network takes on a GPU, what limits it, and what would change "
    "that. No GPU is needed.",
)

_BEFORE_QT = (
    "app.answers.answer",
    "app.formulas.step",
    "simulator.analysis.advice",
)
"""Modules to import before Qt: Qt reads the source of every module imported after it, which took a
sixteenth of the start."""


@expanded
def explore(
    asked: Opening, theme: Annotated[ThemeName | None, typer.Option(help="dark or light.")] = None
) -> None:
    """Open the explorer: change batch, precision or GPU and see the effect at once."""
    from app.plots import QT, need_qt
    from app.widgets.display import INSTEAD, need_display

    wanted = asked.scenario
    for name in _BEFORE_QT:
        import_module(name)
    need_qt("the explorer needs", f", {INSTEAD}", QT)
    need_display()
    from app.explorer.window.start import run

    raise typer.Exit(run(wanted, theme.value if theme else None))


_QUESTIONS = "Predict and explore"
for _name, _command in {
    "predict": predict,
    "whatif": whatif,
    "advise": advise,
    "compare": compare,
    "sweep": sweep,
    "map": regime_map,
    "seek": seek,
    "plan": plan,
    "trace": trace,
    "explore": explore,
    "export-kernel": export_kernel,
}.items():
    app.command(_name, rich_help_panel=_QUESTIONS)(_command)

_LISTS = "Lists"
app.command("whatifs", rich_help_panel=_LISTS)(whatifs)


@app.command(rich_help_panel=_LISTS)
def gpus(
    name: Annotated[
        str | None, typer.Argument(help="Show all figures of this GPU, with sources.")
    ] = None,
) -> None:
    """List the GPUs, or show all figures of one."""
    from app.commands import listings

    listings.one_gpu(name) if name else listings.all_gpus()


@app.command(rich_help_panel=_LISTS)
def networks() -> None:
    """List the built-in networks with their sizes."""
    from app.commands import listings

    listings.all_networks()


@app.command(rich_help_panel=_LISTS)
def hosts() -> None:
    """List the host CPUs with their launch costs."""
    from app.commands import listings

    listings.all_hosts()


@app.command(rich_help_panel=_LISTS)
def clusters() -> None:
    """List the built-in clusters of GPUs."""
    from app.commands.parallel import all_clusters

    all_clusters()


_TRUST = "Calibrate and check"
_PASSED_ON: dict[str, Any] = {
    "allow_extra_args": True,
    "ignore_unknown_options": True,
    "help_option_names": [],
}


@app.command(context_settings=_PASSED_ON, rich_help_panel=_TRUST)
def calibrate(ctx: typer.Context) -> None:
    """Calibrate a GPU and its host: measure, fit, validate or all."""
    from app.commands.calibrate import run

    raise typer.Exit(run(ctx.args or ["--help"]))


@app.command(context_settings=_PASSED_ON, rich_help_panel=_TRUST)
def validate(
    ctx: typer.Context,
    png: Annotated[
        Path | None, typer.Option(help="Draw predicted against measured as PNG.")
    ] = None,
    svg: Annotated[
        Path | None, typer.Option(help="Draw predicted against measured as SVG.")
    ] = None,
    theme: Annotated[str, typer.Option(help="dark or light.")] = "dark",
) -> None:
    """Compare predictions with recorded measurements; needs no GPU."""
    from app.commands.calibrate import drawn, run

    if png is None and svg is None:
        raise typer.Exit(run(["validate", *ctx.args]))
    raise typer.Exit(drawn(ctx.args, png, svg, theme))


app.command("cache", rich_help_panel=_TRUST)(cache)


@app.command(rich_help_panel=_TRUST)
def doctor() -> None:
    """Check the installation: versions, and whether each part works."""
    from app.commands.doctor import examine

    raise typer.Exit(0 if examine() else 1)


def main() -> None:
    """Run the console script."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a µ must not end a report on a narrow code page
            stream.reconfigure(errors="replace")  # pyright: ignore[reportAttributeAccessIssue]
    if sys.stdout is None and os.name != "nt":  # pyright: ignore[reportUnnecessaryComparison]
        _stop("standard output is closed: expected a terminal, a file or a pipe; open one")
    try:
        try:
            app()
        finally:
            sys.stdout.flush()
    except OSError as error:
        if error.errno not in _WRITING:
            raise
        _stop(f"cannot write to standard output: {error.strerror}; write elsewhere")


_WRITING = (errno.ENOSPC, errno.EIO, errno.EBADF, errno.EDQUOT)


def _stop(message: str) -> NoReturn:
    if sys.stderr is not None:  # pyright: ignore[reportUnnecessaryComparison]
        sys.stderr.write(f"error: {message}\n")
    os._exit(2)  # no stream is left to flush


if __name__ == "__main__":
    main()
