"""An edit of ops that a step lacks: a card and a prediction refuse it alike, in one place."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from app.answers.cards import refuse_impossible
from simulator.errors import InputError
from simulator.records import Trace
from simulator.scenario.apply import apply
from simulator.scenario.registry import _WHATIFS
from simulator.scenario.resolved import ResolvedScenario, Selective
from simulator.scenario.scenario import Scenario, predict
from simulator.scenario.text.whatif import parse
from simulator.whatif import whatif

TINY = Scenario("mlp-tiny", gpu="b200")
TRAINED = Scenario("mlp-tiny", gpu="b200", training=True)
FUSED = Scenario("mlp-tiny", gpu="b200", training=True, optimizer="adamw_fused")


@dataclass(frozen=True)
class Only(Selective[list[int]]):
    """Keep the ops of a name: what the page on what-ifs requires of an edit, and no more."""

    name: str
    rank: int = 1

    def chosen(self, trace: Trace) -> list[int]:
        indices = [i for i, op in enumerate(trace.ops) if op.name == self.name]
        if not indices:
            raise InputError(f"of_this_test: no {self.name}: expected one; choose another op")
        return indices

    def rewritten(self, trace: Trace, chosen: list[int]) -> Trace:
        return trace.with_ops([trace.ops[i] for i in chosen], trace.storages, range(len(trace.ops)))


def refusals(before: Scenario, text: str) -> list[str]:
    """The errors of the card and of the prediction."""
    after, errors = apply(before, *parse(text)), list[str]()
    for ask in (lambda: refuse_impossible(before, after, predict(before).trace),
                lambda: predict(after)):  # fmt: skip
        with pytest.raises(InputError) as error:
            ask()
        errors.append(str(error.value))
    return errors


def test_an_edit_names_its_ops_once_for_cards_and_predictions() -> None:
    @whatif("kernels")
    def of_this_test(resolved: ResolvedScenario, op: str) -> ResolvedScenario:
        """Keep one op."""
        return resolved.edited(Only(op))

    try:
        text = "of_this_test: no aten.gelu.default: expected one; choose another op"
        assert refusals(TINY, "+of_this_test=aten.gelu.default") == [text, text]
        edited = apply(TINY, "of_this_test", {"op": "aten.addmm.default"})
        refuse_impossible(TINY, edited, predict(TINY).trace)
        assert {op.name for op in predict(edited).trace.ops} == {"aten.addmm.default"}
    finally:
        del _WHATIFS["of_this_test"]


@pytest.mark.parametrize(("before", "text", "error"), [
    (TINY, "+remove=gelu", "remove: no op 'gelu' in modules '**'"),
    (TINY, "+fused_experts", "fused_experts: no grouped product"),
    (TINY, "+kv_cache=fp8", "kv_cache=fp8: no fused attention reads a cache"),
    (TINY, "+weights=int8,modules=none", "weights=int8: no linear layer in modules 'none'"),
    (TINY, "+nvfp4=none", "nvfp4: no linear layer in modules 'none'"),
    (TINY, "+fp8=none", "fp8: no linear layer in modules 'none'"),
    (TRAINED, "+nvfp4", "nvfp4: training in 4 bits is not modelled"),
    (TRAINED, "+recompute=none", "recompute: no module with a backward pass matches 'none'"),
    (FUSED, "+compiled_optimizer", "compiled_optimizer: nothing to fuse in optimizer adamw_fused"),
])  # fmt: skip
def test_cards_and_predictions_refuse_alike(before: Scenario, text: str, error: str) -> None:
    first, second = refusals(before, text)
    assert first == second
    assert first.startswith(error)
