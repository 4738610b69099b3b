"""The lessons on several GPUs: their predictions, and the claims of their texts."""

import pytest

from app import lessons
from app.answers.cluster.answer import ClusterAnswer, cluster_answer
from app.answers.cluster.choice import ClusterChoice, ClusterQuestion
from app.lessons.cluster_words import FIGURES
from app.lessons.lesson import Lesson
from app.lessons.outcome import Outcome, compute_outcome, first_outcome
from app.lessons.words import WORDS
from tests.app.cluster_answers import ANSWER

ON_SEVERAL = {x.name[3:]: x for x in lessons.packaged() if any(s.cluster for s in x.sides)}


def test_three_lessons_are_on_several_gpus():
    assert {name: x.title for name, x in ON_SEVERAL.items()} == {
        "twice-the-gpus": "Twice the GPUs, half the time?",
        "behind-the-backward-pass": "What hides behind the backward pass",
        "the-bubble": "The bubble",
    }
    bubble = ON_SEVERAL["the-bubble"].side("c")
    assert bubble.cluster == ClusterChoice("4xh200", pp=4, more="microbatches=16")
    slow = ON_SEVERAL["behind-the-backward-pass"].side("c")
    assert slow.cluster == ClusterChoice("8xh200", dp=8, more="+link_speed=0.0625")


def test_words_are_read_off_a_step_over_several_gpus():
    """Ranks 0 to 7 wait for 10 of 100 ms, ranks 8 to 15 for 12 of 100 ms: 11% on average."""
    assert FIGURES.keys() <= WORDS.keys()
    texts = {name: WORDS[name].text(WORDS[name].of(ANSWER)) for name in FIGURES}
    assert texts == {
        "period": "100 ms", "per_sample": "3.12 ms", "throughput": "320 samples/s", "batch": "32",
        "memory": "29.8 GiB", "compute": "65%", "bytes_share": "13%", "overhead": "5.4%",
        "communication": "17%", "gpus": "16", "moving": "20.0 ms", "exposed": "15.0 ms",
        "bubble": "11%",
    }  # fmt: skip
    assert WORDS["period"].interval(ANSWER) == pytest.approx((0.09, 0.12))


def test_sides_over_several_gpus_are_predicted_by_the_given_predictor():
    emitted: list[ClusterQuestion] = []

    def on_cluster(question: ClusterQuestion, cancelled: object) -> ClusterAnswer:
        emitted.append(question)
        return ANSWER

    lesson = ON_SEVERAL["twice-the-gpus"]
    first = first_outcome(lesson, on_cluster=on_cluster)
    assert first.filled("{period} {period_b}") == "100 ms –"
    whole = compute_outcome(lesson, on_cluster=on_cluster)
    assert whole is not None and whole.whole
    assert [question.choice.cluster for question in emitted[1:]] == ["2xh200", "8xh200", "8xh200"]
    assert whole.regime("b") == "compute" and whole.regime("communication") == "communication"


ANSWERS: dict[str, Outcome] = {}


def simulated(lesson: Lesson) -> Outcome:
    if lesson.name not in ANSWERS:
        outcome = compute_outcome(lesson)
        assert outcome is not None
        ANSWERS[lesson.name] = outcome
    return ANSWERS[lesson.name]


@pytest.mark.slow
@pytest.mark.parametrize("lesson", ON_SEVERAL.values(), ids=ON_SEVERAL.keys())
def test_every_lesson_on_several_gpus_is_the_simulators_answer(lesson: Lesson):
    outcome = simulated(lesson)
    for side in lesson.sides:
        if side.cluster is not None:
            answer = cluster_answer(ClusterQuestion(side.scenario, side.cluster))
            assert outcome.figure(side.letter) == outcome.word.of(answer)
    texts = [lesson.question, lesson.explain, lesson.choice]
    texts += [t for card in lesson.cards for t in (card.name, card.figure, card.note)]
    for text in texts:
        filled = outcome.filled(text)
        assert "{" not in filled and "–" not in filled and "nan" not in filled.lower()
    assert lesson.low is not None and lesson.high is not None
    for key in lesson.asked:
        assert lesson.low <= outcome.figure(key) <= lesson.high  # the answer is on the axis


@pytest.mark.slow
def test_claims_of_the_texts_on_several_gpus():
    twice, hidden, bubble = (simulated(lesson).sides for lesson in ON_SEVERAL.values())
    overhead, batch = WORDS["overhead"], WORDS["batch"]
    assert twice["b"].period_s > 0.3 * twice["a"].period_s  # more than a quarter
    assert overhead.of(twice["b"]) > overhead.of(twice["a"])
    assert batch.of(twice["a"]) == batch.of(twice["b"]) == 16
    exposed, moving = WORDS["exposed"], WORDS["moving"]
    assert exposed.of(hidden["b"]) < 0.5 * moving.of(hidden["b"])
    assert moving.of(hidden["c"]) > 5 * moving.of(hidden["b"])
    more_s = hidden["c"].period_s - hidden["b"].period_s
    assert exposed.of(hidden["c"]) - exposed.of(hidden["b"]) <= more_s < moving.of(hidden["c"])
    waits = [WORDS["bubble"].of(bubble[letter]) for letter in "bac"]
    assert waits == sorted(waits, reverse=True)
