"""Updates of training steps: one optimizer's ops, appended to families traced with another
optimizer."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
import torch
from msgspec.structs import replace

from simulator.errors import InputError
from simulator.records import Trace
from simulator.symbols import Symbolic
from simulator.symbols.templates import ProgramMismatchError
from simulator.symbols.updates import load_update, save_update, update_of, updated, with_update
from simulator.tracing import trace

OPTIMIZERS = ("adamw", "sgd", "adamw_fused", None)


def step(batch: int, optimizer: str | None, layers: int = 2) -> Trace:
    network = torch.nn.Sequential(
        *(torch.nn.Linear(8, 8, device="meta") for _ in range(layers)), torch.nn.ReLU()
    )
    x = torch.empty(batch, 8, device="meta")
    return trace(network, (x,), phase="training", optimizer=optimizer)


@cache
def fitted(optimizer: str | None) -> Symbolic:
    return Symbolic.fit(lambda batch, seq: step(batch, optimizer), seq=None)


@cache
def warmed_up() -> None:
    """Take a step with each optimizer, because a process does some work only once."""
    for optimizer in OPTIMIZERS:
        step(3, optimizer)


@pytest.mark.parametrize("before", OPTIMIZERS[:3])
@pytest.mark.parametrize("after", OPTIMIZERS)
def test_families_with_another_update_equal_traces(before: str | None, after: str | None) -> None:
    warmed_up()
    update = update_of(step(3, after))
    families = with_update(fitted(before), update, lambda batch, seq: step(batch, after))
    for batch in (1, 2, 9):
        assert (families.at(batch) == step(batch, after)) is True
    assert families.family(9) is not None


def test_an_update_holds_nothing_of_its_network() -> None:
    update = update_of(step(3, "sgd"))
    assert {op.phase for op in update.ops} == {"optimizer"}
    assert [s.role for s in update.storages[:8]] == ["weight"] * 4 + ["gradient"] * 4
    assert update == update_of(step(7, "sgd"))
    assert (update.optimizer, update.samples, update.code) == ("sgd", 0, {})


def test_an_update_of_other_weights_is_refused() -> None:
    (_, family), *_ = fitted("adamw").families
    with pytest.raises(ProgramMismatchError, match=r"^the update belongs to other weights$"):
        updated(family, update_of(step(3, "sgd", layers=3)))


def test_an_optimizer_that_touches_inputs_has_no_update() -> None:
    whole = step(3, "sgd")
    other = next(i for i, s in enumerate(whole.storages) if s.role == "input")
    ops = [*whole.ops[:-1], replace(whole.ops[-1], storages=(other,))]
    with pytest.raises(ProgramMismatchError, match=rf"touches storage {other} of the network"):
        update_of(replace(whole, ops=ops))


def test_an_update_in_a_file(tmp_path: Path) -> None:
    update = update_of(step(3, "adamw"))
    path = tmp_path / "one.update"
    save_update(update, path)
    assert load_update(path) == update
    for data in (path.read_bytes()[:-5], b"", b"text"):
        path.write_bytes(data)
        with pytest.raises(InputError, match=rf"^cannot read the update {path}: "):
            load_update(path)
    with pytest.raises(InputError, match="No such file"):
        load_update(tmp_path / "none.update")
