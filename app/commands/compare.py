"""`ridgepoint compare`: two to four scenarios side by side, and the changes from A to each.

Modules of the simulator and of the reports are imported when the command runs: the help does not
need them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

import typer

from app.commands.option_types import (
    Batch,
    DataSizes,
    Gpu,
    Host,
    HostMode,
    OptimizerName,
    Precision,
    Seq,
    Sizes,
    StatedCosts,
    Top,
    Train,
    With,
)
from app.commands.options import Options, changed, expanded, options, whatif_words
from app.commands.written import Written
from simulator.errors import InputError

if TYPE_CHECKING:
    from app.drawing import Drawing, Metrics
    from simulator.scenario.scenario import Scenario


Sides = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="SCENARIO|+WHAT-IF",
        help="Scenario files (*.toml) or networks, each followed by its what-ifs; options apply to "
        "all of them.",
    ),
]


@dataclass(frozen=True)
class NamedScenario:
    """A scenario with the name under which it is compared."""

    name: str
    scenario: Scenario


@expanded
def compare(
    written: Written,
    scenarios: Sides = None,
    variant: With = None,
    gpu: Gpu = None,
    host: Host = None,
    batch: Batch = None,
    seq: Seq = None,
    dtype: Precision = None,
    train: Train = None,
    optimizer: OptimizerName = None,
    mode: HostMode = None,
    size: Sizes = None,
    data_size: DataSizes = None,
    op: StatedCosts = None,
    top: Top = 8,
) -> None:
    """Compare up to four scenarios: each change's effect, the kernels and regimes that changed."""
    from app import progress
    from app.answers.changed_labels import relabelled
    from app.answers.subject import subject
    from app.report.comparisons import comparison as report
    from simulator.analysis.compare import compare as run
    from simulator.analysis.compare import comparison_predictions

    written.check()
    fields = options(gpu, host, batch, seq, dtype, train, optimizer, mode, size, data_size, op)
    sides = sides_of(scenarios or [], variant or [], fields)
    names, compared = tuple(side.name for side in sides), [side.scenario for side in sides]
    with progress.shown() as step:
        subjects = [subject(scenario, step) for scenario in compared]
        total = comparison_predictions(compared)
        comparison = run(compared, progress.counted(step, "scenarios", total))
    falls = tuple(relabelled(fall, *compared) for fall in comparison.waterfalls)
    comparison = replace(comparison, waterfalls=falls)

    def page(metrics: Metrics) -> Drawing:
        from app.charts.waterfall.waterfall import (
            comparison_page,
        )  # imported only to draw a picture

        return comparison_page(comparison, names, metrics)

    written.write(
        lambda: report.document(comparison, names, subjects),
        lambda: report.as_csv(comparison),
        page,
    )
    if written.printed:
        report.show(comparison, names, subjects, top)


def sides_of(words: list[str], variants: list[str], fields: Options) -> tuple[NamedScenario, ...]:
    """Collect the scenarios of a command line. Raises InputError unless there are 2 to 4."""
    from simulator.analysis.compare import MOST

    sides: list[NamedScenario] = []
    for word in words:
        if not word.startswith("+"):
            from_file = word.lower().endswith(".toml")
            sides.append(
                NamedScenario(word, fields.override(word) if from_file else fields.scenario(word))
            )
        elif not sides:
            raise InputError(
                f"{word} comes first: expected a network or a scenario file before it; add one"
            )
        else:
            last = sides.pop()
            sides.append(NamedScenario(f"{last.name} {word}", changed(last.scenario, (word,))))
    if variants and not sides:
        raise InputError(
            "--with without a scenario: expected a scenario to vary; name a network or a file"
        )
    for text in variants:
        words_of = whatif_words(text)
        sides.append(NamedScenario(" ".join(words_of), changed(sides[0].scenario, words_of)))
    if not 2 <= len(sides) <= MOST:
        count = f"{len(sides)} scenario{'' if len(sides) == 1 else 's'}"
        raise InputError(
            f'{count}: expected 2 to {MOST}: files, networks, or --with "+cuda_graph"; '
            f"{'add' if len(sides) < 2 else 'remove'} some"
        )
    return tuple(sides)
