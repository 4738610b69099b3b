"""Recomputation by a minimum cut: torch's partitioner decides which tensors the backward pass reads
from memory and which it recomputes."""

from __future__ import annotations

from dataclasses import dataclass

from simulator.errors import InputError
from simulator.fusion.passes.rematerialization import Joint, repeated, saved_within
from simulator.fusion.rules import WHOLE, level_of
from simulator.records import Trace
from simulator.scenario.resolved import ResolvedScenario
from simulator.schedule.memory import memory


@dataclass(frozen=True)
class Cut:
    """Store or recompute the tensors that the backward pass needs, by the minimum cut. `budget` is
    the share of the default cut's bytes that may be stored (`simulator.fusion.passes.budget`)."""

    budget: float = 1.0
    rank: int = 3

    def demand(self, resolved: ResolvedScenario) -> None:
        """Raise InputError if a compiler makes this cut anyway."""
        level = resolved.fusion or level_of(resolved.mode)
        if level in WHOLE and self.budget == 1.0:
            raise InputError(
                "recompute=mincut: torch.compile already makes this cut: expected a step that is "
                "not compiled, or a budget below 1 (torch's activation_memory_budget); leave out "
                "recompute or the compiled mode, or add budget=0.5"
            )

    def __call__(self, trace: Trace) -> Trace:
        """Raise InputError if no op would be recomputed, or if peak memory would rise."""
        _check(trace)
        joint = Joint(trace)
        changed = repeated(joint, saved_within(joint, self.budget))
        if changed is trace:
            raise InputError(
                "recompute=mincut: no op would run again: torch's rules store all tensors that the "
                f"backward pass reads (outputs of products, norms and random ops, operands of "
                f"products): expected a budget below {self.budget:g}; try "
                f"recompute=mincut,budget=0.5, "
                "or recompute by block"
            )
        before, after = memory(trace).peak_bytes, memory(changed).peak_bytes
        if after > before:
            raise InputError(
                f"recompute=mincut: the peak would rise from {before:,} to {after:,} bytes, since "
                "recomputed tensors need memory too: expected it to fall; try another budget, or "
                "recompute by block"
            )
        return changed


def _check(trace: Trace) -> None:
    if trace.phase != "training" or not any(op.phase == "backward" for op in trace.ops):
        raise InputError(
            "recompute=mincut: there is no backward pass: expected training; predict training"
        )
    if any(len(op.storages) != len(op.inputs) + len(op.outputs) for op in trace.ops):
        raise InputError(
            "recompute=mincut: the trace does not record which memory its ops read and write: "
            "expected a storage for each of their tensors; trace the network again"
        )
