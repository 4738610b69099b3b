"""`ridgepoint predict`: the report of one scenario. `ridgepoint trace`: its ops alone."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from app.commands.options import Question, SaveScenario, Top, expanded

if TYPE_CHECKING:
    from simulator.records import Trace
    from simulator.scenario.scenario import Scenario


@expanded
def predict(
    asked: Question,
    save_scenario: SaveScenario = None,
    json: Annotated[str | None, typer.Option(metavar="FILE|-", help="Write it all.")] = None,
    csv: Annotated[str | None, typer.Option(metavar="FILE|-", help="One row a kernel.")] = None,
    chrome_trace: Annotated[
        str | None, typer.Option(metavar="FILE|-", help="A timeline for ui.perfetto.dev.")
    ] = None,
    save_trace: Annotated[
        str | None,
        typer.Option(metavar="FILE|-", help="The ops: *.rpt.json, or *.rpt for msgpack."),
    ] = None,
    html: Annotated[
        str | None, typer.Option(metavar="FILE|-", help="The report with its pictures.")
    ] = None,
    measured: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A PyTorch profiler's trace of the step, to lay over."),
    ] = None,
    top: Top = 12,
    explain_fusion: Annotated[
        bool, typer.Option("--explain-fusion", help="What --mode compiled fuses, and what not.")
    ] = False,
    exact: Annotated[
        bool, typer.Option("--exact", help="Ask the real compiler what --mode compiled fuses.")
    ] = False,
    cluster: Annotated[
        str | None,
        typer.Option(
            metavar="CLUSTER",
            help="Several GPUs: 8xh200, a name (`ridgepoint clusters`) or a TOML file.",
        ),
    ] = None,
    parallel: Annotated[
        str | None,
        typer.Option(metavar="LAYOUT", help='How --cluster is used: "dp=4 tp=2 fsdp".'),
    ] = None,
) -> None:
    """How long a step takes, why, and whether it fits."""
    if cluster is not None or parallel is not None:
        _predict_parallel(asked.scenario, cluster, parallel)
        return
    from app import outputs, progress
    from app.answers import subject
    from simulator.measured.overlay import overlay
    from simulator.measured.profiler_trace import read

    texts = {
        "--json": json,
        "--csv": csv,
        "--chrome-trace": chrome_trace,
        "--save-trace": save_trace,
        "--save-scenario": save_scenario,
        "--html": html,
    }
    outputs.check_all(texts, {})
    check_trace_name("--save-trace", save_trace)
    wanted = asked.scenario
    for option, given in (("--explain-fusion", explain_fusion), ("--exact", exact)):
        if given:
            _need_compiled(option, wanted)
    profiled = read(measured) if measured else None
    with progress.shown() as step:
        found = subject.subject(wanted, step)
        p = (subject.predict_exactly if exact else subject.predict)(wanted, found, step)
    laid = overlay(p, profiled) if profiled else None
    if json:
        from app.report.exports import as_json

        outputs.write("--json", json, as_json(p, found, laid))
    if csv:
        from app.report.exports import as_csv

        outputs.write("--csv", csv, as_csv(p))
    if chrome_trace:
        from app.report.chrome_trace import as_text

        outputs.write("--chrome-trace", chrome_trace, as_text(p, found))
    if html:
        from app.answers.as_command import as_command
        from app.html.page import as_html

        outputs.write("--html", html, as_html(p, found, as_command(wanted)))
    if save_trace:
        write_trace("--save-trace", save_trace, found.trace)
    write_scenario(save_scenario, wanted)
    if outputs.STDOUT not in texts.values():
        from app.report.render import show
        from app.terminal import Terminal

        console = Terminal(highlight=False)
        show(console, p, found, top)
        if laid:
            from app.report.measured import show as show_measured

            show_measured(console, laid, top)
        if explain_fusion:
            from app.report.fusion import show as show_fusion

            show_fusion(console, p, top)


def _predict_parallel(wanted: Scenario, cluster: str | None, parallel: str | None) -> None:
    from app import progress
    from app.commands.parallel import predict_parallel, show
    from simulator.errors import InputError

    if cluster is None:
        raise InputError(
            f"--parallel {parallel!r} without --cluster: expected the GPUs to spread the step "
            "over; add --cluster 8xh200"
        )
    with progress.shown() as step:
        step("tracing each distinct rank")
        p = predict_parallel(wanted, cluster, parallel or "ddp")
    show(p, f"{wanted.network}, {parallel or 'ddp'}")


def _need_compiled(option: str, wanted: Scenario) -> None:
    from simulator.errors import InputError
    from simulator.modes import compiles
    from simulator.scenario.resolve import resolve

    found = resolve(wanted)
    if not compiles(found.mode) and not found.fusion:
        raise InputError(
            f"{option} in mode {wanted.mode!r}: expected a compiled step, in which ops are "
            "fused; add --mode compiled"
        )


@expanded
def trace(
    asked: Question,
    output: Annotated[
        str, typer.Option("-o", "--output", metavar="FILE|-", help="*.rpt.json, or *.rpt.")
    ],
) -> None:
    """Write down a network's ops, to be predicted later without torch."""
    from app import outputs, progress
    from app.answers import subject

    outputs.check("--output", output)
    check_trace_name("--output", output)
    wanted = asked.scenario
    with progress.shown() as step:
        found = subject.subject(wanted, step)
    write_trace("--output", output, found.trace)
    if output != outputs.STDOUT:
        ops = len(found.trace.ops)
        typer.echo(f"{output}: {ops:,} ops of {found.name}, as on {found.trace.gpu}")


_TRACES = (".json", ".rpt", ".msgpack")


def check_trace_name(option: str, target: str | None) -> None:
    """InputError for a name by which a saved trace would not be known again."""
    from app import outputs
    from simulator.errors import InputError

    if target not in (None, outputs.STDOUT) and Path(target).suffix not in _TRACES:
        raise InputError(
            f"{option} {target}: ends in {Path(target).suffix or 'no suffix'!r}: expected "
            ".rpt.json (text) or .rpt (msgpack); rename it"
        )


def write_trace(option: str, target: str, trace: Trace) -> None:
    """A trace to a file, or as JSON to standard output."""
    from tempfile import TemporaryDirectory

    from app import outputs
    from simulator.formats.trace_file import save

    if target != outputs.STDOUT:
        save(trace, target)
        return
    with TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json"
        save(trace, path)
        outputs.write(option, target, path.read_text("utf-8") + "\n")


def write_scenario(target: str | None, subject: Scenario) -> None:
    """A scenario as its TOML file, or to standard output."""
    if target:
        from app import outputs
        from simulator.scenario.scenario_file import text

        outputs.write("--save-scenario", target, text(subject))
