"""Find the ops with the largest errors in a network's GPU time: `python -m
calibration.validate.op_errors PATTERN`.

Retraces the recorded networks of the suite `packages` whose names match, and aligns traced and
recorded ops in order. For each network, prints the groups of identical ops (overload, shapes,
dtype) whose predicted and recorded GPU time differ most, with the kernels that ran and the
predicted ones. `--suite` chooses another suite of recordings, `--gpu` another GPU, and `--traces
FOLDER` caches traces between runs.
"""

from __future__ import annotations

import argparse
import re
from collections import defaultdict
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from pathlib import Path

from calibration.record.read import Recording, recordings
from calibration.validate.trace_fidelity import retrace
from simulator import predict_trace
from simulator.formats.trace_file import load, save
from simulator.prediction import Prediction
from simulator.records import Trace


@dataclass
class Group:
    """Identical ops of a network: their number and their seconds on the GPU."""

    count: int = 0
    recorded_s: float = 0.0
    predicted_s: float = 0.0
    kernels: set[str] = field(default_factory=set[str])
    families: set[str] = field(default_factory=set[str])

    @property
    def error_s(self) -> float:
        return self.predicted_s - self.recorded_s


def aligned(recording: Recording, traced: Trace) -> list[tuple[int, int]]:
    """Indices of matching ops, recorded and traced, in order."""
    names = [op.name for op in recording.ops], [op.name for op in traced.ops]
    if names[0] == names[1]:
        return [(place, place) for place in range(len(names[0]))]
    matcher = SequenceMatcher(None, *names, autojunk=False)
    return [
        (a + offset, b + offset)
        for a, b, size in matcher.get_matching_blocks()
        for offset in range(size)
    ]


def groups(recording: Recording, p: Prediction) -> dict[str, Group]:
    """Groups of identical ops by their text."""
    seconds: dict[int, float] = defaultdict(float)
    families: dict[int, set[str]] = defaultdict(set)
    for kernel in p.kernels:
        seconds[kernel.op] += kernel.duration_s
        families[kernel.op].add(kernel.family)
    by_text: dict[str, Group] = {}
    for place, traced_place in aligned(recording, p.trace):
        op = recording.ops[place]
        recorded_s = sum(s for _, s in op.kernels)
        if not recorded_s and not seconds[traced_place]:
            continue
        dtype = op.inputs[0][1] if op.inputs else ""
        text = f"{op.name} {' '.join(str(tensor[0]) for tensor in op.inputs[:3])} {dtype}"
        group = by_text.setdefault(text, Group())
        group.count += 1
        group.recorded_s += recorded_s
        group.predicted_s += seconds[traced_place]
        group.kernels |= {name for name, _ in op.kernels}
        group.families |= families[traced_place]
    return by_text


def case_trace(recording: Recording, folder: Path | None) -> Trace:
    """The trace of a recorded case. With a folder, it is read from there, and first saved there if
    it is missing."""
    if folder is None:
        return retrace(recording.case)
    path = folder / f"{recording.name.replace('/', '_')}.json"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        save(retrace(recording.case), path)
    return load(path)


def main() -> None:
    """Print the largest errors of each network."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("pattern", nargs="?", default="")
    parser.add_argument("--suite", default="packages")
    parser.add_argument("--gpu", default="h200_sxm", help="the GPU that was recorded")
    parser.add_argument("--rows", type=int, default=6)
    parser.add_argument("--traces", type=Path, help="folder in which traces are kept")
    options = parser.parse_args()
    for recording in recordings(options.suite, options.gpu):
        if not re.search(options.pattern, recording.name):
            continue
        p = predict_trace(case_trace(recording, options.traces), gpu=options.gpu)
        ratio = p.gpu_busy_s / recording.gpu_busy_s
        print(f"{recording.name}: {p.gpu_busy_s * 1e3:.2f} ms predicted, {ratio:.2f} of recorded")
        ranked = sorted(groups(recording, p).items(), key=lambda item: -abs(item[1].error_s))
        for text, group in ranked[: options.rows]:
            print(
                f"  {group.predicted_s * 1e6:8.0f} of {group.recorded_s * 1e6:8.0f} µs"
                f" ({group.predicted_s / max(group.recorded_s, 1e-9):.2f}) {group.count} × {text}\n"
                f"      ran {sorted(name[:100] for name in group.kernels)},"
                f" predicted {sorted(group.families)}"
            )


if __name__ == "__main__":
    main()
