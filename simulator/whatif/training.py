"""What if it were trained otherwise?"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Literal

from simulator.errors import InputError
from simulator.scenario.apply import whatif
from simulator.scenario.parameters import Modules, Range, Unit
from simulator.scenario.resolved import ResolvedScenario
from simulator.whatif.edits.accumulating import Accumulated
from simulator.whatif.edits.compiled_update import CompiledUpdate
from simulator.whatif.edits.cutting import Cut
from simulator.whatif.edits.recomputing import Recomputed

MINCUT = "mincut"


def _needs_training(setting: ResolvedScenario, what: str) -> None:
    if not setting.ask.training and not setting.ask.saved:
        raise InputError(f"{what}: the step is inference: expected training; predict training")


@whatif("training")
def training(setting: ResolvedScenario, on: bool = True) -> ResolvedScenario:
    """A training step (forward, loss, backward, optimizer), or inference."""
    if on == setting.ask.training and not setting.ask.saved:
        return setting
    return setting.traced_otherwise("training", training=on)


@whatif("training")
def recompute(
    setting: ResolvedScenario,
    modules: Modules = "**.#",
    budget: Annotated[float, Range(0, 1)] = 1.0,
) -> ResolvedScenario:
    """Activation checkpointing of each module of a pattern ("**.#": the blocks): its forward runs
    again before its backward, and what it made is not kept in between. "mincut" instead of a
    pattern: torch's minimum cut decides what is kept, at most this budget of its default."""
    _needs_training(setting, "recompute")
    if modules != MINCUT and budget != 1.0:
        raise InputError(
            f"recompute: budget is {budget:g} with modules {modules!r}: expected modules=mincut, "
            "whose budget it is; leave one out"
        )
    edit = Cut(budget) if modules == MINCUT else Recomputed(modules)
    if any(isinstance(e, Recomputed | Cut) and e != edit for e in setting.edits):
        raise InputError(
            "recompute: other modules are run again already: expected one pattern; undo that first"
        )
    return setting.edited(edit)


@whatif("training")
def accumulate(
    setting: ResolvedScenario, steps: Annotated[int, Range(1, 1024, log=True), Unit("forwards")] = 4
) -> ResolvedScenario:
    """Gradient accumulation: this many forwards and backwards of the batch, then one optimizer
    step."""
    _needs_training(setting, "accumulate")
    others = tuple(e for e in setting.edits if not isinstance(e, Accumulated))
    setting = replace(setting, edits=others)
    return setting if steps == 1 else setting.edited(Accumulated(steps))


@whatif("training")
def optimizer(
    setting: ResolvedScenario, to: Literal["adamw", "adamw_fused", "sgd", "none"] = "adamw_fused"
) -> ResolvedScenario:
    """The optimizer; "none" leaves its step out."""
    _needs_training(setting, "optimizer")
    wanted = None if to == "none" else to
    if wanted == setting.ask.optimizer and not setting.ask.saved:
        return setting
    return setting.traced_otherwise("optimizer", optimizer=wanted)


@whatif("training")
def compiled_optimizer(setting: ResolvedScenario) -> ResolvedScenario:
    """The optimizer's step compiled by itself (torch.compile of optimizer.step): its ops over lists
    as few generated kernels, whatever the mode of the network."""
    _needs_training(setting, "compiled_optimizer")
    return setting.edited(
        CompiledUpdate(),
        "the optimizer is compiled by rules like Inductor's; what its call costs the host is "
        "estimated from other compiled calls",
    )


@whatif("training")
def freeze(setting: ResolvedScenario, parameters: Modules) -> ResolvedScenario:
    """Parameters of a pattern (tokens, layers.0) are not trained: no gradient, no state."""
    _needs_training(setting, "freeze")
    if parameters in setting.ask.frozen:
        return setting
    frozen = tuple(sorted((*setting.ask.frozen, parameters)))
    return setting.traced_otherwise("freeze", frozen=frozen)
