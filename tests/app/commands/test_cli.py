"""The commands that list and trace, and the options that set sizes."""

import json
from pathlib import Path

from app.answers.given_sizes import DATA_SIZES
from app.answers.subject import data_sizes, sizes
from simulator.formats.trace_file import load
from tests.app.conftest import Run, stdout


def test_trace_writes_a_trace(run: Run, tmp_path: Path) -> None:
    target = tmp_path / "m.rpt.json"
    text = stdout(run("trace", "mlp-tiny", "-o", target, "--batch", 4))
    trace = load(target)
    assert text == f"{target}: {len(trace.ops)} ops of mlp-tiny, traced for h200_sxm"
    assert trace.samples == 4


def test_gpus(run: Run) -> None:
    text = stdout(run("gpus"))
    assert "h200_sxm" in text and "…" not in text
    row = next(line for line in text.splitlines() if line.startswith("h200_sxm"))
    assert row.split()[-7:] == ["141", "4.80", "989", "989", "66.9", "700", "measured"]
    rows = {line.split()[0]: line for line in text.splitlines() if line}
    assert rows["a10"].endswith(" transferred") and rows["mi300x"].endswith(" transferred")
    assert rows["h100_sxm"].endswith(" partly measured") and rows["h200_sxm"].endswith(" measured")
    assert rows["tpu_v4"].endswith(" data sheet") and rows["apple_m3"].endswith(" data sheet")
    one = stdout(run("gpus", "h200"))
    assert "989.4 TFLOP/s  [1]" in one and "256 FLOP/clock/unit  none" in one
    assert "[2] measured: te42kyfo/gpu-benches" in one
    assert "Kernel times: measured, profile h200." in one


def test_the_source_of_kernel_times_is_in_sentences(run: Run) -> None:
    other = " ".join(stdout(run("gpus", "mi300x")).split())
    assert "Kernel times: transferred, profile h200. ROCm: the kernels of ROCm" in other
    assert other.endswith(
        "not calibrated; 0.8 to 1.9 times as long. Measured: seven steps of BERT, GPT-2, GPT-3 and "
        "OPT in fp32 on an MI100 (sitar-lab/NeuSight, MIT) take 0.84 to 1.01 times the predicted "
        "time, one takes 1.84; convolutions were not measured."
    )
    assumed = " ".join(stdout(run("gpus", "apple_m3")).split())
    assert assumed.endswith("0.5 to 3 times as long. An assumption.")
    assert " ".join(stdout(run("gpus", "h100")).split()).endswith(
        "Kernel times: partly measured, profile h100. Transferred from h200_sxm, with overheads "
        "and an interval measured on this GPU."
    )
    predicted = " ".join(stdout(run("predict", "mlp-tiny", "--gpu", "h100")).split())
    assert (
        "profile h100: transferred 100%, with overheads and an interval measured on this GPU "
        in predicted
    )
    assert "measured on this GPU" not in stdout(run("predict", "mlp-tiny", "--gpu", "b200"))


def test_networks(run: Run) -> None:
    text = stdout(run("networks"))
    assert "bert-base" in text and "width=768 layers=12 heads=12" in text
    assert "(inference only)" in text and "resnet50" in text and "depths=3,4,6,3" in text


def test_hosts(run: Run) -> None:
    text = stdout(run("hosts"))
    assert "xeon-h200" in text and "python call" in text and "cold instruction" in text
    assert "xeon-h100" in text and "measured" in text
    assert "grace" in text and "laptop" in text and "derived" in text
    assert "PassMark's single thread rating, or an estimate of it (grace)." in " ".join(
        text.split()
    )
    assert "`ridgepoint hosts NAME` shows all figures of a host with their sources." in text


def test_doctor(run: Run) -> None:
    text = stdout(run("doctor"))
    assert "torch" in text and "a prediction" in text and "mlp-tiny, " in text
    assert "does not work" not in text


def test_sizes_are_read_as_values() -> None:
    given = ["width=512", "rate=0.5", "depths=2,2,6,2", "mask=true", "cell=lstm", "one=3,"]
    assert sizes(given) == {
        "width": 512,
        "rate": 0.5,
        "depths": (2, 2, 6, 2),
        "mask": True,
        "cell": "lstm",
        "one": (3,),
    }
    assert data_sizes(["nonzero=640", "item=0"]) == {"nonzero": 640, "item": 0}


def test_every_data_dependent_op_can_be_given() -> None:
    from simulator.tracing.sizes import DATA_DEPENDENT

    rules = {rule.__name__ for rule in DATA_DEPENDENT.values()}
    # known from shapes, or listed as assumptions
    fixed = {"equal", "index_put", "allclose", "left_aligned"}
    fixed.add("unique_and_inverse")  # the option `unique` sets it
    assert set(DATA_SIZES) == rules - fixed


def test_traces_go_to_standard_output(run: Run, tmp_path: Path) -> None:
    assert "traceEvents" in json.loads(stdout(run("predict", "mlp-tiny", "--chrome-trace", "-")))
    for command, option in (("predict", "--save-trace"), ("trace", "-o")):
        target = tmp_path / "t.rpt.json"
        target.write_text(stdout(run(command, "mlp-tiny", option, "-")), "utf-8")
        assert load(target).samples == 32
