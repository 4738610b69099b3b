"""A batch from advice becomes the scenario's own batch."""

from app.answers.own_batch import with_own_batch
from app.lessons import packaged
from app.scenes.lessons.task import task_progress
from simulator.scenario.apply import apply
from simulator.scenario.scenario import Applied, Scenario, predict

GRAPH = Applied("cuda_graph", {})


def batch(samples: int) -> Applied:
    return Applied("batch", {"samples": samples})


def test_the_batch_moves_into_the_scenario() -> None:
    before = Scenario("bert-base", batch=32, whatifs=(GRAPH, batch(128)))
    assert with_own_batch(before) == Scenario("bert-base", batch=128, whatifs=(GRAPH,))


def test_an_earlier_batch_disappears() -> None:
    before = Scenario("bert-base", whatifs=(batch(64), GRAPH, batch(128)))
    assert with_own_batch(before) == Scenario("bert-base", batch=128, whatifs=(GRAPH,))


def test_the_batch_of_another_network_remains_a_what_if() -> None:
    """+network resets the batch, so that a batch before it would be lost."""
    before = Scenario("bert-base", whatifs=(Applied("network", {"to": "gpt2"}), batch(128)))
    assert with_own_batch(before) is before


def test_other_what_ifs_change_nothing() -> None:
    for whatifs in ((), (GRAPH,), (batch(64), GRAPH)):
        before = Scenario("bert-base", whatifs=whatifs)
        assert with_own_batch(before) is before


def test_the_advice_of_a_larger_batch_solves_the_task_of_lesson_5() -> None:
    lesson = next(each for each in packaged() if each.name == "05-one-sentence-or-sixty")
    begin = lesson.side(lesson.opens).scenario
    advised = apply(begin, "batch", {"samples": 128})
    after = with_own_batch(advised)
    progress = task_progress(lesson, after, predict(after))
    assert progress is not None and progress.reached
    assert progress.words == "reached: compute-bound"
