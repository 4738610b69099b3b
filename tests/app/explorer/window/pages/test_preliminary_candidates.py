"""Until a plan is complete, its candidates have no verdict and their queue is not simulated."""

from dataclasses import replace

import pytest

from app.answers.plan.planned import Planned, candidate_of
from app.answers.plan.words import status_words
from app.drawing.items import Text
from app.explorer.window.window import Window
from app.views.plan.front import CostAgainstSpeed
from app.views.plan.queue import TheQueue
from simulator.planning.result import Row
from tests.app.explorer.window.plan_driver import answer

ROW = Row("l40s", "L40S", 1, "vllm", "bf16", "fits", first_token_s=0.1, per_token_s=0.02)


def shown_in_every_view(window: Window, planned: Planned) -> None:
    page = window.pages.plan
    page.bar.put(planned)
    for _, view in page.views:
        view.show_plan(planned)


def queue_of(window: Window) -> TheQueue:
    return next(v for _, v in window.pages.plan.views if isinstance(v, TheQueue))


def test_a_simulated_candidate_is_preliminary_until_its_plan_is_complete() -> None:
    assert status_words(ROW) == "fits"
    assert status_words(replace(ROW, status="uncertain", chance=0.67)) == "67% sure"
    for status in ("fits", "uncertain", "too slow"):
        assert status_words(replace(ROW, status=status), complete=False) == "preliminary"
    final = replace(ROW, status="overloaded", first_token_s=None)
    assert status_words(final, complete=False) == "overloaded"


def test_no_panel_states_a_verdict_before_the_plan_is_complete(planned: Window) -> None:
    state, page = planned.pages.plan.planning.planned, planned.pages.plan
    view = answer(planned)
    front = next(v for _, v in page.views if isinstance(v, CostAgainstSpeed))
    for now, words in ((replace(state, plan=None, progress="planned 1 of 2"), "preliminary"),
                       (state, "fits")):  # fmt: skip
        shown_in_every_view(planned, now)
        assert page.bar.drawn is not None
        texts = {(i.words, i.colour) for i in page.bar.drawn.items if isinstance(i, Text)}
        preliminary = words == "preliminary"
        assert (("preliminary", "ink2") in texts, ("fits", "b") in texts) == (
            preliminary,
            not preliminary,
        )
        heads, first, second = view.rows()[:3]
        assert (first[heads.index("Limits")], second[heads.index("Limits")]) == (words, words)
        assert view.table.accessibleDescription() == f"1 × L40S, vllm, bf16: {words}"
        sure = "preliminary" if words == "preliminary" else "yes"
        assert [row[-1] for row in front.rows()[1:]] == [sure, sure]
    assert view.subtitle() == "2 candidates, the cheapest that fits is first"
    view.show_plan(replace(state, plan=None))
    assert view.subtitle() == "2 candidates so far, in a preliminary order"


@pytest.mark.parametrize(
    ("progress", "error", "words"),
    [
        ("planned 1 of 2", "", "The queue is simulated when the plan is complete."),
        ("", "Cancelled. Plan again to continue.", "Cancelled. Plan again to continue."),
        ("", "", "No plan yet"),
    ],
)
def test_the_queue_names_the_state_of_its_plan(
    planned: Window, progress: str, error: str, words: str
) -> None:
    """Regression: the queue read "Without a rate there is no queue" of an earlier plan."""
    state, view = planned.pages.plan.planning.planned, queue_of(planned)
    assert state.spec is not None
    other = replace(state.spec, seed=state.spec.seed + 1)
    now = replace(state, spec=other, plan=None, progress=progress, error=error)
    view.show_plan(now)
    assert view.rows() == [["The queue"], [words]]
    assert view.subtitle() == "" and view.question((), 0) is None


def test_the_sensitivities_name_their_candidate(planned: Window) -> None:
    state, view = planned.pages.plan.planning.planned, answer(planned)
    view.show_plan(replace(state, chosen=candidate_of(state.rows[1])))
    assert view.varied.text() == "of L40S ×1, vllm, bf16"
    assert view.varied.isVisibleTo(view)
