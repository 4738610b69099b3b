"""`ridgepoint sweep`: one axis with its regime shifts, or a design of several axes into a file.

Modules of the simulator and of the reports are imported when the command runs: the help does not
need them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from app.commands.cores import cores
from app.commands.option_types import With
from app.commands.options import Question, changed, expanded, whatif_words
from app.commands.written import Written
from simulator.errors import InputError

if TYPE_CHECKING:
    from app.drawing import Drawing, Metrics
    from simulator.analysis.design.design import Design

MOST_VARIANTS = 3
_ENGINE = "local"

Over = Annotated[
    list[str] | None,
    typer.Option(
        metavar="AXIS[=VALUES]",
        help="The axis: batch (the default), batch=1:512, seq=128:4096:6, gpu=h100,h200, any "
        "what-if or size; with --into, repeat it; 'whatifs=none;+cuda_graph' is an axis too.",
    ),
]
Into = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="Predict all combinations of the axes, or of the design file (.toml) passed as "
        "NETWORK, and append a row for each to FILE; run the command again to continue it.",
    ),
]
Parquet = Annotated[
    str | None, typer.Option(metavar="FILE", help="With --into: write one row per combination.")
]
EngineName = Annotated[
    str,
    typer.Option(
        "--engine",
        metavar="ENGINE",
        help="With --into: local, dask://HOST:PORT, ray (started locally) or ray://HOST:PORT.",
    ),
]
Workers = Annotated[
    int, typer.Option(min=0, help="With --into: local processes; 0 means one per core.")
]
Sample = Annotated[
    int | None,
    typer.Option(min=1, help="With --into: size of a random sample of the combinations."),
]
Seed = Annotated[int | None, typer.Option(min=0, help="With --sample: the random seed.")]


@expanded
def sweep(
    question: Question,
    written: Written,
    over: Over = None,
    variant: With = None,
    into: Into = None,
    sample: Sample = None,
    seed: Seed = None,
    parquet: Parquet = None,
    engine: EngineName = _ENGINE,
    workers: Workers = 0,
) -> None:
    """Sweep one axis, such as batch or sequence length: time, throughput and shares.

    With --into, sweep all combinations of several axes, on all cores or on a cluster.
    """
    file = question.base.network if question.base.network.endswith(".toml") else None
    if into is None:
        alone = {"--sample": sample, "--parquet": parquet, "several --over": len(over or []) > 1}
        alone |= {"a design": file, "--engine": engine != _ENGINE, "--workers": workers}
        alone |= {"--seed": seed is not None}
        if needing := next((name for name, given in alone.items() if given), None):
            raise InputError(f"{needing} without --into: expected a file for the rows; add --into")
        _one_axis(question, written, (over or ["batch"])[0], variant or [])
        return
    plain = {"--with": variant, "--json": written.json, "--png": written.png, "--svg": written.svg}
    if refused := next((name for name, given in plain.items() if given), None):
        raise InputError(
            f"--into and {refused} are both given: expected --csv or --parquet with --into; "
            "remove one"
        )
    _check_into(into, sample, seed, file, engine, workers)
    from app.answers.sweeps.design import of_options, read
    from simulator.scenario.scenario import Scenario

    if file is None:
        chosen = of_options(question.scenario, over or ["batch"], sample, seed or 0)
    elif question != Question(Scenario(file)) or over or sample or seed is not None:
        raise InputError(
            f"{file} and other options of the design are both given: expected the file alone; "
            "write them into it"
        )
    else:
        chosen = read(Path(file))
    _design(chosen, written, Path(into), parquet, engine, workers)


def _check_into(
    into: str,
    sample: int | None,
    seed: int | None,
    file: str | None,
    engine: str,
    workers: int,
) -> None:
    """Raise InputError for standard output as the file of rows, and for options without effect."""
    if into == "-":
        raise InputError(
            "--into -: expected a file name, because a later run continues from the rows of the "
            "file; name one, and add --csv - to print the rows"
        )
    if seed is not None and sample is None and file is None:
        raise InputError(
            "--seed without --sample: expected the number of combinations to draw; add --sample, "
            "or remove --seed"
        )
    if workers and "://" in engine:
        raise InputError(
            f"--workers with --engine {engine}: expected --workers only with local or ray, because "
            "a cluster starts its own workers; remove it"
        )


def _design(
    design: Design,
    written: Written,
    into: Path,
    parquet: str | None,
    engine_name: str,
    workers: int,
) -> None:
    from app import outputs, progress
    from app.quantities import seconds
    from app.report.sweeps import design as report
    from simulator.analysis.design.design import summed
    from simulator.analysis.design.engines import engine
    from simulator.analysis.design.rows_file import RowsFile
    from simulator.analysis.design.run import run

    outputs.check_all({"--csv": written.csv, "--parquet": parquet, "--into": f"{into}"}, {})
    if parquet:
        report.need_parquet()
    where = engine(engine_name, workers or cores())
    with RowsFile(into, design) as file, progress.shown() as step:
        run(
            file,
            where,
            lambda done, total, left_s: step(f"{done:,} of {total:,} rows, {seconds(left_s)} left"),
            engine_name,
        )
        rows = summed(file.parts)
        damaged = file.damaged
    if written.csv:
        outputs.write("--csv", written.csv, report.as_csv(design, rows))
    if parquet:
        outputs.put("--parquet", parquet, lambda part: report.write_parquet(part, design, rows))
    if written.printed:
        report.show(design, rows, into, damaged)


def _one_axis(question: Question, written: Written, over: str, variant: list[str]) -> None:
    from app import progress
    from app.answers.subject import heading_of, subject
    from app.answers.sweeps.axes import line
    from app.answers.sweeps.sweep import swept
    from app.report.sweeps import sweep as report

    written.check()
    scenario = question.scenario
    variants = {"baseline": scenario}
    for text in variant:
        variants[" ".join(whatif_words(text))] = changed(scenario, whatif_words(text))
    if len(variants) > 1 + MOST_VARIANTS:
        raise InputError(f"{len(variants) - 1} variants: expected at most {MOST_VARIANTS} --with")
    with progress.shown() as step:
        axis = line(scenario, over)
        heading = heading_of(subject(scenario, step), scenario, (axis.name,))
        result = swept(variants, axis, step)

    def page(metrics: Metrics) -> Drawing:
        from app.charts.sweep.page import sweep_page  # imported only to draw a picture

        return sweep_page(result, heading, metrics)

    written.write(lambda: report.document(result, heading), lambda: report.as_csv(result), page)
    if written.printed:
        report.show(result, heading)
