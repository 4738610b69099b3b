"""Tasks of lessons: how they are read, when they are reached, and that the packaged ones are
reachable."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.lessons import lesson_file, packaged
from app.lessons.pack import pack_text, read_all
from app.scenes.lessons.task import target_words, task_progress
from simulator.errors import InputError
from simulator.scenario.apply import apply
from simulator.scenario.scenario import Scenario, predict
from simulator.scenario.text.whatif import parse

TOP = """format = "ridgepoint-lesson"
version = 1
title = "The title"
question = "How long?"
explain = "So long."
a = { network = "mlp-tiny", batch = 32 }
"""
TASK = """[task]
do = "Faster."
"""


def _lesson(tmp_path: Path, text: str) -> Any:
    path = tmp_path / "one.toml"
    path.write_text(text, "utf-8")
    return lesson_file.read(path)


@pytest.mark.parametrize("lesson", [x for x in packaged() if x.task], ids=lambda x: x.name)
def test_the_shipped_tasks_are_open_at_first_and_their_solutions_reach_them(lesson: Any):
    begin = lesson.side(lesson.opens).scenario
    first = task_progress(lesson, begin, predict(begin))
    solved = lesson.task.solution
    assert solved is not None, "task has no solution: expected one in the lesson's file"
    then = task_progress(lesson, solved, predict(solved))
    assert first is not None and not first.reached and not first.changed
    assert then is not None and then.reached and then.words.startswith("reached: ")


def test_a_target_is_met_up_to_its_bounds_and_only_with_what_the_task_keeps(tmp_path: Path):
    p = predict(Scenario("mlp-tiny", batch=32))
    bounds = f'figure = "period"\nat_least = {p.period_s!r}\nat_most = {p.period_s!r}\n'
    lesson = _lesson(tmp_path, TOP + TASK + bounds + 'keep = ["batch"]\n')
    begin = lesson.side("a").scenario
    assert task_progress(lesson, begin, p).reached  # pyright: ignore
    changed = replace(begin, batch=64, network="lenet")
    progress = task_progress(lesson, changed, p)
    assert progress is not None and not progress.reached
    assert progress.changed == ("network", "batch")
    assert progress.words.endswith(", but the task requires the original network and batch")
    slower = replace(p, period_s=1.001 * p.period_s)
    assert not task_progress(lesson, begin, slower).reached  # pyright: ignore


def test_a_task_asks_for_a_figure_and_a_regime(tmp_path: Path):
    lesson = _lesson(
        tmp_path,
        TOP + TASK + 'figure = "throughput"\nat_least = 2000\nregime = "compute"\n',
    )
    assert target_words(lesson.task) == "samples per second at least 2,000 samples/s, compute-bound"
    p = predict(lesson.side("a").scenario)
    fast = replace(p, period_s=32 / 2000)
    expected = f"now 2,000 samples/s, {p.regime}-bound"
    assert p.regime != "compute"
    assert task_progress(lesson, lesson.side("a").scenario, fast).words == expected  # pyright: ignore


def test_a_solution_is_the_opened_side_with_its_changes(tmp_path: Path):
    side = 'opens = "b"\nb = { mode = "cuda_graph", whatif = ["+bandwidth=2"] }\n'
    changes = 'solution = { batch = 64, sizes = { width = 512 }, whatif = ["+fp8"] }\n'
    task = _lesson(tmp_path, TOP + side + TASK + 'regime = "compute"\n' + changes).task
    begin = Scenario("mlp-tiny", batch=64, mode="cuda_graph", sizes={"width": 512})
    assert task.solution == apply(apply(begin, *parse("+bandwidth=2")), *parse("+fp8"))
    assert _lesson(tmp_path, TOP + TASK + 'regime = "compute"\n').task.solution is None


def test_a_lesson_without_a_task_has_no_progress(tmp_path: Path):
    lesson = _lesson(tmp_path, TOP)
    begin = lesson.side("a").scenario
    assert task_progress(lesson, begin, predict(begin)) is None


@pytest.mark.parametrize("text, words", [
    ("", "task has no target: expected regime, or figure with at_least or at_most; add one"),
    ('figure = "period"\n', "task has no target: "),
    ('figure = "perod"\nat_most = 1\n', "task.figure is 'perod': expected one of period, "),
    ('figure = "period"\nat_most = 1\nat_least = 2\n', "task has the bounds 2, 1: "),
    ('figure = "period"\nat_most = -1\n', "task has the bounds -1: "),
    ('regime = "network"\n', "task.regime is 'network': expected compute or memory or overhead; "),
    ('regime = "compute"\nkeep = ["colour"]\n', "task.keep names 'colour': expected some of "),
    ('regime = "compute"\nreach = 1\n', "unknown key 'reach' in task: "),
    ('regime = "compute"\nsolution = { batch = 0 }\n', "task.solution: "),
    ('regime = "compute"\nsolution = { bach = 8 }\n',
     "unknown key 'bach' in task.solution: did you mean 'batch'?"),
    ('regime = "compute"\nsolution = { network = "lenet" }\n', "unknown key 'network' in task."),
    ('regime = "compute"\nsolution = { mode = "fast" }\n', "task.solution.mode is 'fast': "),
    ('regime = "compute"\nsolution = 64\n', "task.solution must be a table, not a whole number"),
    ('regime = "compute"\nkeep = ["batch"]\nsolution = { batch = 64 }\n',
     "task.solution changes batch, which task.keep lists: expected other changes; correct either"),
])  # fmt: skip
def test_wrong_tasks(text: str, words: str, tmp_path: Path):
    with pytest.raises(InputError) as error:
        _lesson(tmp_path, TOP + TASK + text)
    assert words in str(error.value)


def test_tasks_have_plain_sentences_and_one_gpu(tmp_path: Path):
    with pytest.raises(InputError, match="expected a sentence of at most 300 characters"):
        _lesson(tmp_path, TOP + '[task]\ndo = "Below {period}."\nregime = "compute"\n')
    clustered = TOP.replace("batch = 32", 'batch = 32, cluster = "2xh200"')
    with pytest.raises(InputError, match=r"task: \[a\] has a cluster"):
        _lesson(tmp_path, clustered + TASK + 'regime = "compute"\n')
    with pytest.raises(InputError, match="minutes"):
        _lesson(tmp_path, "minutes = 0\n" + TOP)


def test_chosen_lessons_are_packed_with_their_tasks(tmp_path: Path):
    folder = Path(lesson_file.__file__).parent
    names = [lesson.name for lesson in packaged() if lesson.task]
    path = tmp_path / "pack.toml"
    path.write_text(pack_text("Pack", sorted(folder.glob("*.toml")), names), "utf-8")
    shipped = {lesson.name: lesson for lesson in packaged()}
    assert [replace(x, name="") for x in read_all(path)] == [
        replace(shipped[name], name="") for name in names
    ]
