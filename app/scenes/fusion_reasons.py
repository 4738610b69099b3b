"""The reasons why some blocks can be one kernel, and the sum of the saved bytes."""

from __future__ import annotations

import re
from collections.abc import Collection

from app.quantities import data
from app.scenes.fusion import FusionScene
from simulator.analysis.block_diagram import Trial


def reasons(scene: FusionScene, members: Collection[int]) -> tuple[str, ...]:
    """The readers of each value between these blocks, and the bytes that one kernel saves."""
    texts: list[str] = []
    for maker in sorted(members):
        flows = [flow for flow in scene.flows if flow.maker == maker]
        inside = [flow for flow in flows if flow.reader in members]
        if not inside or maker not in scene.blocks:
            continue
        name, size = scene.blocks[maker].name, data(inside[0].bytes)
        readers = " and ".join(scene.blocks[flow.reader].name for flow in inside)
        verb = "reads" if len(inside) == 1 else "read"
        texts.append(f"{readers} {verb} the output of {name}: {size} not read again")
        others = len(flows) - len(inside)
        if others:
            texts.append(f"{name} has {others} more {_noun(others)}: it is still written")
        else:
            texts.append(f"{name} has no other reader: {size} not written")
    return tuple(texts)


def saved_sum(scene: FusionScene, trial: Trial) -> str:
    """The sum of the saved bytes over all kernels of a trial: "24 × (2 × 12.0 MiB)". Empty if the
    trial saves more than the values between its blocks."""
    terms: list[int] = []
    for maker in trial.members:
        flows = [flow for flow in scene.flows if flow.maker == maker]
        inside = [flow for flow in flows if flow.reader in trial.members]
        written = 1 if inside and len(inside) == len(flows) else 0
        terms += [flow.bytes for flow in inside] + [flow.bytes for flow in inside[:written]]
    total = trial.count * sum(terms)
    if not total or abs(total - trial.bytes_saved) > 0.01 * total:
        return ""
    same = len(set(terms)) == 1
    each = f"{len(terms)} × {data(terms[0])}" if same else " + ".join(map(data, terms))
    written = f"{trial.count} × ({each})" if trial.count > 1 else each
    rest = trial.bytes_saved - total
    if data(total) != data(trial.bytes_saved):  # else the sum would contradict the bytes saved
        written += f" {'+' if rest > 0 else '−'} {data(abs(rest))} of other traffic"
        return f"{written} = {data(trial.bytes_saved)}"
    return f"{written} = {data(total)}" if trial.count > 1 else written


def _noun(count: int) -> str:
    return "reader" if count == 1 else "readers"


def refusal(scene: FusionScene, trial: Trial) -> str:
    """Why the ops of a trial cannot be fused, with the names of their blocks in place of
    "addmm (op 42)"."""

    def name(match: re.Match[str]) -> str:
        block = scene.blocks.get(int(match[1]))
        return block.name if block else match[0]

    words = re.sub(r"\w+ \(op (\d+)\)", name, trial.refused)
    return words[:1].upper() + words[1:]
