"""The labels of the changes between two scenarios, in the words of the app."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from app.answers.gpu_names import short_gpu
from simulator.errors import InputError
from simulator.hardware.gpu import gpu
from simulator.scenario.scenario import Scenario
from simulator.scenario.text.whatif import to_full_text, to_text

if TYPE_CHECKING:
    from simulator.analysis.compare import Step, Waterfall


def relabelled(fall: Waterfall, *scenarios: Scenario) -> Waterfall:
    """Relabel the steps of a waterfall with the values of their what-ifs; a step between inference
    and training names both, and one between GPUs names these. A size that is set to its default
    changes nothing, and is left out."""
    full = {to_text(a): to_full_text(a) for s in scenarios for a in s.whatifs}
    full |= {f"without {short}": f"without {long}" for short, long in full.items()}
    phases = f"{fall.a.trace.phase} → {fall.b.trace.phase}"
    full |= {s.label: phases for s in fall.steps if s.label.startswith("training ")}
    full |= {s.label: _gpus(s.label) for s in fall.steps if s.label.startswith("gpu ")}
    steps = (s for s in fall.steps if not _sets_default(s))
    return replace(fall, steps=tuple(replace(s, label=full.get(s.label, s.label)) for s in steps))


def _sets_default(step: Step) -> bool:
    """Whether a step writes out the default batch or sequence length, or removes it."""
    sizes = step.label.startswith(("batch ", "seq ")) and "default" in step.label.split(" ")
    return sizes and step.change_s == 0 and step.alone_s == 0


def _gpus(label: str) -> str:
    """A label "gpu h200 → a100_sxm_80" with the names of the GPUs: without their memory, unless
    they are the same without it."""
    names = [_name(each) for each in label.removeprefix("gpu ").split(" → ")]
    brief = [short_gpu(name) for name in names]
    return f"GPU {' → '.join(brief if len(set(brief)) > 1 else names)}"


def _name(gpu_id: str) -> str:
    try:
        return gpu(gpu_id).name
    except InputError:  # the name of a GPU of the user's own
        return gpu_id
