"""Chosen ops as one kernel: literal sums, refusals, and that fusing never adds bytes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator.costs import works
from simulator.errors import InputError
from simulator.fusion.scheduling.chosen import Chosen
from simulator.fusion.scheduling.merging import merged
from simulator.prediction import Prediction
from simulator.records import Op, Signature, Storage, Tensor, Trace
from simulator.scenario.resolve import resolve
from simulator.scenario.scenario import Scenario, load, predict, save
from simulator.schedule.memory import memory
from simulator.whatif import apply, parse
from tests.simulator.whatif.conftest import small_scenario

BERT = small_scenario("bert-base", seq=16, dtype="fp16")
LAYERS = 2  # layers of the small network
WIDE = small_scenario("bert-base", seq=16, dtype="fp16", batch=256)


def changed(base: Scenario, *texts: str) -> Scenario:
    for text in texts:
        base = apply(base, *parse(text))
    return base


def moved(trace: Trace) -> int:
    """Bytes that all launches of a trace read and write."""
    return sum(w.bytes for op in trace.ops for w in works(op.signature) or ())


def arithmetic(p: Prediction) -> int:
    return p.flops


def numbers(p: Prediction, *names: str) -> list[int]:
    return [i for i, op in enumerate(p.trace.ops) if op.name.split(".")[1] in names]


def test_a_product_takes_the_gelu_that_reads_it() -> None:
    before, after = predict(BERT), predict(changed(BERT, "+fuse=gelu+addmm"))
    fused = [op for op in after.trace.ops if op.name == "fused.product.default"]
    gelus = numbers(before, "gelu")
    assert len(fused) == len(gelus) and "aten.gelu.default" not in after.trace.names()
    assert before.kernel_count - after.kernel_count == len(gelus)
    assert before.host_s > after.host_s
    # the product's result is neither written nor read: twice the size of gelu's input, for each
    # gelu
    held = sum(before.trace.ops[i].inputs[0].nbytes for i in gelus)
    assert moved(before.trace) - moved(after.trace) == 2 * held
    assert arithmetic(before) == arithmetic(after)


def test_the_host_pays_one_eager_op_and_a_graph_nothing() -> None:
    first = numbers(predict(BERT), "gelu")[0]
    up = numbers(predict(BERT), "addmm")
    product = max(i for i in up if i < first)
    text = f"+fuse={product}+{first}"
    trace = predict(changed(BERT, text)).trace
    fused = next(op for op in trace.ops if op.name == "fused.product.default")
    old = predict(BERT).trace.ops[product]
    assert (fused.python_calls, fused.module_calls) == (old.python_calls, old.module_calls)
    graph, both = predict(changed(BERT, "+cuda_graph")), predict(changed(BERT, "+cuda_graph", text))
    assert both.host_s == graph.host_s and both.kernel_count == graph.kernel_count - 1


def test_a_sum_and_its_norm_are_one_reduction() -> None:
    prediction = predict(changed(BERT, "+fuse=add+native_layer_norm"))
    reductions = [op for op in prediction.trace.ops if op.name == "fused.reduction.default"]
    assert len(reductions) == 2 * LAYERS + 1  # two per layer, and one for the embeddings
    tensor = BERT.batch * 16 * prediction.trace.ops[-1].inputs[0].itemsize  # pyright: ignore
    assert all(op.signature.read_bytes >= 2 * tensor for op in reductions)
    assert memory(prediction.trace).peak_bytes <= predict(BERT).memory.peak_bytes


def test_training_stores_the_tensors_of_the_backward_pass() -> None:
    base = small_scenario("bert-base", seq=16, training=True)
    before, after = predict(base), predict(changed(base, "+fuse=gelu+addmm,phase=forward"))
    fused = [op for op in after.trace.ops if op.name == "fused.product.default"]
    assert fused and all(len(op.outputs) == 2 for op in fused)  # gelu's backward reads its input
    assert after.kernel_count < before.kernel_count
    assert memory(after.trace).peak_bytes <= before.memory.peak_bytes


def test_compiling_a_fused_step_leaves_it_one_kernel() -> None:
    prediction = predict(changed(BERT, "+fuse=gelu+addmm", "+mode=compiled"))
    assert sum(op.name == "fused.product.default" for op in prediction.trace.ops) >= LAYERS


def test_order_does_not_matter_and_files_keep_it(tmp_path: Any) -> None:
    texts = ("+fuse=gelu+addmm", "+fuse=add+native_layer_norm", "+cuda_graph", "+bandwidth=2")
    one, other = changed(BERT, *texts), changed(BERT, *reversed(texts))
    assert resolve(one) == resolve(other)
    save(one, tmp_path / "asked.toml")
    assert predict(load(tmp_path / "asked.toml")).period_s == predict(other).period_s
    assert changed(one, texts[0]) is one


def reason(*texts: str, base: Scenario = BERT) -> str:
    with pytest.raises(InputError) as caught:
        predict(changed(base, *texts))
    return str(caught.value)


def test_impossible_fusions_are_refused_with_the_reason() -> None:
    plain = predict(BERT)
    adds, norms = numbers(plain, "add"), numbers(plain, "native_layer_norm")
    between = [i for i in adds if i > norms[0]][:2]
    norm = f"native_layer_norm (op {between[0] + 1})"
    assert reason(f"+fuse={between[0]}+{between[1]}") == (
        f"fuse: a cycle: {norm} is not chosen, but needs add (op {between[0]}), and add (op "
        f"{between[1]}) needs {norm}; choose {norm} too, or a shorter chain"
    )
    products = numbers(plain, "addmm")
    assert reason(f"+fuse={products[0]}+{products[1]}") == (
        f"fuse: two library kernels, addmm (op {products[0]}) and addmm (op {products[1]}): "
        "expected one at most, followed by loops over its result; leave one out"
    )
    assert reason(f"+fuse={norms[0]}+{products[0]}") == (
        f"fuse: addmm (op {products[0]}) reads the result of another chosen op: a library kernel "
        "takes its operands from memory; choose ops that follow it"
    )
    attention = next(i for i, op in enumerate(plain.trace.ops) if "attention" in op.name)
    assert reason(f"+fuse={attention}+{norms[-1]}").endswith(
        f"(op {attention}) cannot be fused: attention is already one library kernel; leave it out"
    )
    assert reason("+fuse=5-99999") == (
        f"fuse: op 99999: expected numbers below {len(plain.trace.ops)}; `ridgepoint predict "
        "--json -` lists the ops"
    )
    assert reason("+fuse=conv2d").startswith("fuse: no op 'conv2d' in modules '**': expected names")
    assert reason("+fuse=*").startswith("fuse: every op of the network: expected names or numbers")
    assert reason("+fuse=layers.#.up").startswith("fuse: layers.0.up in the forward pass: one op")
    assert reason(f"+fuse={between[0]}-{between[0] + 1}", "+fuse=add+native_layer_norm") == (
        f"fuse: add (op {between[0]}) is in two sets: expected each op in one set only; "
        "change one of them"
    )


def test_data_dependent_ops_are_refused() -> None:
    base = Scenario("mixtral-small", batch=1, seq=32, dtype="bf16")
    trace = predict(base).trace
    index = next(i for i, op in enumerate(trace.ops) if "nonzero" in op.name)
    assert f"nonzero (op {index}) depends on data" in reason(
        f"+fuse={index - 1}-{index + 1}", base=base
    )


def test_levels_are_those_of_the_rule_and_compiled_is_the_mode() -> None:
    eager = predict(WIDE)
    messages = {
        level: predict(changed(WIDE, f"+fusion={level}"))
        for level in (
            "none",
            "pointwise",
            "pointwise+reductions",
            "compiled",
            "xla",
            "nvfuser",
            "tensorrt",
        )
    }
    compiled = predict(replace(WIDE, mode="compiled"))
    assert messages["compiled"].period_s == compiled.period_s
    assert messages["compiled"].kernel_count == compiled.kernel_count
    assert messages["none"].period_s == eager.period_s
    counts = [
        messages[level].kernel_count for level in ("none", "pointwise", "pointwise+reductions")
    ]
    assert counts == sorted(counts, reverse=True) and counts[0] > counts[-1]
    for level in ("pointwise", "pointwise+reductions", "xla", "nvfuser", "tensorrt"):
        assert moved(messages[level].trace) <= moved(eager.trace)
    assert any("the host of XLA are approximated" in note for note in messages["xla"].notes)
    tensorrt = messages["tensorrt"].trace.names()
    assert "fused.product.default" in tensorrt and "aten.native_layer_norm.default" in tensorrt
    assert reason("+fusion=tensorrt", base=small_scenario("mlp-tiny", training=True)) == (
        "fusion=tensorrt: TensorRT runs no backward pass: expected inference; choose another level"
    )


def test_a_graph_replays_what_is_fused_in_either_order() -> None:
    one = changed(BERT, "+fusion=compiled", "+cuda_graph")
    other = changed(BERT, "+cuda_graph", "+fusion=compiled")
    assert resolve(one) == resolve(other)
    p = predict(one)
    assert p.mode == "cuda_graph"
    assert p.kernel_count == predict(changed(BERT, "+mode=compiled")).kernel_count


# -- fusing never adds bytes: random chains, random sets ----------------------------------

ROWS, COLS = 64, 32
SHAPE = Tensor((ROWS, COLS), "float32", (COLS, 1))
LINE = Tensor((ROWS, 1), "float32", (1, 1))


def program(kinds: list[tuple[str, int, int]]) -> Trace:
    """Ops on one input; each reads results of earlier ops."""
    storages = [Storage(SHAPE.nbytes, -1, None, "input")]
    values: list[tuple[Tensor, int]] = [(SHAPE, 0)]
    ops: list[Op] = []
    for kind, a, b in kinds:
        one, other = values[a % len(values)], values[b % len(values)]
        inputs, names, args, out = [one], ("self",), {}, SHAPE
        if kind in ("add", "mul"):
            inputs, names = [one, other], ("self", "other")
            out = SHAPE if SHAPE in (one[0], other[0]) else LINE
        elif kind == "sum":
            args, out = {"dim": [1], "keepdim": True}, LINE
        elif kind == "mm" and one[0] == other[0] == SHAPE:
            square = Tensor((COLS, COLS), "float32", (1, COLS))
            storages.append(Storage(square.nbytes, -1, None, "weight"))
            inputs, names = [one, (square, len(storages) - 1)], ("self", "mat2")
        else:
            kind, out = "exp", one[0]
        overload = {"add": "Tensor", "mul": "Tensor", "sum": "dim_IntList"}.get(kind, "default")
        storages.append(Storage(out.nbytes, len(ops), None, "activation"))
        numbers = (*(s for _, s in inputs), len(storages) - 1)
        order = {s: i for i, s in enumerate(dict.fromkeys(numbers))}
        signature = Signature(
            f"aten.{kind}.{overload}",
            tuple(t for t, _ in inputs),
            (out,),
            names,
            args,
            tuple(order[s] for s in numbers),
        )
        ops.append(Op(signature, "", "forward", numbers))
        values.append((out, len(storages) - 1))
    last = {s: i for i, op in enumerate(ops) for s in op.storages}
    end = len(storages) - 1
    kernels = [
        s if s.born < 0 or n == end else Storage(s.nbytes, s.born, last[n] + 1, s.role)
        for n, s in enumerate(storages)
    ]
    return Trace(ops, kernels, "inference", None, 1, None, 0, 0, [], "", "h200_sxm")


_OPS = st.lists(
    st.tuples(
        st.sampled_from(["exp", "add", "mul", "sum", "mm"]), st.integers(0, 99), st.integers(0, 99)
    ),
    min_size=2,
    max_size=10,
)


@given(_OPS, st.data())
@settings(max_examples=500, deadline=None)
def test_fusing_never_adds_bytes(kinds: list[tuple[str, int, int]], data: st.DataObject) -> None:
    trace = program(kinds)
    indices = st.integers(0, len(trace.ops) - 1)
    members = data.draw(st.sets(indices, min_size=2, max_size=5))
    chosen = Chosen(trace)
    try:
        samples = merged(chosen, [chosen.kernel(members)])
    except InputError as error:
        assert str(error)
        return
    assert moved(samples) <= moved(trace)
    assert len(samples.ops) == len(trace.ops) - len(members) + 1
    present = {n for n, s in enumerate(samples.storages) if s.born < 0}
    for op in samples.ops:  # nothing is read before it is written
        reads = op.storages[: len(op.inputs)]
        assert present.issuperset(reads)
        present.update(op.storages)
    flops = [
        sum(w.flops for op in t.ops for w in works(op.signature) or ()) for t in (trace, samples)
    ]
    assert flops[0] == flops[1]
