"""`ridgepoint predict` reports one scenario; `ridgepoint trace` saves its ops.

Modules of the simulator and of the reports are imported when a command runs: the help does not need
them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from app.commands.option_types import SaveScenario, Top
from app.commands.options import Question, expanded
from simulator.errors import InputError

if TYPE_CHECKING:
    from app.answers.subject import Subject
    from simulator.measured.overlay import Overlay
    from simulator.prediction import Prediction
    from simulator.records import Trace
    from simulator.scenario.scenario import Scenario


@expanded
def predict(
    question: Question,
    save_scenario: SaveScenario = None,
    json: Annotated[
        str | None, typer.Option(metavar="FILE|-", help="Write the full result as JSON.")
    ] = None,
    csv: Annotated[
        str | None, typer.Option(metavar="FILE|-", help="Write one row per kernel.")
    ] = None,
    chrome_trace: Annotated[
        str | None, typer.Option(metavar="FILE|-", help="Write a timeline for ui.perfetto.dev.")
    ] = None,
    save_trace: Annotated[
        str | None,
        typer.Option(metavar="FILE|-", help="Save the trace: *.rpt.json, or *.rpt for msgpack."),
    ] = None,
    html: Annotated[
        str | None,
        typer.Option(
            metavar="FILE|-", help="Write the report with pictures and sliders as one HTML page."
        ),
    ] = None,
    measured: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Compare with a PyTorch profiler trace of the step."),
    ] = None,
    top: Top = 12,
    explain_fusion: Annotated[
        bool,
        typer.Option(
            "--explain-fusion", help="Explain what --mode compiled fuses and what it does not."
        ),
    ] = False,
    exact: Annotated[
        bool, typer.Option("--exact", help="Take the fusions from the real compiler (Inductor).")
    ] = False,
    cluster: Annotated[
        str | None,
        typer.Option(
            "--cluster",
            metavar="CLUSTER",
            help="Predict several GPUs: 8xh200, a cluster (`ridgepoint clusters`) or a TOML file. "
            "--batch is then that of each replica.",
        ),
    ] = None,
    parallel: Annotated[
        str | None,
        typer.Option(
            metavar="LAYOUT",
            help='Parallel layout on --cluster, and what-ifs: "dp=4 tp=2 +link_speed=2".',
        ),
    ] = None,
) -> None:
    """Predict the time of a step, what limits it, and whether it fits in memory."""
    if cluster is not None or parallel is not None:
        of_one_gpu = {
            "--json": json,
            "--csv": csv,
            "--chrome-trace": chrome_trace,
            "--save-trace": save_trace,
            "--save-scenario": save_scenario,
            "--html": html,
            "--measured": measured,
            "--explain-fusion": explain_fusion,
            "--exact": exact,
        }
        _predict_parallel(question.scenario, cluster, parallel, of_one_gpu)
        return
    from app import outputs, progress
    from app.answers import subject

    files = {
        "--json": json,
        "--csv": csv,
        "--chrome-trace": chrome_trace,
        "--save-trace": save_trace,
        "--save-scenario": save_scenario,
        "--html": html,
    }
    outputs.check_all(files, {})
    check_trace_name("--save-trace", save_trace)
    scenario = question.scenario
    for option, chosen in (("--explain-fusion", explain_fusion), ("--exact", exact)):
        if chosen:
            _need_compiled(option, scenario)
    compare = _comparison_with(measured) if measured else None
    with progress.shown() as step:
        traced = subject.subject(scenario, step)
        p = (subject.predict_exactly if exact else subject.predict)(scenario, traced, step)
    comparison = compare(p) if compare else None
    _write_files(files, scenario, p, traced, comparison, exact)
    write_scenario(save_scenario, scenario)
    if outputs.STDOUT not in files.values():
        _print_report(p, traced, comparison, top, explain_fusion)


def _write_files(
    files: Mapping[str, str | None],
    scenario: Scenario,
    p: Prediction,
    traced: Subject,
    comparison: Overlay | None,
    exact: bool,
) -> None:
    """Write the files that the options name."""
    from app import outputs, progress

    if json := files["--json"]:
        from app.report.exports import as_json

        outputs.write("--json", json, as_json(p, traced, comparison))
    if csv := files["--csv"]:
        from app.report.exports import as_csv

        outputs.write("--csv", csv, as_csv(p))
    if chrome_trace := files["--chrome-trace"]:
        from app.report.chrome_trace import as_text

        outputs.write("--chrome-trace", chrome_trace, as_text(p, traced))
    if html := files["--html"]:
        from app.answers.sweeps.other_sizes import other_sizes
        from app.html.page import as_html
        from simulator.scenario.text.command import as_command

        with progress.shown() as step:
            step("predicting other batches and sequences")
            others = None if exact else other_sizes(scenario, p, traced)
        outputs.write("--html", html, as_html(p, traced, as_command(scenario), others))
    if save_trace := files["--save-trace"]:
        write_trace("--save-trace", save_trace, traced.trace)


def _print_report(
    p: Prediction, traced: Subject, comparison: Overlay | None, top: int, explain_fusion: bool
) -> None:
    """Print the report, the comparison with a measured trace, and the fusions."""
    from app.report.render import show
    from app.terminal import Terminal

    console = Terminal(highlight=False)
    show(console, p, traced, top)
    if comparison:
        from app.report.measured import show as show_measured

        show_measured(console, comparison, top)
    if explain_fusion:
        from app.report.fusion import show as show_fusion

        show_fusion(console, p, top)


def _comparison_with(measured: Path) -> Callable[[Prediction], Overlay]:
    """A comparison of predictions with a profiler trace. The trace is read at once, so that an
    unreadable file ends the command before the network is traced."""
    from simulator.measured.overlay import overlay
    from simulator.measured.profiler_trace import read

    profiled = read(measured)
    return lambda p: overlay(p, profiled)


def _predict_parallel(
    scenario: Scenario,
    cluster: str | None,
    parallel: str | None,
    of_one_gpu: Mapping[str, object],
) -> None:
    from app import progress
    from app.answers.cluster.choice import parallel_question, replica_words
    from app.report.parallel import show

    if cluster is None:
        raise InputError(
            f"--parallel {parallel!r} without --cluster: expected the GPUs to spread the step "
            "over; add --cluster 8xh200"
        )
    for option, value in of_one_gpu.items():
        if value:
            raise InputError(
                f"{option} with --cluster {cluster}: expected no such option, because it applies "
                "to one GPU only; remove it"
            )
    with progress.shown() as step:
        step("tracing each distinct rank")
        p = parallel_question(scenario, cluster, parallel or "ddp").predict()
    words = filter(None, (scenario.network, parallel or "ddp", replica_words(scenario)))
    show(p, ", ".join(words))


def _need_compiled(option: str, scenario: Scenario) -> None:
    from simulator.modes import compiles
    from simulator.scenario.resolve import resolve

    resolved = resolve(scenario)
    if not compiles(resolved.mode) and not resolved.fusion:
        raise InputError(
            f"{option} in mode {scenario.mode!r}: expected a compiled step, in which ops are "
            "fused; add --mode compiled"
        )


@expanded
def trace(
    question: Question,
    output: Annotated[
        str,
        typer.Option(
            "-o", "--output", metavar="FILE|-", help="Target: *.rpt.json, or *.rpt for msgpack."
        ),
    ],
) -> None:
    """Save a network's ops as a trace, which later predictions read without torch."""
    from app import outputs, progress
    from app.answers import subject

    outputs.check("--output", output)
    check_trace_name("--output", output)
    scenario = question.scenario
    with progress.shown() as step:
        traced = subject.subject(scenario, step)
    write_trace("--output", output, traced.trace)
    if output != outputs.STDOUT:
        ops = len(traced.trace.ops)
        typer.echo(f"{output}: {ops:,} ops of {traced.name}, traced for {traced.trace.gpu}")


_TRACES = (".json", ".rpt", ".msgpack")


def check_trace_name(option: str, target: str | None) -> None:
    """Raises InputError if a file name does not end in a suffix of a saved trace."""
    from app import outputs

    if target not in (None, outputs.STDOUT) and Path(target).suffix not in _TRACES:
        raise InputError(
            f"{option} {target}: unknown suffix {Path(target).suffix!r}: expected .rpt.json "
            "(text) or .rpt (msgpack); rename it"
        )


def write_trace(option: str, target: str, trace: Trace) -> None:
    """Write a trace to a file, or as JSON to standard output."""
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
    """Write a scenario as TOML to a file or to standard output; nothing if `target` is None."""
    if target:
        from app import outputs
        from simulator.scenario.text.file import text

        outputs.write("--save-scenario", target, text(subject))
