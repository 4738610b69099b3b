"""Record Inductor's schedules of the small steps: `python -m
tests.simulator.fusion.small_steps.record` compiles each, without a GPU, and writes its launches."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from simulator.inductor.exact import question_of, scheduled
from simulator.inductor.exact_trace import exact_trace
from simulator.inductor.refusal import RefusalError
from simulator.scenario.resolve import resolve
from simulator.scenario.scenario import Scenario
from simulator.scenario.trace_source import trace_resolved
from tests.simulator.fusion.small_steps import concatenations, modules

HERE = Path(__file__).parent
LAUNCHES = HERE / "launches.json"
INFERENCE = (
    modules.many_readers,
    modules.long_chain,
    modules.joined,
    modules.turned_sums,
    modules.one_number,
    modules.norms,
    modules.long_rows,
    modules.cut_products,
    modules.written_in_place,
    concatenations.parts_of_one_size,
    concatenations.parts_of_many_sizes,
    concatenations.parts_of_kernels,
    concatenations.written_slices,
    modules.moved,
    modules.resized,
    modules.with_heads,
    modules.without_heads,
    modules.image_norms,
)
TRAINING = (
    modules.image_norms,
    modules.looked_up,
    modules.classified,
    modules.normed_both_ways,
    modules.gated,
    modules.clamped,
    modules.softmaxes_in_training,
    modules.norms,
)
Line = tuple[str, int, int]
"""A launch: its name, and the bytes that it reads and writes."""


def scenario(name: str, training: bool) -> Scenario:
    """The scenario of a step."""
    file = "concatenations.py" if hasattr(concatenations, name) else "modules.py"
    return Scenario(
        f"{HERE / file}:{name}",
        gpu="h200",
        batch=1,
        training=training,
        optimizer="none" if training else None,
    )


def main() -> None:
    """Compile the steps that are named, or else all."""
    recorded = json.loads(LAUNCHES.read_text("utf-8")) if LAUNCHES.exists() else {}
    for training, steps in ((False, INFERENCE), (True, TRAINING)):
        for module in steps:
            name = f"{module.__name__}/{'training' if training else 'inference'}"
            if name in recorded and name not in sys.argv:
                continue
            resolved = resolve(scenario(module.__name__, training))
            try:
                schedule = scheduled(question_of(resolved), lambda _: None)
            except RefusalError as refusal:
                print(name, refusal, flush=True)
                continue
            ops = exact_trace(schedule, trace_resolved(resolved)).trace.ops
            recorded[name] = [
                (op.name, op.signature.read_bytes, op.signature.write_bytes) for op in ops
            ]
            print(name, len(ops), flush=True)
            lines = (f'  "{key}": {json.dumps(value)}' for key, value in recorded.items())
            LAUNCHES.write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")


if __name__ == "__main__":
    main()
