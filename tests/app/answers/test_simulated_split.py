"""A split that a search pruned by its estimate, once the page has predicted it."""

from __future__ import annotations

from dataclasses import replace

from app.answers.cluster.choice import ClusterQuestion
from app.answers.cluster.splits import (
    PrunedSplit,
    RankedSplit,
    SplitRanking,
    SplitSearch,
    split_question,
    with_answer,
)
from simulator.cluster.layout import Layout
from tests.app.cluster_answers import ANSWER, CHOICE, QUESTION

FASTEST = RankedSplit(Layout(16), 0.05, "1% exposed communication, 20.0 GiB")
SLOW = PrunedSplit(CHOICE.layout, "speed", "estimated 1.80 times as slow as the best")
SHAPE = PrunedSplit(Layout(1, 16), "shape", "tp = 16 does not divide heads = 12")
SEARCH = SplitSearch(
    split_question(QUESTION), ranking=SplitRanking((FASTEST,), (SHAPE, SLOW)), share=1.0
)


def ranking(search: SplitSearch | None) -> SplitRanking:
    assert search is not None and search.ranking is not None
    return search.ranking


def test_its_predicted_time_replaces_the_estimate() -> None:
    now = ranking(with_answer(SEARCH, QUESTION, ANSWER))
    # of 100 ms, 15 are exposed and 12 a bubble; 32.034e9 / 2^30 = 29.8
    words = "15% exposed communication, 12% waiting for other ranks, 29.8 GiB"
    assert now.ranked == (FASTEST, RankedSplit(CHOICE.layout, 0.1, words))
    assert now.pruned == (SHAPE,) and now.pruned_words == "Pruned: 1 by shape"


def test_a_faster_one_is_listed_first() -> None:
    now = ranking(with_answer(SEARCH, QUESTION, replace(ANSWER, period_s=0.04)))
    assert [each.period_s for each in now.ranked] == [0.04, 0.05]


def test_one_that_does_not_fit_is_pruned_by_memory() -> None:
    ranks = tuple(replace(r, needed_bytes=87 * 2**30, fits=False) for r in ANSWER.ranks)
    now = ranking(with_answer(SEARCH, QUESTION, replace(ANSWER, ranks=ranks)))
    too_much = PrunedSplit(CHOICE.layout, "memory", "does not fit: 7.00 GiB too much")
    assert (now.ranked, now.pruned) == ((FASTEST,), (SHAPE, too_much))


def test_other_steps_and_other_splits_change_nothing() -> None:
    assert with_answer(None, QUESTION, ANSWER) is None
    running = replace(SEARCH, ranking=None)
    assert with_answer(running, QUESTION, ANSWER) is running
    other = ClusterQuestion(replace(QUESTION.scenario, batch=4), CHOICE)
    assert with_answer(SEARCH, other, ANSWER) is SEARCH
    recomputed = replace(ANSWER, layout=replace(CHOICE.layout, recompute=True))
    assert with_answer(SEARCH, QUESTION, recomputed) is SEARCH
