"""Recurrent layers against hand-computed sums."""

from __future__ import annotations

from typing import Any

from simulator.costs import Work
from tests.simulator.costs.conftest import launched, sig

# 64 steps, batch 16, 32 inputs, 48 hidden, two layers
X = ((64, 16, 32), "float16")
Y = ((64, 16, 48), "float16")


def lstm(name: str = "aten._cudnn_rnn.default", **more: Any) -> tuple[Work, ...]:
    args: dict[str, Any] = {
        "weight_stride0": 4,
        "mode": 2,
        "hidden_size": 48,
        "proj_size": 0,
        "num_layers": 2,
        "batch_first": False,
        "dropout": 0.0,
        "train": False,
        "bidirectional": False,
        "batch_sizes": [],
        "output_mask": [True] * 4,
        **more,
    }
    return launched(sig(name, Y, None, args, input=X, weight=[], hx=((2, 16, 48), "float16")))


def test_a_product_and_a_recurrence_for_each_layer() -> None:
    first, low, second, high = lstm()
    assert [w.family for w in (first, low, second, high)] == [
        "rnn_input",
        "rnn",
        "rnn_input",
        "rnn",
    ]
    # 2·(64·16)·(4·48)·32 = 12,582,912
    assert (first.flops, first.dims["k"]) == (12582912, 32)
    # 2·1024·192·48 = 18,874,368, and the same for the recurrence h·W_hh
    assert second.flops == low.flops == high.flops == 18874368
    # x [1024, 32], W [192, 32] and two biases of 192, in 2 bytes: 65,536 + 12,288 + 768
    assert (first.read_bytes, first.write_bytes) == (78592, 1024 * 192 * 2)
    assert low.dims == {
        "kind": "lstm",
        "b": 16,
        "steps": 64,
        "hidden": 48,
        "input": 32,
        "gates": 4,
        "train": False,
        "direction": "fwd",
        "reverse": False,
        "projection": 48,
    }


def test_the_recurrence_keeps_gates_and_cells_for_training() -> None:
    _, inference, *_ = lstm()
    _, training, *_ = lstm(train=True)
    # reads 1024·192·2 = 393,216 of gates and 192·48·2 = 18,432 of W_hh
    assert inference.read_bytes == 411648
    # writes h, 1024·48·2 = 98,304 bytes; training also writes the gates and c
    assert inference.write_bytes == 98304
    assert training.write_bytes == 98304 + 393216 + 98304


def test_both_directions() -> None:
    works = lstm(bidirectional=True)
    assert [w.dims["reverse"] for w in works if w.family == "rnn"] == [False, True] * 2
    # the second layer reads the 48 outputs of both directions
    assert [w.dims["k"] for w in works if w.family == "rnn_input"] == [32, 32, 96, 96]


def test_dropout_is_between_layers_in_training() -> None:
    assert [w.family for w in lstm(dropout=0.1)].count("pointwise") == 0
    works = lstm(dropout=0.1, train=True)
    assert [w.family for w in works] == ["rnn_input", "rnn", "pointwise", "rnn_input", "rnn"]


def test_gru_has_three_gates_and_packed_rows_are_counted() -> None:
    x = ((100, 32), "float32")
    args = {
        "weight_stride0": 4,
        "mode": 3,
        "hidden_size": 48,
        "num_layers": 1,
        "batch_sizes": [30, 30, 25, 15],
    }
    op = sig("aten._cudnn_rnn.default", ((100, 48), "float32"), None, args, input=x)
    product, recurrence = launched(op)
    # 2·100·(3·48)·32 = 921,600
    assert (product.flops, product.dtype) == (921600, "tf32")
    assert (recurrence.dims["steps"], recurrence.dims["b"]) == (4, 30)


def test_backward_runs_last_layer_first() -> None:
    works = lstm("aten._cudnn_rnn_backward.default", train=True)
    # zeros for h and c, which have no gradients; for each layer the recurrence and dX; then
    # the biases of both; then dW_ih, and dW_hh of the first state and of the others
    inputs, biases, weights = ["rnn", "rnn_input"] * 2, ["reduction"] * 2, ["gemm"] * 3 * 2
    assert [w.family for w in works] == ["fill"] * 2 + inputs + biases + weights
    rnn, dx = works[4:6]
    assert (rnn.dims["direction"], rnn.dims["input"]) == ("bwd", 32)
    # dX [1024, 32] with a depth of 192; dW_ih [192, 32] with a depth of 1,024; dW_hh [192, 48] with
    # depths of 16 and of 1,008
    dw, first, others = works[-3:]
    assert [dx.flops, dw.flops] == [12582912, 12582912]
    assert [first.flops, others.flops] == [294912, 18579456]
    masked = lstm("aten._cudnn_rnn_backward.default", output_mask=[False, True, True, False])
    # the first layer's inputs need no gradient, the second layer's do
    assert [w.family for w in masked] == ["fill"] * 2 + ["rnn", "rnn_input", "rnn"]


def test_batch_first_is_copied_to_steps_first() -> None:
    x, out = ((16, 64, 32), "float16"), ((16, 64, 48), "float16")
    args = {"mode": 2, "hidden_size": 48, "batch_first": True, "weight_stride0": 4}
    copied, *_ = launched(sig("aten._cudnn_rnn.default", out, None, args, input=x))
    # 16·64·32 elements of 2 bytes
    assert (copied.family, copied.read_bytes, copied.write_bytes) == ("copy", 65_536, 65_536)
    one = ((1, 64, 32), "float16")
    product, *_ = launched(sig("aten._cudnn_rnn.default", out, None, args, input=one))
    assert product.family == "rnn_input"


def test_lstm_cell() -> None:
    gates, state = ((16, 192), "float32"), ((16, 48), "float32")
    op = sig(
        "aten._thnn_fused_lstm_cell.default",
        [state, state, gates],
        input_gates=gates,
        hidden_gates=gates,
        cx=state,
    )
    (work,) = launched(op)
    # 16·48·13 = 9,984
    assert work.flops == 9984
    # reads 2·16·192·4 + 16·48·4 = 27,648 bytes, writes 2·3,072 + 12,288 = 18,432
    assert (work.read_bytes, work.write_bytes) == (27648, 18432)


def test_cell_backwards_sum_their_biases() -> None:
    gates, state = ((16, 192), "float32"), ((16, 48), "float32")
    lstm_op = sig(
        "aten._thnn_fused_lstm_cell_backward_impl.default",
        [gates, state, ((192,), "float32")],
        None,
        {"has_bias": True},
        grad_hy=state,
        grad_cy=state,
        cx=state,
        cy=state,
        workspace=gates,
    )
    main, bias = launched(lstm_op)
    assert main.write_bytes == 12288 + 3072
    # reads 16·192·4 bytes, writes 192·4
    assert (bias.read_bytes, bias.write_bytes) == (12288, 768)


def test_weights_that_are_not_views_of_a_buffer_are_copied_into_one() -> None:
    """In bfloat16: zeros for all weights, then a copy of each, before the products."""
    weights = [((192, 32), "float16"), ((192, 48), "float16")]
    op = sig(
        "aten._cudnn_rnn.default",
        Y,
        None,
        {"mode": 2, "hidden_size": 48, "num_layers": 1, "weight_stride0": 2},
        input=X,
        weight=weights,
        hx=((1, 16, 48), "float16"),
    )
    fill, first, second, *products = launched(op)
    assert fill.write_bytes == 2 * (192 * 32 + 192 * 48)
    assert [w.write_bytes for w in (first, second)] == [2 * 192 * 32, 2 * 192 * 48]
    assert [w.family for w in products] == ["rnn_input", "rnn"]


def test_the_instructions_of_cells() -> None:
    """A state takes its FLOPs, nine more instructions for each exponential, a load of each input
    and a store."""
    wide, state, bias = ((16, 192), "float32"), ((16, 48), "float32"), ((192,), "float32")
    cells: dict[str, tuple[dict[str, Any], int, int]] = {
        "lstm_cell": ({"input_gates": wide, "hidden_gates": wide, "cx": state}, 13, 5),
        "gru_cell": ({"input_gates": wide, "hidden_gates": wide, "hx": state}, 10, 3),
    }
    for name, (inputs, flops, exponentials) in cells.items():
        for biases, more in (
            ({}, 0),
            ({"input_bias": bias, "hidden_bias": bias}, 8 if "l" in name[:1] else 6),
        ):
            op = sig(
                f"aten._thnn_fused_{name}.default", [state, wide], None, {}, **inputs, **biases
            )
            (work,) = launched(op)
            each = flops + more
            assert work.flops == 768 * each
            assert work.instructions == 768 * (each + 9 * exponentials + 3 + len(biases) + 1)
            assert (work.write_bytes, work.dims["inputs"]) == (3072 + 12288, 3 + len(biases))


def test_the_gradients_of_cells() -> None:
    gates, state = ((16, 144), "float32"), ((16, 48), "float32")
    name = "aten._thnn_fused_gru_cell_backward.default"
    results = [gates, gates, state, ((144,), "float32"), ((144,), "float32")]
    for args, sums in (({}, 0), ({"has_bias": False}, 0), ({"has_bias": True}, 2)):
        op = sig(name, results, None, args, grad_hy=state, workspace=((16, 240), "float32"))
        main, *biases = launched(op)
        # 18 FLOPs without exponentials for each of 768 states, two loads and a store
        assert (main.flops, main.instructions) == (768 * 18, 768 * (18 + 2 + 1))
        # both sets of gates and the state
        assert main.write_bytes == 2 * 9216 + 3072
        assert [(w.dims["rows"], w.dims["cols"], w.dims["inner"]) for w in biases] == [
            (144, 16, 144)
        ] * sums
    wide = ((16, 192), "float32")
    op = sig("aten._thnn_fused_lstm_cell_backward_impl.default", [wide, state], None, {},
             grad_hy=state, cx=state, workspace=wide)  # fmt: skip
    (main,) = launched(op)
    assert (main.flops, main.instructions) == (768 * 23, 768 * (23 + 9 + 3 + 1))
