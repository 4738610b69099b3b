"""Lessons: the packaged ones, the keys of their files, and their predictions."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

import pytest

from app import lessons
from app.lessons.lesson import Lesson
from app.lessons.lesson_file import read
from app.lessons.outcome import Outcome, compute_outcome, first_outcome
from app.lessons.words import WORDS
from simulator.errors import InputError
from simulator.prediction import Prediction
from simulator.scenario import trace_source
from simulator.scenario.scenario import Applied, Scenario, predict

Answer = TypeVar("Answer")
PACKAGED = lessons.packaged()
ON_ONE_GPU = tuple(x for x in PACKAGED if all(side.cluster is None for side in x.sides))
TOP = """format = "ridgepoint-lesson"
version = 1
title = "T"
question = "Eager it takes {period}."
explain = "In a graph {period_b}: {faster_b}, {times_kernels_b} times the kernels."
"""
SIDES = """a = { network = "mlp-tiny", batch = 4 }
b = { mode = "cuda_graph" }
"""


@pytest.fixture
def from_files():
    """Predict from packaged traces only, as a process without torch does."""
    trace_source.forget()
    trace_source.trace_elsewhere()
    yield
    trace_source.trace_elsewhere(False)


ANSWERS: dict[str, Outcome] = {}


def simulated(lesson: Lesson) -> Outcome:
    if lesson.name not in ANSWERS:
        outcome = compute_outcome(lesson)
        assert outcome is not None
        ANSWERS[lesson.name] = outcome
    return ANSWERS[lesson.name]


def predicted(scenario: Scenario) -> Prediction:
    return predict(scenario)


def written(folder: Path, text: str) -> Path:
    path = folder / "mine.toml"
    path.write_text(text, "utf-8")
    return path


def test_the_packaged_lessons_are_numbered_without_gaps_and_titled_apart():
    count = len(list(lessons.FOLDER.glob("*.toml")))
    assert [lesson.name[:2] for lesson in PACKAGED] == [f"{n:02}" for n in range(1, count + 1)]
    assert len({lesson.title for lesson in PACKAGED}) == count >= 14


@pytest.mark.parametrize("lesson", ON_ONE_GPU, ids=lambda lesson: lesson.name)
def test_every_packaged_lesson_is_answered_from_packaged_traces(from_files: None, lesson: Lesson):
    rows = simulated(lesson)
    assert rows.whole
    for side in lesson.sides:
        p = predicted(side.scenario)
        assert rows.sides[side.letter].period_s == p.period_s
        assert rows.figure(side.letter) == rows.word.of(p)
    texts = [lesson.question, lesson.explain, lesson.choice]
    texts += [t for card in (*lesson.cards, *lesson.points) for t in (card.name, card.figure)]
    for text in texts:
        filled = rows.filled(text)
        assert "{" not in filled and "–" not in filled and "nan" not in filled.lower()
    low, high = lesson.low, lesson.high
    for key in lesson.asked if lesson.guess and lesson.line is None else ():
        assert low is not None and high is not None
        assert low <= rows.figure(key) <= high  # the answer is on the axis


def test_claims_of_the_packaged_texts(from_files: None):
    outcomes = {lesson.name[3:]: simulated(lesson) for lesson in ON_ONE_GPU}
    period = {name: {s: p.period_s for s, p in o.sides.items()} for name, o in outcomes.items()}
    regimes = [outcomes["three-regimes"].sides[letter].regime for letter in "abc"]
    assert regimes == ["overhead", "compute", "memory"]
    cosines = period["one-cosine-and-two"]
    assert cosines["b"] < 1.25 * cosines["a"] and cosines["c"] > 1.6 * cosines["a"]
    change = outcomes["intensity"].change
    assert change is not None and (change.before, change.after) == ("memory", "compute")
    small = outcomes["two-tenths-of-a-percent"].sides["a"]
    assert WORDS["other_flops"].of(small) < 0.005 < 0.15 < WORDS["other_time"].of(small)
    shift = outcomes["one-sentence-or-sixty"].change
    assert shift is not None and shift.before == "overhead" and shift.exact
    assert period["one-sentence-or-sixty"]["b"] < 1.1 * period["one-sentence-or-sixty"]["a"]
    assert period["cuda-graph"]["b"] < period["cuda-graph"]["a"] / 3
    assert period["faster-gpu"]["b"] > 0.97 * period["faster-gpu"]["a"]
    assert period["faster-gpu"]["d"] < 0.8 * period["faster-gpu"]["c"]
    stored, again = (outcomes["recompute"].sides[letter] for letter in "ab")
    assert again.flops > stored.flops and again.period_s < stored.period_s
    assert again.peak_memory_bytes < 0.6 * stored.peak_memory_bytes
    assert outcomes["recompute"].right == "b"
    assert period["precision"]["b"] < period["precision"]["a"] / 4
    assert {p.regime for p in outcomes["readers"].sides.values()} == {"memory"}
    card = period["cheapest-card"]
    assert card["a"] < 0.05 < card["b"] and card["c"] + card["d"] < 0.05
    sides = outcomes["cheapest-card"].sides
    assert (sides["a"].regime, sides["b"].regime) == ("memory", "compute")


def test_the_sweep_of_a_lesson_is_its_predictions(from_files: None):
    rows = simulated(next(x for x in PACKAGED if x.name == "05-one-sentence-or-sixty"))
    p = predicted(Scenario("bert-base", batch=32, seq=128, dtype="bf16"))
    assert rows.at(32) == pytest.approx(p.period_s, rel=1e-9)
    interval = rows.interval(32)
    assert interval and interval == pytest.approx(p.interval_s, rel=1e-9)
    rows = simulated(next(x for x in PACKAGED if x.name == "03-intensity"))
    p = predicted(Scenario("multiply-adds", batch=4, mode="compiled", sizes={"n": 8}))
    # 2 FLOPs for each of 8 multiply-adds, on 4 · 16,777,216 numbers
    assert p.flops == 2 * 8 * 4 * 16_777_216
    assert rows.at(8) == pytest.approx(p.flops / p.period_s, rel=1e-9)


def test_a_lesson_takes_seven_lines(tmp_path: Path):
    lesson = read(written(tmp_path, TOP + SIDES))
    assert lesson.guess == "period" and lesson.asked == ("b",)
    assert lesson.side("b").scenario == Scenario("mlp-tiny", batch=4, mode="cuda_graph")
    before, revealed = first_outcome(lesson), compute_outcome(lesson)
    assert revealed is not None
    eager, graph = (revealed.sides[letter] for letter in "ab")
    assert before.filled(lesson.question) == revealed.filled(lesson.question)
    assert before.filled("{period_b}") == "–"
    assert eager.kernel_count == graph.kernel_count
    assert revealed.filled("{times_kernels_b} {kernels}") == f"1 {eager.kernel_count}"
    assert revealed.filled("{faster_b}").endswith(" times faster")


def test_sides_state_their_differences_from_the_first(tmp_path: Path):
    lesson = read(
        written(
            tmp_path,
            TOP
            + """
[a]
network = "chain"
batch = 2
sizes = { n = 2, elements = 64 }
whatif = ["+bandwidth=2"]
[b]
sizes = { n = 3 }
whatif = ["+tensor_peak=2"]
[c]
network = "mlp-tiny"
""",
        )
    )
    wide, peak = Applied("bandwidth", {"times": 2}), Applied("tensor_peak", {"times": 2})
    sizes = {"n": 3, "elements": 64}
    assert lesson.side("b").scenario == Scenario(
        "chain", batch=2, sizes=sizes, whatifs=(wide, peak)
    )
    assert lesson.side("c").scenario == Scenario("mlp-tiny")


LINE = 'over = "batch"\nvalues = [4, 8]\n'
WRONG = {
    "title = \n": "not TOML: Invalid value (at line 1, column 9); expected lines such as "
    '`title = "…"`; correct the file',
    TOP.replace("version = 1", "version = 2") + SIDES: "version is 2: expected 1; set it",
    TOP.replace('title = "T"\n', "") + SIDES: "'title' is missing: expected format, version, "
    "title, question, explain and [a]; add it",
    TOP + 'gues = "period"\n' + SIDES: "unknown key 'gues': did you mean 'guess'? correct or "
    "remove it",
    TOP + 'a = { network = "chain", bach = 2 }\nb = {}\n': "unknown key 'bach' in a: did you mean "
    "'batch'? correct or remove it",
    TOP + 'a = { network = "chain", batch = "2" }': "a.batch must be a whole number, not a text; "
    "correct it",
    TOP + "a = {}\nb = {}": "a.network is missing: expected a network's name, such as "
    '"bert-base"; add it',
    TOP + 'a = { network = "chan" }\nb = {}': "[a] unknown network 'chan': did you mean 'chain'? "
    "`ridgepoint networks` lists all",
    TOP + 'a = { network = "chain" }\nb = { whatif = ["+bandwith=2"] }': "[b] unknown what-if "
    "'bandwith': did you mean 'bandwidth' or 'l2_bandwidth'?",
    TOP + 'guess = "speed"\n' + SIDES: "guess is 'speed': expected a figure (",
    TOP + 'guess = "shift"\n' + SIDES: "or shift with an axis in `over`; choose one",
    TOP.replace("{period}", "{periods}")
    + SIDES: "question has {periods}, which is not a placeholder: did you mean {period}?",
    TOP.replace("{period}", "{period_b}") + SIDES: "question has {period_b}, which would give "
    "the answer away: expected figures of side a",
    TOP.replace("{period_b}", "{period_c}") + SIDES: "explain has {period_c}, but there is no side "
    "[c]; add it",
    TOP.replace("{period_b}", "{shift}") + SIDES: "explain has {shift}: expected an axis in `over`",
    TOP + 'ask = ["d"]\n' + SIDES: "ask names 'd': expected one of a, b",
    TOP + "values = [1, 2]\n" + SIDES: "values without an axis: expected `over`, such as",
    TOP + 'over = "gpu"\nvalues = [1, 2]\n' + SIDES: "over is 'gpu': expected an axis of whole",
    TOP + LINE.replace("4", "2") + SIDES: "values begin at 2, but a.batch is 4: expected the "
    "same number; change one",
    TOP + LINE + "markers = [5]\n" + SIDES: "markers has 5: expected some of `values`",
    TOP + "low = 2.0\nhigh = 1.0\n" + SIDES: "low is 2: expected less than high, 1",
    TOP + 'title2 = "' + "x" * 40_000 + '"': (
        "too large: expected 32768 bytes and lines of 2000 at most; check that it is a lesson"
    ),
    TOP.replace("Eager", "x" * 1300) + SIDES: "characters: expected at most 1200",
    TOP
    + 'a = { network = "chain" }\nb = { mode = "cudagraph" }': "b.mode is 'cudagraph': expected "
    "eager or cuda_graph or compiled or reduce-overhead",
    TOP.replace("ridgepoint-lesson", "lesson") + SIDES: "format is 'lesson': expected "
    "ridgepoint-lesson; correct it",
    TOP + 'choose = "colour"\n' + SIDES: "choose is 'colour': expected ",
    TOP.replace("{period}", "{period") + SIDES: "question has an unmatched brace at '{",
    TOP
    + 'over = "batch"\nvalues = [-1, 4]\n'
    + SIDES: "values has -1: expected whole numbers of at least 1",
    TOP + SIDES.replace("4 }", '4, parallel = "tp=2" }'): "[a] parallel is 'tp=2' without a "
    'cluster: expected a cluster, such as cluster = "8xh200"; add it',
    TOP + SIDES.replace("cuda_graph", 'eager", cluster = "9xh200'): "[b] cluster '9xh200': 9 GPUs",
    TOP + SIDES.replace("cuda_graph", 'eager", cluster = "2xh200'): "{times_kernels_b} of [b], "
    "which has a cluster: expected one of period, per_sample",
    TOP.replace("{times_kernels_b}", "")
    + 'guess = "host"\n'
    + SIDES.replace("cuda_graph", 'eager", cluster = "2xh200'): "guess is 'host', but [b] has a "
    "cluster: expected one of period",
    TOP + LINE + SIDES.replace("4 }", '4, cluster = "2xh200" }'): "over is 'batch', but [a] has a "
    "cluster: expected one GPU; remove either",
    TOP + SIDES + "[[card]]\n" * 5: "card[0] has no name: expected one with its figure; add it",
    TOP + SIDES + '[[card]]\nname = "n"\nregime = "c"\n': "regime is 'c': expected one of a, b",
    TOP + SIDES + '[[card]]\nname = "{__import__}"\n': "card[1].name has {__import__}, which is no",
}


@pytest.mark.parametrize("text", WRONG, ids=range(len(WRONG)))
def test_the_error_of_a_malformed_file_has_the_value_and_a_remedy(tmp_path: Path, text: str):
    path = written(tmp_path, text)
    with pytest.raises(InputError) as refused:
        read(path)
    assert str(refused.value).startswith(f"{path}: ") and WRONG[text] in str(refused.value)


def test_a_users_folder_comes_last_and_its_errors_are_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv(lessons.FOLDER_VARIABLE, str(tmp_path))
    written(tmp_path, TOP + SIDES)
    (tmp_path / "other.toml").write_text("format = 1\n", "utf-8")
    read, wrong = lessons.lessons()
    assert [lesson.name for lesson in read[-2:]] == [PACKAGED[-1].name, "mine"]
    assert len(wrong) == 1 and wrong[0].startswith(f"{tmp_path / 'other.toml'}: format must be ")


def test_the_time_at_the_peak_is_that_of_the_written_flops():
    """28.5 GFLOP at 989 TFLOP/s are 28.8 us; with vector ops at their own peak it would be 29.5
    us."""
    step = Scenario("bert-base", gpu="h200", batch=1, seq=128, dtype="bf16")
    p = predicted(step)
    assert WORDS["at_peak"].of(p) == pytest.approx(28.5e9 / 989.4e12, rel=2e-3)
    assert WORDS["utilisation"].of(p) == WORDS["at_peak"].of(p) / p.period_s
    chain = predicted(Scenario("chain", gpu="h200", batch=4))
    assert WORDS["at_peak"].of(chain) > 0.0  # the step has no product
