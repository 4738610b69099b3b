"""Training split over GPUs by tensor and pipeline parallelism.

The splits of a step over all GPUs are those of `ridgepoint split`, with the same batch over all
GPUs as replicas would have. Splits whose weights and gradients alone do not fit are not traced; of
the others, those that are estimated to be slow or too large are pruned, and the best are predicted
in full.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from simulator.cluster.cluster import Cluster
from simulator.cluster.layout import Layout
from simulator.errors import InputError
from simulator.planning.batches.sharded import joint_row, network_step
from simulator.planning.result import Row
from simulator.planning.serve_search import Progress
from simulator.planning.spec import Spec

_PREDICTED = 2
"""The number of splits of each candidate that are predicted in full."""


def split(
    spec: Spec,
    group: Cluster,
    common: dict[str, Any],
    batch: int,
    per_sample: int,
    weight_bytes: float,
    progress: Progress,
) -> tuple[list[Row], dict[str, str]]:
    """The rows of the fastest splits of a run over the GPUs of a cluster, with `batch` samples of
    `per_sample` units for each GPU, and the reasons for the other splits. Raises InputError if the
    network has no split, or none that fits."""
    from simulator.parallel.split_search import layouts_of, search_splits  # it imports torch

    work, card = spec.workload, group.gpu
    step = network_step(spec, card, common["precision"], batch * group.gpus)

    def name(layout: Layout) -> str:
        which = f"{layout}, {common['engine']}, {common['precision']}"
        return f"{group.gpus} × {card.name}, {which}"

    pruned: dict[str, str] = {}
    layouts: list[Layout] = []
    for plain in layouts_of(step, group, batch * group.gpus):
        layout = replace(plain, recompute=work.recompute)
        if not _wanted(layout, spec.candidates.parallel):
            continue
        if reason := too_large(layout, weight_bytes, card.memory_bytes):
            pruned[name(layout)] = reason
        else:
            layouts.append(layout)
    if not layouts:
        if pruned:
            return [], pruned
        raise InputError(
            f"{work.network} has no split over {group.gpus} GPUs: expected heads that tp divides, "
            "or equal layers that pp divides"
        )

    def report(text: str, share: float) -> None:
        progress(f"{group.gpus} × {card.name}: {text}")

    splits = search_splits(step, group, work.host, "eager", report, layouts, _PREDICTED)
    rows = [
        joint_row(spec, group, common | {"spread": str(s.layout)}, batch, s.prediction, per_sample)
        for s in splits.ranked
    ]
    return rows, pruned | {name(each.layout): each.reason for each in splits.pruned}


def _wanted(layout: Layout, ways: tuple[str, ...]) -> bool:
    """Whether a layout splits the step, in ways that the spec names."""
    used = {"tensor": layout.tp > 1, "pipeline": layout.pp > 1}
    return any(used.values()) and all(way in ways for way, is_used in used.items() if is_used)


def too_large(layout: Layout, weight_bytes: float, memory_bytes: float) -> str:
    """Why the weights and gradients of a rank alone exceed the memory, or an empty string. They are
    a lower bound of what a rank needs: optimizer state and activations are not counted."""
    parts = layout.tp * layout.pp * (layout.dp if layout.fsdp else 1)
    need = 2 * weight_bytes / parts
    if need <= memory_bytes:
        return ""
    return (
        f"weights and gradients of {need / 2**30:.1f} GiB do not fit in "
        f"{memory_bytes / 2**30:.1f} GiB"
    )
