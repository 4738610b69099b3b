"""The question of the cluster page as a sentence: the current scenario and the cluster."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path

from app.answers import sentence as sentence_parts
from app.answers.answer import batch_and_seq
from app.answers.changes import with_field, with_network
from app.answers.cluster.choice import ClusterChoice, ClusterQuestion
from simulator.cluster import clusters
from simulator.cluster.modes import check_mode
from simulator.errors import InputError, RidgepointError
from simulator.networks.catalogue import CATALOGUE
from simulator.scenario.scenario import Scenario

Field = sentence_parts.Field[ClusterQuestion]
Part = sentence_parts.Part[ClusterQuestion]

_PHASES = {"Run": False, "Train": True}
_DTYPES = ("fp32", "bf16", "fp16", "autocast", "autocast-fp16")
_MODES = {"eager": "eager", "as a CUDA graph": "cuda_graph"}
_NUMBER = re.compile(r"\d[\d,]*")
MORE_TIP = (
    'other options of --parallel: "microbatches=8", "schedule=interleaved", "bucket=100", '
    '"recompute", and what-ifs such as "+link_speed=2"'
)


def sentence(question: ClusterQuestion) -> tuple[Part, ...]:
    """The step and where it runs."""
    scenario = question.scenario
    batch, seq = _defaults(scenario)
    phase = "Train" if scenario.training else "Run"
    mode = next((word for word, mode in _MODES.items() if mode == scenario.mode), scenario.mode)
    parts: list[Part] = [
        Field("Phase", phase, _put_phase, options=tuple(_PHASES)),
        Field("Network", Path(scenario.network).name, _put_network, scenario.network, _networks()),
        "in",
        Field("Precision", scenario.dtype or "fp32", partial(_put, "dtype"), options=_DTYPES),
        Field("Mode", mode, _put_mode, options=tuple(_MODES), wrong=_refusal(scenario.mode)),
        ", batch",
        _count("Batch of a replica", "batch", scenario.batch, batch, "of a data-parallel copy"),
        "a replica",
    ]
    if seq is not None:
        parts += [", sequence", _count("Sequence", "seq", scenario.seq, seq, "tokens")]
    return (
        *parts,
        ", on",
        Field("Cluster", question.choice.cluster, _put_cluster, CLUSTER_TIP, _clusters(question)),
        ".",
    )


CLUSTER_TIP = 'a cluster of `ridgepoint clusters`, or one node such as "4xh200"'


def more_field(question: ClusterQuestion) -> Field:
    """The other options of the split, as text."""
    return Field("Other options of the split", question.choice.more, _put_more, MORE_TIP,
                 empty="microbatches=8 …")  # fmt: skip


def own_cluster_field(question: ClusterQuestion) -> Field:
    """The cluster as text, for a cluster that is not in the list."""
    return Field("Cluster by name or file", question.choice.cluster, _put_cluster, CLUSTER_TIP)


def _defaults(scenario: Scenario) -> tuple[int | None, int | None]:
    try:
        return batch_and_seq(scenario)
    except RidgepointError:  # the prediction reports the error
        return scenario.batch, scenario.seq


def _count(name: str, field: str, value: int | None, default: int | None, tip: str) -> Field:
    empty = "" if default is None else f"{default:,}"
    return Field(
        name, "" if value is None else f"{value:,}", partial(_put_count, field), tip, empty=empty
    )


def _refusal(mode: str) -> str:
    """The reason why a mode is not predicted on several GPUs, or an empty string."""
    try:
        check_mode(mode)
    except InputError as error:
        return str(error)
    return ""


@lru_cache(maxsize=1)
def _networks() -> tuple[str, ...]:
    return tuple(sorted(CATALOGUE))


@lru_cache(maxsize=1)
def shipped() -> tuple[str, ...]:
    """The names of the packaged clusters, the smallest first."""
    return tuple(each.id for each in clusters())


def _clusters(question: ClusterQuestion) -> tuple[str, ...]:
    gpu = question.scenario.gpu
    nodes = tuple(f"{n}x{gpu}" for n in (1, 2, 4, 8)) if isinstance(gpu, str) else ()
    return tuple(dict.fromkeys([question.choice.cluster, *nodes, *shipped()]))


def _put(name: str, question: ClusterQuestion, text: str) -> ClusterQuestion:
    return replace(question, scenario=with_field(question.scenario, name, text))


def _put_phase(question: ClusterQuestion, text: str) -> ClusterQuestion:
    changed = with_field(question.scenario, "training", _PHASES[text])
    return replace(question, scenario=changed)


def _put_network(question: ClusterQuestion, text: str) -> ClusterQuestion:
    return replace(question, scenario=with_network(question.scenario, text))


def _put_mode(question: ClusterQuestion, text: str) -> ClusterQuestion:
    return _put("mode", question, _MODES[text])


def _put_count(name: str, question: ClusterQuestion, text: str) -> ClusterQuestion:
    value = None
    if text:
        if not _NUMBER.fullmatch(text) or not int(text.replace(",", "")):
            raise InputError(f"{name} {text!r}: expected a whole number of at least 1; correct it")
        value = int(text.replace(",", ""))
    return replace(question, scenario=with_field(question.scenario, name, value))


def _put_cluster(question: ClusterQuestion, text: str) -> ClusterQuestion:
    return replace(question, choice=question.choice.on(text))


def _put_more(question: ClusterQuestion, text: str) -> ClusterQuestion:
    choice = replace(question.choice, more=" ".join(text.split()))
    _ = choice.layout  # raises InputError if the words are wrong
    return replace(question, choice=choice)


def with_choice(
    question: ClusterQuestion, change: Callable[[ClusterChoice], ClusterChoice]
) -> ClusterQuestion:
    """The question with another cluster or split."""
    return replace(question, choice=change(question.choice))
