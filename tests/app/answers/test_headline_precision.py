"""The precision in a headline: the dtype in which the step mostly computes."""

from pathlib import Path

import pytest

from app.answers.answer import compute_answer
from app.answers.figures import title
from app.answers.precision import precision
from app.answers.subject import Scenario, predict, subject
from simulator.formats.trace_file import save
from simulator.records import Op, Signature, Tensor, Trace

NETWORKS = """
from torch import nn, zeros


class Lstm(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.LSTM(64, 64, batch_first=True)

    def forward(self, x):
        return self.rnn(x)[0]

    def example_inputs(self, batch, seq):
        return (zeros(batch, seq, 64),)


class Conv(nn.Conv2d):
    def __init__(self):
        super().__init__(3, 16, 3)

    def example_inputs(self, batch, seq):
        return (zeros(batch, 3, 32, 32),)


class Tokens(nn.Sequential):
    def __init__(self):
        super().__init__(nn.Embedding(100, 64), nn.Linear(64, 64))

    def example_inputs(self, batch, seq):
        return (zeros(batch, seq).long(),)
"""


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("networks") / "fp.py"
    path.write_text(NETWORKS, "utf-8")
    return path


@pytest.mark.parametrize("network", ["Lstm", "Conv", "Tokens"])
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("dtype", ["bf16", "fp32", "autocast"])
def test_a_network_of_a_file(file: Path, network: str, training: bool, dtype: str) -> None:
    """Most ops of an LSTM in training read fp32: the loss, and the step count of each weight."""
    scenario = Scenario(f"{file}:{network}", batch=8, seq=16, dtype=dtype, training=training)
    assert subject(scenario).dtype == dtype  # on the command line
    assert compute_answer(scenario).subject.dtype == dtype  # in the explorer


def test_a_saved_trace(file: Path, tmp_path: Path) -> None:
    """The title of a saved trace states the same precision in the report and in the explorer."""
    traced = subject(Scenario(f"{file}:Lstm", batch=8, seq=16, dtype="bf16", training=True)).trace
    path = tmp_path / "lstm.rpt.json"
    save(traced, path)
    saved = Scenario(str(path))
    shown = subject(saved)
    expected = "lstm, batch 8, bf16, training (adamw) on NVIDIA H200 SXM 141GB"
    assert title(predict(saved, shown), shown) == expected
    answer = compute_answer(saved)
    assert title(answer.prediction, answer.subject) == expected


def tensor(dtype: str, *shape: int) -> Tensor:
    return Tensor(shape, dtype, (*shape[1:], 1))


def op(name: str, inputs: tuple[Tensor, ...], output: Tensor, *names: str) -> Op:
    return Op(Signature(name, inputs, (output,), names, {}), "", "forward")


def step(*ops: Op) -> Trace:
    return Trace(list(ops), [], "inference", None, 1, None, 0, 0, [], "", "")


def product(dtype: str) -> Op:
    x = tensor(dtype, 32, 32)
    return op("aten.mm.default", (x, x), x, "self", "mat2")  # 2 · 32³ = 65,536 FLOPs


def sums(dtype: str) -> Op:
    x = tensor(dtype, 32, 32)
    return op("aten.add.Tensor", (x, x), x, "self", "other")  # 32² = 1,024 FLOPs


def test_most_of_the_flops_count() -> None:
    assert precision(step(product("bfloat16"), *[sums("float32")] * 63)) == "bf16"
    assert precision(step(product("bfloat16"), *[sums("float32")] * 65)) == "fp32"
    assert precision(step(product("float64"), product("float16"), product("float16"))) == "fp16"


def test_weights_of_whole_numbers_do_not_count() -> None:
    """The product of int8 weights writes the activations' dtype; its scales are fp32."""
    tokens, weight = tensor("int64", 32), tensor("int8", 32, 32)
    scale, out = tensor("float32", 32), tensor("bfloat16", 32, 32)
    scaled = op("aten._weight_int8pack_mm.default", (out, weight, scale), out, "self", "mat2", "s")
    assert precision(step(scaled, scaled)) == "bf16"
    looked_up = op("aten.embedding.default", (out, tokens), out, "weight", "indices")
    assert precision(step(looked_up)) == "bf16"  # no FLOPs: ops count
    copied = op("aten.clone.default", (tokens,), tokens, "self")
    assert precision(step(copied)) is None
    assert precision(step()) is None
