"""A network extended from a few traced blocks equals the network traced in full."""

import pytest

from simulator.blocks.repetition import repeated
from simulator.blocks.runs import UnequalBlocksError, block_of, runs
from simulator.cluster import cluster
from simulator.cluster.layout import layout
from simulator.cluster.step import NetworkStep
from simulator.errors import InputError
from simulator.parallel.buckets import bucketed
from simulator.parallel.network_step import network_roles
from simulator.parallel.predict_step import predict_network
from simulator.parallel.schedules import Action, actions
from simulator.schedule.memory import memory
from simulator.tracing.parallel.networks import program
from simulator.tracing.parallel.program import trace_rank

TWO = cluster("2xh200")


def step(layers, network="gpt2", **fields):
    sizes = {"width": 256, "heads": 4, "vocab": 1000, "layers": layers}
    return NetworkStep(network, 4, 64, "bf16", True, "adamw", sizes, **fields)


def traced(layers, text, ranks=2, passes=1):
    spread = layout(text, cluster(f"{ranks}xh200"))
    return trace_rank(program(step(layers), spread, passes), 0, ranks, TWO.gpu, ranks)


@pytest.mark.layered(5, daily=["fsdp-2-1"])
@pytest.mark.parametrize(("text", "ranks", "passes"), [("fsdp", 2, 1), ("tp=2", 2, 2)])
def test_blocks_are_repeated_as_torch_runs_them(text, ranks, passes):
    few, whole = traced(4, text, ranks, passes), traced(6, text, ranks, passes)
    longer = repeated(few, "blocks", 6)
    assert [op.signature for op in longer.ops] == [op.signature for op in whole.ops]
    assert [(op.stream, op.after, op.wrapped) for op in longer.ops] == [
        (op.stream, op.after, op.wrapped) for op in whole.ops
    ]
    numbers = {}  # storages correspond one to one
    for mine, theirs in zip(longer.ops, whole.ops, strict=True):
        for a, b in zip(mine.storages, theirs.storages, strict=True):
            assert numbers.setdefault(a, b) == b
    assert memory(longer).peak_bytes == pytest.approx(memory(whole).peak_bytes, rel=1e-4)


def test_too_few_blocks_are_refused():
    with pytest.raises(UnequalBlocksError, match="3 blocks"):
        repeated(traced(3, "dp=1", 1), "blocks", 6)


def test_runs_begin_where_another_block_does():
    blocks = runs(traced(2, "dp=1", 1), "blocks")
    assert [(run.block, run.phase) for run in blocks] == [
        (0, "forward"),
        (1, "forward"),
        (1, "backward"),
        (0, "backward"),
        (None, "optimizer"),
    ]
    assert block_of("module.blocks.11.up", "blocks") == 11
    assert block_of("myblocks.1.up", "blocks") is None


def test_buckets_are_those_of_ddp():
    alone, ddp = traced(4, "dp=1", 1), traced(4, "ddp")
    buckets = bucketed(alone, (0, 1))
    assert [op.name for op in buckets.ops] == [op.name for op in ddp.ops]
    bytes_of = [
        [op.collective.message_bytes for op in t.ops if op.collective] for t in (buckets, ddp)
    ]
    assert bytes_of[0] == bytes_of[1]
    assert memory(buckets).peak_bytes == memory(ddp).peak_bytes


def test_schedules():
    assert [(a.kind[0], a.microbatch) for a in actions("1f1b", 0, 2, 3, 1)] == [
        ("f", 0),
        ("f", 1),
        ("b", 0),
        ("f", 2),
        ("b", 1),
        ("b", 2),
    ]
    assert actions("gpipe", 1, 2, 2, 1)[:3] == [
        Action("forward", 0, 0),
        Action("forward", 0, 1),
        Action("backward", 0, 0),
    ]
    for stage in range(4):
        order = actions("interleaved", stage, 4, 8, 2)
        assert len(set(order)) == len(order) == 32  # 2 passes · 2 chunks · 8 micro-batches
    with pytest.raises(InputError, match="6 micro-batches and pp = 4: expected a multiple of pp"):
        actions("interleaved", 0, 4, 6, 2)


def duration(schedule, stages, microbatches, chunks):
    """The time at which the last of several identical stages ends, if a pass through a chunk takes
    1 and messages take 0."""
    orders = [actions(schedule, s, stages, microbatches, chunks) for s in range(stages)]
    done, clock, parts = {}, [0] * stages, stages * chunks
    while any(orders):
        for stage, order in enumerate(orders):
            while order:
                kind, chunk, microbatch = order[0].kind, order[0].chunk, order[0].microbatch
                part = chunk * stages + stage
                before = [("forward", part - 1)] if kind == "forward" else [("forward", part)]
                if kind == "backward" and part < parts - 1:
                    before.append(("backward", part + 1))
                if any(p >= 0 and (k, p, microbatch) not in done for k, p in before):
                    break
                ready = max((done[k, p, microbatch] for k, p in before if p >= 0), default=0)
                clock[stage] = max(clock[stage], ready) + 1
                done[kind, part, microbatch] = clock[stage]
                order.pop(0)
    return max(clock)


@pytest.mark.parametrize(
    ("schedule", "chunks"), [("1f1b", 1), ("gpipe", 1), ("interleaved", 2), ("interleaved", 4)]
)
@pytest.mark.parametrize(("stages", "microbatches"), [(2, 2), (2, 8), (4, 8), (8, 16)])
def test_the_bubble_is_the_published_one(schedule, chunks, stages, microbatches):
    """Idle time: p − 1 passes forward and the same number backward (Narayanan et al. 2021, 2.2)."""
    took = duration(schedule, stages, microbatches, chunks)
    assert took == 2 * chunks * microbatches + 2 * (stages - 1)


@pytest.mark.layered(5)
@pytest.mark.parametrize("schedule", ["1f1b", "gpipe", "interleaved"])
def test_stages_send_the_tensors_that_the_next_one_receives(schedule):
    spread = layout(f"pp=2 microbatches=4 schedule={schedule}", TWO)
    roles = network_roles(step(4), spread, TWO)
    messages = {
        rank: [op.collective for op in trace.ops if op.collective]
        for rank, trace in roles.traces.items()
    }
    for tag in (0, 1):
        sent = [c.message_bytes for c in messages[0] if c.kind == "send" and c.tag == tag]
        received = [c.message_bytes for c in messages[1] if c.kind == "recv" and c.tag == tag]
        assert sent == received
    # 1 sample · 64 tokens · width 256 · 2 bytes
    assert {c.message_bytes for c in messages[0]} == {1 * 64 * 256 * 2}
    names = [[op.name for op in trace.ops] for trace in roles.traces.values()]
    assert "aten.embedding.default" in names[0] and "aten.embedding.default" not in names[1]
    assert "aten._log_softmax.default" in names[1] and "aten._log_softmax.default" not in names[0]
    weights = [
        sum(s.nbytes for s in t.storages if s.role == "weight") for t in roles.traces.values()
    ]
    whole = traced(4, "dp=1", 1)
    # the head shares the embedding's weight: the first and the last stage hold it
    shared = 1000 * 256 * 2
    assert sum(weights) == sum(s.nbytes for s in whole.storages if s.role == "weight") + shared


def test_gpipe_keeps_more_activations_than_1f1b():
    peaks = [
        predict_network(step(4), f"pp=2 microbatches=4 schedule={name}", TWO).peak_memory_bytes
        for name in ("1f1b", "gpipe")
    ]
    assert peaks[0] < peaks[1]


@pytest.mark.parametrize(
    ("text", "network", "message"),
    [
        (
            "pp=2",
            "resnet50",
            "pp = 2 does not divide resnet50, which has no list of identical blocks",
        ),
        ("tp=2 microbatches=3", "gpt2", "microbatches=3 does not divide the batch 4 of a replica"),
    ],
)
def test_refusals(text, network, message):
    question = NetworkStep(network, 4, 64, "bf16", True, "sgd", {})
    with pytest.raises(InputError, match=message):
        predict_network(question, text, TWO)


def test_heads_that_do_not_divide_are_refused():
    question = NetworkStep(
        "gpt2", 1, 64, "bf16", False, None, {"width": 192, "heads": 3, "layers": 4}
    )
    with pytest.raises(
        InputError, match=r"tp = 2 does not divide heads = 3 of blocks\.0\.attention"
    ):
        predict_network(question, "tp=2", TWO)


@pytest.mark.parametrize(
    ("network", "seq"), [("bert-base", 64), ("vit-b16", None), ("llama3-1b", 64)]
)
def test_tensor_parallel_families_share_their_products(network, seq):
    sizes = {"layers": 2}
    step_of_two_layers = NetworkStep(network, 1, seq, "bf16", False, None, sizes)
    (half,) = predict_network(step_of_two_layers, "tp=2", TWO).ranks
    (whole,) = predict_network(step_of_two_layers, "dp=1", "1xh200").ranks
    reduced = [op for op in half.trace.ops if op.collective is not None]
    assert [op.collective.kind for op in reduced] == ["all_reduce"] * 4  # 2 layers · 2
    assert half.peak_memory_bytes < whole.peak_memory_bytes
