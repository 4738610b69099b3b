"""`ridgepoint whatif`: the step before and after, with each change alone and all together.

Modules of the simulator and of the reports are imported when the command runs: the help does not
need them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.commands.option_types import SaveScenario, Top
from app.commands.options import Question, changed, expanded
from app.commands.predict import write_scenario
from app.commands.written import Written
from simulator.errors import InputError

if TYPE_CHECKING:
    from app.drawing import Drawing, Metrics
    from simulator.scenario.scenario import Scenario


@expanded
def whatif(
    question: Question, written: Written, save_scenario: SaveScenario = None, top: Top = 8
) -> None:
    """Apply what-ifs: before and after, each change alone and all together."""
    from app import outputs, progress
    from app.answers.changed_labels import relabelled
    from app.answers.figures import title
    from app.answers.subject import subject
    from app.report.comparisons import whatif as report
    from simulator.analysis.compare import waterfall

    written.check(save_scenario=save_scenario)
    before, after, idle = sides_of(question)
    with progress.shown() as step:
        subjects = subject(before, step), subject(after, step)
        fall = waterfall(before, after, progress.counted(step, "changes"))
    fall = relabelled(fall, before, after)

    def page(metrics: Metrics) -> Drawing:
        from app.charts.waterfall.waterfall import waterfall_page  # imported only to draw a picture

        return waterfall_page(fall, title(fall.a, subjects[0]), ("baseline", "changed"), metrics)

    written.write(lambda: report.document(fall, subjects), lambda: report.as_csv(fall), page)
    write_scenario(save_scenario, after)
    if written.printed and save_scenario != outputs.STDOUT:
        report.show(fall, subjects, idle, top)


def sides_of(question: Question) -> tuple[Scenario, Scenario, tuple[str, ...]]:
    """Return the scenario before and after, and the changes that have no effect.

    If the command line has no what-ifs, those of the scenario file are the changes.
    """
    if question.changes:
        before, after, idle = question.base, question.base, list[str]()
        for text in question.changes:
            following = changed(after, (text,))
            if following == after:
                idle.append(text)
            after = following
        return before, after, tuple(idle)
    if question.base.whatifs:
        return question.base.baseline, question.base, ()
    raise InputError(
        "no what-ifs: expected some after the network, such as +cuda_graph or +precision=fp16; "
        "`ridgepoint whatifs` lists them"
    )
