"""What-ifs of training."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec.structs import replace

from simulator.errors import InputError
from simulator.scenario.apply import whatif
from simulator.scenario.parameters import Modules, Range, Unit
from simulator.scenario.resolved import ResolvedScenario
from simulator.scenario.trial import Trial
from simulator.whatif.edits.accumulating import Accumulated
from simulator.whatif.edits.compiled_update import CompiledUpdate
from simulator.whatif.edits.cutting import Cut
from simulator.whatif.edits.recomputing import Recomputed

MINCUT = "mincut"
_OPTIMIZERS = {"adamw_fused": "fused AdamW", "sgd": "SGD", "none": "no optimizer"}


def _needs_training(resolved: ResolvedScenario, what: str) -> None:
    if not resolved.request.training and not resolved.request.saved:
        raise InputError(f"{what}: the step is inference: expected training; predict training")


@whatif("training", untried="a different question")
def training(resolved: ResolvedScenario, on: bool = True) -> ResolvedScenario:
    """A training step (forward, loss, backward, optimizer), or inference."""
    if on == resolved.request.training and not resolved.request.saved:
        return resolved
    return resolved.traced_otherwise("training", training=on)


@whatif(
    "training",
    Trial("+recompute", (), "blocks that run again need not store their activations", "code"),
    sentence="Recompute activations in the backward pass",
)
def recompute(
    resolved: ResolvedScenario,
    modules: Modules = "**.#",
    budget: Annotated[float, Range(0, 1)] = 1.0,
) -> ResolvedScenario:
    """Activation checkpointing of each module of a pattern ("**.#": the blocks): its forward pass
    runs again before its backward pass, and its activations are not stored in between. With
    "mincut" instead of a pattern, torch's minimum cut chooses the activations to store, up to this
    budget (a fraction of its default)."""
    _needs_training(resolved, "recompute")
    if modules != MINCUT and budget != 1.0:
        raise InputError(
            f"recompute: budget is {budget:g} with modules {modules!r}: expected modules=mincut, "
            "the only one with a budget; leave one out"
        )
    edit = Cut(budget) if modules == MINCUT else Recomputed(modules)
    if any(isinstance(e, Recomputed | Cut) and e != edit for e in resolved.edits):
        raise InputError(
            "recompute: other modules are already recomputed: expected one pattern; undo the "
            "earlier one first"
        )
    return resolved.edited(edit)


@whatif(
    "training",
    Trial("+accumulate=4", (), "four forward passes share the optimizer's step", "code"),
    sentence="Accumulate the gradients of {steps} passes",
)
def accumulate(
    resolved: ResolvedScenario,
    steps: Annotated[int, Range(1, 1024, log=True), Unit("forwards")] = 4,
) -> ResolvedScenario:
    """Gradient accumulation: this many forward and backward passes of the batch, then one optimizer
    step."""
    _needs_training(resolved, "accumulate")
    others = tuple(e for e in resolved.edits if not isinstance(e, Accumulated))
    resolved = replace(resolved, edits=others)
    return resolved if steps == 1 else resolved.edited(Accumulated(steps))


@whatif(
    "training",
    Trial("+optimizer=adamw_fused", ("memory",), "one pass over weights and their state", "code"),
    Trial(
        "+optimizer=sgd",
        ("memory",),
        "SGD keeps and reads half of AdamW's state",
        "what is computed",
    ),
    sentence=lambda a: f"Update weights with {_OPTIMIZERS.get(a['to'], a['to'])}",
)
def optimizer(
    resolved: ResolvedScenario, to: Literal["adamw", "adamw_fused", "sgd", "none"] = "adamw_fused"
) -> ResolvedScenario:
    """The optimizer; "none" omits its step."""
    _needs_training(resolved, "optimizer")
    name = None if to == "none" else to
    if name == resolved.request.optimizer and not resolved.request.saved:
        return resolved
    return resolved.traced_otherwise("optimizer", optimizer=name)


@whatif("training", untried="optimizer=adamw_fused does the same without a compiler")
def compiled_optimizer(resolved: ResolvedScenario) -> ResolvedScenario:
    """Compile the optimizer's step alone (torch.compile of optimizer.step): its ops over lists
    become a few generated kernels, in any mode of the network."""
    _needs_training(resolved, "compiled_optimizer")
    return resolved.edited(
        CompiledUpdate(),
        "the optimizer is compiled by rules like Inductor's; the host time of its call is "
        "estimated from other compiled calls",
    )


@whatif("training", untried="a different question")
def freeze(resolved: ResolvedScenario, parameters: Modules) -> ResolvedScenario:
    """Do not train the parameters of a pattern (tokens, layers.0): no gradient, no state."""
    _needs_training(resolved, "freeze")
    if parameters in resolved.request.frozen:
        return resolved
    frozen = tuple(sorted((*resolved.request.frozen, parameters)))
    return resolved.traced_otherwise("freeze", frozen=frozen)
