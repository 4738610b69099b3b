"""Drops of a GPU's card on the nodes of a cluster."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from app.answers.cluster.choice import ClusterQuestion
from app.widgets.drops import Offer
from simulator.errors import RidgepointError
from simulator.hardware.gpu import gpu


def gpu_offer(
    key: str, question: ClusterQuestion, edit: Callable[[ClusterQuestion, str], None]
) -> Offer:
    """The effect of the card with this key on a question; `edit` receives the changed question and
    the name of the change."""
    kind, _, name = key.partition(":")
    if kind != "gpu":
        return Offer("Nodes take GPUs: drop the card of a GPU", None, of_whole=True)
    try:
        title = gpu(name).name
        choice = question.choice.of_gpu(name)
    except RidgepointError as error:
        return Offer(str(error), None)
    if choice == question.choice:
        return Offer(f"{choice.cluster} already consists of {title}", None)
    words = f"{title} in every node"
    after = replace(question, choice=choice)
    return Offer(f"{words}: {choice.cluster}", lambda: edit(after, words))
