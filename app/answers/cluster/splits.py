"""The search for the fastest split, for the cluster page: figures without traces.

The search itself is imported in the process that runs it, because it imports torch.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace

from app.answers.answer import batch_and_seq
from app.answers.cluster.answer import ClusterAnswer
from app.answers.cluster.choice import ClusterChoice, ClusterQuestion
from simulator.cluster.layout import Layout
from simulator.cluster.split_texts import excess_text, step_text
from simulator.errors import RidgepointError

Progress = Callable[[str, float], None]
_ROUTES = ("+link_speed", "+network_speed")
"""What-ifs of the cluster itself, which apply to every split of the search."""


@dataclass(frozen=True)
class SplitQuestion:
    """A search for the fastest split of a step on a cluster; its batch is the total over all
    GPUs.
    """

    question: ClusterQuestion


@dataclass(frozen=True)
class RankedSplit:
    """A split that fits, predicted in full."""

    layout: Layout
    period_s: float
    reason: str


@dataclass(frozen=True)
class PrunedSplit:
    """A split that was not predicted, or does not fit; `cause` is "shape", "memory" or "speed"."""

    layout: Layout
    cause: str
    reason: str


@dataclass(frozen=True)
class SplitRanking:
    """The splits that fit, the fastest first, and those that were pruned."""

    ranked: tuple[RankedSplit, ...]
    pruned: tuple[PrunedSplit, ...]

    @property
    def pruned_words(self) -> str:
        """The number of pruned splits by cause, as text, or an empty string."""
        counts = Counter(each.cause for each in self.pruned)
        parts = [f"{count} by {cause}" for cause, count in sorted(counts.items())]
        return f"Pruned: {', '.join(parts)}" if parts else ""


@dataclass(frozen=True)
class SplitSearch:
    """A search: its completed share, its current activity, and finally the ranking."""

    target: SplitQuestion
    share: float = 0.0
    doing: str = ""
    ranking: SplitRanking | None = None


def split_question(question: ClusterQuestion) -> SplitQuestion:
    """The search for the best split of a question, regardless of the chosen split. Raises
    InputError if the network has no batch."""
    choice = question.choice
    batch = replica_batch(question) * choice.dp
    routes = [word for word in choice.more.split() if word.partition("=")[0] in _ROUTES]
    gpus = choice.machine.gpus
    plain = ClusterChoice(choice.cluster, dp=gpus, more=" ".join(routes))
    return SplitQuestion(ClusterQuestion(replace(question.scenario, batch=batch), plain))


def replica_batch(question: ClusterQuestion) -> int:
    """The batch of a replica. Raises RidgepointError if the network has no batch."""
    return batch_and_seq(question.scenario)[0] or 1


def belongs(search: SplitSearch, question: ClusterQuestion) -> bool:
    """Whether a search belongs to the step and the cluster of a question."""
    try:
        return split_question(question) == search.target
    except RidgepointError:
        return False


def with_answer(
    search: SplitSearch | None, question: ClusterQuestion, answer: ClusterAnswer
) -> SplitSearch | None:
    """The search with the predicted figures of a split that it has pruned by its estimate."""
    if search is None or search.ranking is None or not belongs(search, question):
        return search
    ranking = search.ranking
    pruned = tuple(
        each for each in ranking.pruned if each.cause != "speed" or each.layout != answer.layout
    )
    if len(pruned) == len(ranking.pruned):
        return search
    if answer.fits:
        split = RankedSplit(answer.layout, answer.period_s, _reason(answer))
        ranked = tuple(sorted((*ranking.ranked, split), key=lambda each: each.period_s))
        return replace(search, ranking=SplitRanking(ranked, pruned))
    text = excess_text(answer.largest.needed_bytes, answer.cluster.gpu.memory_bytes)
    split = PrunedSplit(answer.layout, "memory", text)
    return replace(search, ranking=SplitRanking(ranking.ranked, (*pruned, split)))


def _reason(answer: ClusterAnswer) -> str:
    """A short description of a step, as of the splits that the search predicts."""
    exposed = answer.exposed_s / answer.period_s
    waits = max(rank.parts.bubble_s for rank in answer.ranks) / answer.period_s
    return step_text(exposed, waits, answer.largest.needed_bytes)


def switched(target: SplitQuestion, spread: Layout) -> ClusterQuestion:
    """The question with another split; each replica has its share of the total batch."""
    question = target.question
    more = [f"microbatches={spread.microbatches}"] if spread.microbatches > 1 else []
    more += question.choice.more.split()
    choice = ClusterChoice(
        question.choice.cluster, spread.dp, spread.tp, spread.pp, spread.fsdp, " ".join(more)
    )
    batch = (question.scenario.batch or 1) // spread.dp
    return ClusterQuestion(replace(question.scenario, batch=batch), choice)


def split_ranking(target: SplitQuestion, progress: Progress) -> SplitRanking:
    """Rank the splits of a step. Raises InputError in the same cases as `ridgepoint split`."""
    from simulator.parallel.split_search import search_splits  # it imports torch

    step = target.question.step
    splits = search_splits(step.step, step.cluster, step.host, step.mode, progress)
    return SplitRanking(
        tuple(RankedSplit(each.layout, each.period_s, each.reason) for each in splits.ranked),
        tuple(PrunedSplit(each.layout, each.cause, each.reason) for each in splits.pruned),
    )
