"""The command `ridgepoint`: the root that wires commands and explorer together.

A command is a function of its module in `app.commands`, loaded when it is called; `--help` reads
only the table below. The help is plain text because typer's boxes cost 0.2 s of rich.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from io import StringIO
from typing import Any, NoReturn

import typer
from typer.core import TyperGroup
from typer.main import get_command

from app.conversion import Command, converted_early
from app.printable import printable
from simulator.caches.frames import with_room
from simulator.caches.garbage import collect_seldom
from simulator.errors import RidgepointError
from simulator.formats.trace_folder import TRACE_FOLDER
from simulator.isolated import ISOLATION
from simulator.networks.loading.watching import WATCH

PANELS = {
    "Predict and explore": {
        "predict": "Predict the time of a step, what limits it, and whether it fits in memory.",
        "whatif": "Apply what-ifs: before and after, each change alone and all together.",
        "advise": "Rank the what-ifs by what each saves end to end.",
        "compare": "Compare up to four scenarios: each change's effect, the kernels and regimes "
        "that changed.",
        "sweep": "Sweep one axis, such as batch or sequence length: time, throughput and shares.",
        "map": "Map the regime over two axes, with the boundaries between regimes.",
        "seek": "Find the batch that meets a goal, or the rate that flips the regime.",
        "plan": "Choose GPUs for a load and its limits: a verdict, a ranked table, the "
        "assumptions.",
        "split": "Find the fastest split of a network over a cluster, under the memory limit.",
        "trace": "Save a network's ops as a trace, which later predictions read without torch.",
        "explore": "Open the explorer: change batch, precision or GPU and see the effect at once.",
        "install-desktop": "Add Ridgepoint to a Linux desktop: .ridge files and ridgepoint:// "
        "links open it.",
        "export-kernel": "Export a fused group as a Triton kernel, with a torch reference, a "
        "check and a benchmark.",
    },
    "Lists": {
        "whatifs": "List the what-ifs with their parameters and bounds.",
        "gpus": "List the GPUs, or show all figures of one GPU.",
        "networks": "List the built-in networks with their sizes.",
        "hosts": "List the host CPUs with their launch costs, or show all figures of one host.",
        "clusters": "List the built-in clusters of GPUs.",
    },
    "Calibrate and check": {
        "calibrate": "Calibrate a GPU and its host: measure, fit, validate or all.",
        "validate": "Compare predictions with recorded measurements; needs no GPU.",
        "cache": "Show or clear the traces on disk: their folder, number, size and age.",
        "doctor": "Check the installation: print the versions, and try each part.",
    },
}
"""The commands and the first lines of their docstrings, by panel of the help."""
SUMMARIES = {name: text for panel in PANELS.values() for name, text in panel.items()}
_FUNCTIONS = {
    "map": "regime_map:regime_map",
    "trace": "predict:trace",
    "export-kernel": "export_kernel:export_kernel",
    "install-desktop": "install_desktop:install_desktop",
    "gpus": "lists:gpus",
    "networks": "lists:networks",
    "hosts": "lists:hosts",
    "clusters": "lists:clusters",
    "calibrate": "checks:calibrate",
    "validate": "checks:validate",
    "doctor": "checks:doctor",
}
"""The functions whose module or name differs from that of their command, as "module:function"."""

_PASSED_ON: dict[str, Any] = {
    "allow_extra_args": True,
    "ignore_unknown_options": True,
    "help_option_names": [],
}
_CONTEXTS = {"calibrate": _PASSED_ON}


def function(name: str) -> Callable[..., Any]:
    """The function of a command. Raises KeyError if there is no such command."""
    if name not in SUMMARIES:
        raise KeyError(name)
    module, _, function = _FUNCTIONS.get(name, f"{name}:{name}").partition(":")
    return getattr(import_module(f"app.commands.{module}"), function)


class Loaded(Mapping[str, Any]):
    """The commands by name, each loaded when it is looked up."""

    def __getitem__(self, name: str) -> Any:
        alone = typer.Typer(add_completion=False, rich_markup_mode=None)
        alone.command(name, cls=Command, context_settings=_CONTEXTS.get(name))(function(name))
        return get_command(alone)

    def __iter__(self) -> Iterator[str]:
        return iter(SUMMARIES)

    def __len__(self) -> int:
        return len(SUMMARIES)


class Commands(TyperGroup):
    """The group of commands: reports a `RidgepointError` as one message with exit status 2."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands: Any = Loaded()

    def list_commands(self, ctx: Any) -> list[str]:
        """The names of the commands."""
        return [*SUMMARIES]

    def get_params(self, ctx: Any) -> Any:
        """The parameters of the group: its help."""
        return converted_early(super().get_params(ctx))

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands with their summaries, one section per panel."""
        width = max(map(len, SUMMARIES))
        for panel, summaries in PANELS.items():
            with formatter.section(panel):
                formatter.write_dl([(name.ljust(width), text) for name, text in summaries.items()])

    def invoke(self, ctx: Any) -> Any:
        """Run the command with the trace cache on disk."""
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
            for network, why in TRACE_FOLDER.left_out().items():
                typer.echo(f"note: the traces of {network} are not stored: {why}", err=True)


app = typer.Typer(
    name="ridgepoint",
    cls=Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def ridgepoint() -> None:
    """Predict how long a PyTorch network takes on a GPU, what limits it, and what would change
    that. No GPU is needed.
    """


def main() -> None:
    """Run the console script, with the code of users' networks in a separate process."""
    ISOLATION.begin()
    collect_seldom()
    if sys.stderr is None:  # pyright: ignore[reportUnnecessaryComparison]
        sys.stderr = StringIO()  # closed: discard messages
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a µ must not abort a report if the code page lacks it
            stream.reconfigure(errors="replace")  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
    if sys.stdout is None and os.name != "nt":  # pyright: ignore[reportUnnecessaryComparison]
        _stop("standard output is closed: expected a terminal, a file or a pipe; open one")
    try:
        try:
            with_room(app)
        finally:
            sys.stdout.flush()
    except OSError as error:
        if error.errno not in _WRITING:
            raise
        _stop(f"cannot write to standard output: {error.strerror}; write elsewhere")


_WRITING = (errno.ENOSPC, errno.EIO, errno.EBADF, errno.EDQUOT)


def _stop(message: str) -> NoReturn:
    sys.stderr.write(f"error: {message}\n")
    os._exit(2)  # no stream is left to flush


if __name__ == "__main__":
    main()
