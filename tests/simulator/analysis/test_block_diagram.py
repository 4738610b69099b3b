"""Ops as blocks that can be joined: hand-computed sums on a layer of BERT."""

import pytest

from simulator.analysis.block_diagram import OUTSIDE, BlockDiagram
from simulator.scenario.scenario import Applied, Scenario, predict
from simulator.whatif import apply
from simulator.whatif.edits.fusing import Choice

ASKED = Scenario("bert-base", batch=64, seq=128, dtype="bf16", sizes={"layers": 2})
VALUE = 64 * 128 * 768 * 2  # bytes of one bfloat16 activation: 12,582,912


@pytest.fixture(scope="module")
def joining() -> BlockDiagram:
    return BlockDiagram(ASKED)


def _ops(joining: BlockDiagram, layer: str) -> dict[str, int]:
    """The first block of each name in a layer."""
    counts: dict[str, int] = {}
    for op, block in joining.blocks.items():
        if block.module.startswith(layer):
            counts.setdefault(block.name, op)
    return counts


def test_the_blocks_are_the_step(joining: BlockDiagram) -> None:
    p = predict(ASKED)
    assert sum(b.launches for b in joining.blocks.values()) == p.kernel_count
    assert sum(b.seconds for b in joining.blocks.values()) == pytest.approx(p.gpu_busy_s)
    assert sum(b.bytes for b in joining.blocks.values()) == sum(k.bytes for k in p.kernels)
    assert list(_ops(joining, "layers.0")) == [
        "query",
        "key",
        "value",
        "attention",
        "out",
        "add",
        "layer norm",
        "up",
        "gelu",
        "down",
    ]


def test_flows_through_a_layer(joining: BlockDiagram) -> None:
    ops = _ops(joining, "layers.0")
    members = [op for op, b in joining.blocks.items() if b.module.startswith("layers.0")]
    flows = {(f.maker, f.reader): f.bytes for f in joining.flows(members)}
    assert flows[OUTSIDE, ops["query"]] == VALUE
    assert flows[ops["up"], ops["gelu"]] == 4 * VALUE
    assert flows[ops["layer norm"], ops["up"]] == VALUE
    assert (OUTSIDE, ops["add"]) in flows  # the residual
    assert sum(reader == OUTSIDE for _, reader in flows) == 1  # what the layer returns
    assert all(size in (VALUE, 4 * VALUE) for size in flows.values())  # no weights


def test_joining_the_sum_with_the_norm(joining: BlockDiagram) -> None:
    ops = _ops(joining, "layers.0")
    trial = joining.tried((ops["add"], ops["layer norm"]), everywhere=True)
    assert not trial.refused
    assert dict(trial.arguments) == {"ops": "add+native_layer_norm", "modules": "layers.#"}
    assert trial.count == trial.launches_removed == 4  # two in each of two layers
    # the sum is neither written nor read again; the norm's mean and reciprocal deviation, which
    # inference does not read, are written by the single kernel as before
    assert trial.bytes_saved == pytest.approx(4 * 2 * VALUE, rel=0.005)
    assert trial.after is not None
    again = predict(apply(ASKED, "fuse", dict(trial.arguments)))
    assert trial.after.period_s == again.period_s
    assert trial.after.kernel_count == joining.before.kernel_count - 4


def test_one_layer_alone_is_joined_by_number(joining: BlockDiagram) -> None:
    ops = _ops(joining, "layers.0")
    trial = joining.tried((ops["up"], ops["gelu"]), everywhere=False)
    assert dict(trial.arguments) == {"ops": f"{ops['up']}+{ops['gelu']}"}
    assert trial.count == 1
    assert trial.bytes_saved == pytest.approx(2 * 4 * VALUE, rel=0.005)


def test_a_fused_product_launches_the_fill_of_its_workspace_too() -> None:
    """`up` is a fill and a product, `gelu` a kernel: 3 launches become 2 in each of 12 layers."""
    joining = BlockDiagram(Scenario("bert-base", batch=64, seq=128, dtype="bf16", gpu="h200"))
    ops = _ops(joining, "layers.0")
    assert (joining.blocks[ops["up"]].launches, joining.blocks[ops["gelu"]].launches) == (2, 1)
    trial = joining.tried((ops["up"], ops["gelu"]), everywhere=True)
    assert (trial.count, trial.launches, trial.launches_removed) == (12, 24, 12)
    assert trial.after is not None
    assert (joining.before.kernel_count, trial.after.kernel_count) == (180, 168)


def test_blocks_that_cannot_be_joined_have_a_reason(joining: BlockDiagram) -> None:
    ops = _ops(joining, "layers.0")
    trial = joining.tried((ops["query"], ops["key"]), everywhere=True)
    assert trial.refused == (
        f"two library kernels, addmm (op {ops['query']}) and addmm (op {ops['key']}): expected one "
        "at most, followed by loops over its result; leave one out"
    )
    assert (trial.count, trial.bytes_saved, trial.after) == (0, 0, None)


def test_joined_blocks_can_be_split() -> None:
    other = apply(ASKED, "precision", {"dtype": "fp16"})
    changed = apply(other, "fuse", {"ops": "add+native_layer_norm", "modules": "layers.#"})
    joining = BlockDiagram(changed)
    assert len(joining.sets) == 4 and joining.unfused == other
    (choice,) = {each.choice for each in joining.sets}
    assert choice == Choice("add+native_layer_norm", "layers.#")
    assert joining.without(choice) == other
    assert all(each.launches_removed == 1 for each in joining.sets)


def test_a_compilers_sets_are_those_that_it_makes() -> None:
    joining = BlockDiagram(
        Scenario("mlp-tiny", whatifs=(Applied("fusion", {"level": "compiled"}),))
    )
    assert joining.before.mode == "eager"
    assert joining.before.kernel_count == predict(Scenario("mlp-tiny")).kernel_count
    assert all(each.choice is None and len(each.members) > 1 for each in joining.sets)
