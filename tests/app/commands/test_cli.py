"""The command: what it prints, what it writes, and how it fails."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from app.answers.subject import DATA_SIZES, data_sizes, sizes
from simulator.errors import InputError
from simulator.formats.trace_file import load
from simulator.hardware.host import host

Run = Callable[..., Any]
ROOT = Path(__file__).parents[3]


def lines(result: Any) -> str:
    assert result.exit_code == 0, result.output
    return "\n".join(line.rstrip() for line in result.stdout.splitlines())


def shell(code: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=60,
        env={**os.environ, "COLUMNS": "80"},
    )


def test_the_report(run: Run) -> None:
    text = lines(run("predict", "mlp-tiny"))
    assert "mlp-tiny, batch 32, fp32, inference on NVIDIA H200 SXM 141GB: " in text
    for part in (
        "overhead-bound",
        "█ compute",
        "▓ memory",
        "░ overhead",
        "step, back to back",
        "step, alone",
        "throughput",
        "samples/s",
        "GPU busy",
        "host work",
        "kernels",
        "FLOP utilisation",
        "GPU idle",
        "waiting for the host",
        "memory at peak",
        "fits: ",
        "Heaviest kernels",
        "addmm",
        "32×128×128",
        "Heaviest modules",
        "head",
        "kernel times",
        "profile h200",
        "no source for",
    ):
        assert part in text, part
    assert "e-0" not in text
    assert max(map(len, text.splitlines())) <= 80
    assert "…" not in text


def test_a_wide_terminal_shows_more(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    text = lines(run("predict", "mlp-tiny"))
    assert "family" in text and "gemm" in text


def test_options_reach_the_prediction(run: Run, tmp_path: Path) -> None:
    target = tmp_path / "p.json"
    lines(
        run(
            "predict",
            "gpt2",
            "--batch",
            2,
            "--seq",
            64,
            "--dtype",
            "autocast",
            "--train",
            "--optimizer",
            "sgd",
            "--gpu",
            "a100",
            "--size",
            "layers=1",
            "--size",
            "width=64",
            "--size",
            "heads=2",
            "--json",
            target,
        )
    )
    scenario = json.loads(target.read_text("utf-8"))["scenario"]
    assert scenario == {
        "network": "gpt2",
        "batch": 2,
        "seq": 64,
        "dtype": "autocast",
        "phase": "training",
        "optimizer": "sgd",
        "mode": "eager",
        "gpu": "a100_sxm_80",
        "gpu_name": "A100 SXM4 80GB",
        "host": scenario["host"],
        "whatifs": [],
    }


def test_what_does_not_fit_is_said_first(run: Run) -> None:
    text = lines(run("predict", "mlp-wide", "--gpu", "t4", "--size", "depth=64"))
    assert "It does not fit: " in " ".join(text.split())[:400] and "of 16.0 GiB" in text


def test_assumptions_are_listed_once(run: Run) -> None:
    text = lines(run("predict", "mixtral-small", "--size", "layers=1", "--data-size", "nonzero=64"))
    assert "Assumed, because it depends on data" in text
    assert "aten.nonzero.default: 64 rows, as given" in text
    assert text.count("aten.nonzero.default") == 1


def test_rows_are_limited(run: Run, saved: Path) -> None:
    text = lines(run("predict", saved, "--top", 1))
    assert "addmm" in text and "relu" not in text and " more " in text


def test_exports_and_a_saved_trace(run: Run, tmp_path: Path) -> None:
    lines(
        run(
            "predict",
            "mlp-tiny",
            "--csv",
            tmp_path / "k.csv",
            "--chrome-trace",
            tmp_path / "t.json",
            "--save-trace",
            tmp_path / "m.rpt",
        )
    )
    assert sorted(f.name for f in tmp_path.iterdir()) == ["k.csv", "m.rpt", "t.json"]
    assert "traceEvents" in json.loads((tmp_path / "t.json").read_text("utf-8"))
    assert load(tmp_path / "m.rpt").samples == 32
    assert "m, batch 32, fp32, inference on" in lines(run("predict", tmp_path / "m.rpt"))


def test_standard_output_carries_one_document(run: Run, saved: Path) -> None:
    assert json.loads(lines(run("predict", saved, "--json", "-")))["kernel_count"] > 0
    assert lines(run("predict", saved, "--csv", "-")).startswith("index,op,name,")


def test_trace_writes_a_trace(run: Run, tmp_path: Path) -> None:
    target = tmp_path / "m.rpt.json"
    text = lines(run("trace", "mlp-tiny", "-o", target, "--batch", 4))
    trace = load(target)
    assert text == f"{target}: {len(trace.ops)} ops of mlp-tiny, traced for h200_sxm"
    assert trace.samples == 4


def test_gpus(run: Run) -> None:
    text = lines(run("gpus"))
    assert "h200_sxm" in text and "…" not in text
    row = next(line for line in text.splitlines() if line.startswith("h200_sxm"))
    assert row.split()[-7:] == ["141", "4.80", "989", "989", "66.9", "700", "measured"]
    rows = {line.split()[0]: line for line in text.splitlines() if line}
    assert rows["a10"].endswith(" transferred") and rows["mi300x"].endswith(" transferred")
    assert rows["tpu_v4"].endswith(" data sheet") and rows["apple_m3"].endswith(" data sheet")
    one = lines(run("gpus", "h200"))
    assert "989.4 TFLOP/s  [1]" in one and "256 FLOP/clock/unit  none" in one
    assert "[2] measured: te42kyfo/gpu-benches" in one
    assert "Kernel times: measured, profile h200." in one
    assert "Kernel times: transferred, profile h200. ROCm: the kernels of ROCm" in lines(
        run("gpus", "mi300x")
    )


def test_networks(run: Run) -> None:
    text = lines(run("networks"))
    assert "bert-base" in text and "width=768 layers=12 heads=12" in text
    assert "(inference only)" in text and "resnet50" in text and "depths=3,4,6,3" in text


def test_hosts(run: Run) -> None:
    text = lines(run("hosts"))
    assert "xeon-h200" in text and "python call" in text and "cold instruction" in text
    assert "xeon-h100" in text and "measured" in text
    assert "grace" in text and "laptop" in text and "derived" in text


def test_doctor(run: Run) -> None:
    text = lines(run("doctor"))
    assert "torch" in text and "a prediction" in text and "mlp-tiny, " in text
    assert "does not work" not in text


def unknown_host() -> str:
    with pytest.raises(InputError) as caught:
        host("nope")
    return str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["nope-1"], "unknown network 'nope-1'; `ridgepoint networks` lists all"),
        (["bert"], "unknown network 'bert': did you mean 'bert-base' or 'bert-large'? "
         "`ridgepoint networks` lists all"),
        (["nope.py:make"], "no such file 'nope.py': expected FILE.py:FACTORY; check the path"),
        (["nope.rpt.json"], "cannot read the trace nope.rpt.json: No such file or directory"),
        (["mlp-tiny", "--host", "nope"],
         unknown_host()),
        (["mlp-tiny", "--batch", "0"], "batch is 0: expected 1 or more"),
        (["mlp-tiny", "--seq", "0"], "seq is 0: expected 1 or more"),
        (["mlp-tiny", "--seq", "8"], "network 'mlp-tiny' has no sequence: leave seq out"),
        (["chain", "--train"],
         "network 'chain' has no training step: predict inference instead"),
        (["mlp-tiny", "--size", "width"],
         "--size 'width': expected name=value, such as width=512"),
        (["mlp-tiny", "--size", "width=1", "--size", "width=2"],
         "--size width is given twice: expected it once; remove one"),
        (["mlp-tiny", "--size", "widt=3"], "network 'mlp-tiny' has no size 'widt': did you mean "
         "'width'? its sizes are width, depth, classes"),
        (["mlp-tiny", "--data-size", "nope=3"], "unknown --data-size 'nope': expected one of "
         "bincount, index, item, masked_select, nonzero, repeat_interleave, unique"),
        (["mlp-tiny", "--data-size", "nonzero=-3"],
         "--data-size nonzero=-3: expected a whole number of at least 0"),
        (["mlp-tiny", "--json", "-", "--csv", "-"],
         "--json - and --csv -: expected one target on standard output; name a file for the other"),
        (["mlp-tiny", "--chrome-trace", "-", "--save-trace", "-"],
         "--chrome-trace - and --save-trace -: expected one target on standard output; name a file "
         "for the other"),
        (["mlp-tiny", "--json", "a.json", "--csv", "./a.json"],
         "--json and --csv both write ./a.json: expected a file each; rename one"),
        (["mlp-tiny", "--size", "width=-3"], "size width of network 'mlp-tiny' is -3: expected a "
         "whole number of at least 1, such as 128; correct it"),
        (["mlp-tiny", "--size", "depth=2.5"], "size depth of network 'mlp-tiny' is 2.5: expected "
         "a whole number of at least 1, such as 8; correct it"),
        (["resnet18", "--size", "depths=2,0"], "size depths of network 'resnet18' is 2,0: "
         "expected whole numbers of at least 1, such as 2,2,2,2; correct it"),
        (["resnet18", "--size", "bottleneck=3"], "size bottleneck of network 'resnet18' is 3: "
         "expected true or false; correct it"),
        (["lstm", "--size", "cell=4"], "size cell of network 'lstm' is 4: expected a word, such "
         "as lstm; correct it"),
        (["lstm", "--size", "dropout=-1"], "size dropout of network 'lstm' is -1: expected a "
         "number of at least 0, such as 0.1; correct it"),
        (["mlp-tiny", "--data-size", "nonzero=3"], "--data-size nonzero=3: no op of the network "
         "uses it: expected an op whose result depends on data, and it has none; remove it"),
        (["mlp-tiny", "cuda_graph"], "'cuda_graph' after the network 'mlp-tiny': expected one "
         "network, then what-ifs such as +cuda_graph; remove it, or write +cuda_graph"),
        (["mlp-tiny", "+cuda_grap"], "unknown what-if 'cuda_grap': did you mean 'cuda_graph'?"),
        (["+cuda_graph"], "no network: expected a NETWORK, such as bert-base, or --scenario FILE; "
         "`ridgepoint networks` lists them"),
        (["mlp-tiny", "--json", "nowhere/x.json"],
         f"--json nowhere/x.json: no folder {str(Path.cwd() / 'nowhere')!r}: create it first"),
        (["mlp-tiny", "--csv", "/"], "--csv /: is a folder: expected a file; add a file name"),
    ],
)  # fmt: skip
def test_errors_end_with_one_message(run: Run, arguments: list[str], text: str) -> None:
    result = run("predict", *arguments)
    assert result.exit_code == 2
    assert result.stderr == f"error: {text}\n" and result.stdout == ""


def test_an_unknown_gpu(run: Run) -> None:
    result = run("predict", "mlp-tiny", "--gpu", "h210")
    assert result.exit_code == 2
    assert result.stderr.startswith("error: unknown GPU 'h210': did you mean ")


@pytest.mark.skipif(os.name == "nt", reason="has no /dev/null")
def test_a_device_is_not_replaced(run: Run) -> None:
    result = run("predict", "mlp-tiny", "--save-trace", "/dev/null")
    assert result.exit_code == 2
    assert result.stderr == (
        "error: --save-trace /dev/null: is not a regular file: expected one; name another\n"
    )


def test_a_saved_trace_is_what_it_is(run: Run, saved: Path) -> None:
    result = run("predict", saved, "--batch", 4, "--train")
    assert result.exit_code == 2
    assert result.stderr == (
        f"error: {saved} is a saved trace, which fixes --batch, "
        "--train/--no-train: remove the option, or name the network instead\n"
    )


def test_a_file_that_is_no_trace(run: Run, tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text("{}")
    result = run("predict", tmp_path / "x.json")
    assert result.exit_code == 2
    assert result.stderr.startswith(f"error: {tmp_path / 'x.json'} is not a trace of Ridgepoint: ")


def test_a_failure_writes_nothing(run: Run, tmp_path: Path) -> None:
    result = run(
        "predict",
        "mlp-tiny",
        "--size",
        "width=x",
        "--json",
        tmp_path / "p.json",
        "--save-trace",
        tmp_path / "m.rpt",
    )
    assert result.exit_code == 2 and list(tmp_path.iterdir()) == []


def test_a_bad_option_is_refused(run: Run) -> None:
    for arguments in (["--dtype", "fp7"], ["--mode", "lazy"], ["--top", "0"], ["--nope"]):
        result = run("predict", "mlp-tiny", *arguments)
        assert result.exit_code == 2 and arguments[0] in result.stderr


def test_an_interrupt_is_quiet(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("app.answers.subject.subject", interrupted)
    result = run("predict", "mlp-tiny")
    assert (result.exit_code, result.output) == (130, "")


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
    fixed = {"equal", "index_put", "allclose", "left_aligned"}  # known from shapes, or assumed
    assert set(DATA_SIZES) == rules - fixed


def test_a_data_size_that_no_op_could_give(run: Run) -> None:
    result = run(
        "predict",
        "mixtral-small",
        "--size",
        "layers=1",
        "--batch",
        1,
        "--seq",
        8,
        "--data-size",
        "nonzero=9999",
    )
    assert result.exit_code == 2
    # 8 tokens of 2 choices each: 16 elements
    assert result.stderr == (
        "error: --data-size nonzero=9999: its op has at most 16 elements: expected at most 16; "
        "set a smaller number\n"
    )
    result = run(
        "predict",
        "mixtral-small",
        "--size",
        "layers=1",
        "--batch",
        1,
        "--seq",
        8,
        "--data-size",
        "unique=3",
    )
    assert "its data-dependent ops are nonzero" in result.stderr


def test_traces_go_to_standard_output(run: Run, tmp_path: Path) -> None:
    assert "traceEvents" in json.loads(lines(run("predict", "mlp-tiny", "--chrome-trace", "-")))
    for command, option in (("predict", "--save-trace"), ("trace", "-o")):
        target = tmp_path / "t.rpt.json"
        target.write_text(lines(run(command, "mlp-tiny", option, "-")), "utf-8")
        assert load(target).samples == 32


def test_a_sequence_that_is_ignored_is_not_shown(run: Run, tmp_path: Path) -> None:
    code = """
import torch
class Made(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.up = torch.nn.Linear(48, 8)
    def forward(self, x):
        return self.up(x)
    def example_inputs(self, batch, seq):
        return (torch.empty({shape}),)
"""
    for name, shape, shown in (
        ("ignores", "batch, 48", "batch 1, fp32"),
        ("uses", "batch, seq, 48", "batch 1 × 128, fp32"),
    ):
        path = tmp_path / f"{name}.py"
        path.write_text(code.format(shape=shape))
        assert shown in lines(run("predict", f"{path}:Made"))


def test_the_loss_is_stated_in_training(run: Run, tmp_path: Path) -> None:
    assert "the network's own (.loss of its output)" in lines(run("predict", "mlp-tiny", "--train"))
    path = tmp_path / "plain.py"
    path.write_text(
        "import torch\ndef make():\n    return torch.nn.Linear(4, 4), (torch.empty(2, 4),)\n"
    )
    text = " ".join(lines(run("predict", f"{path}:make", "--train")).split())
    assert "the mean square of the first output: the network returns no .loss" in text
    assert "loss" not in lines(run("predict", f"{path}:make")).replace("(loss", "")


def test_a_share_of_a_roof_names_the_roof(run: Run) -> None:
    text = lines(run("predict", "mlp-wide", "--dtype", "bf16", "--size", "width=1024"))
    assert any("addmm" in line and line.endswith(" bf16") for line in text.splitlines())
    assert any("relu" in line and line.endswith(" DRAM") for line in text.splitlines())


def test_a_scenario_saves_and_reopens(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    first = lines(run("predict", "mlp-tiny", "--batch", 8, "+cuda_graph", "--save-scenario", path))
    assert "+cuda_graph" in first and 'name = "cuda_graph"' in path.read_text()
    assert lines(run("predict", "--scenario", path)) == first
    assert lines(run("predict", "mlp-tiny", "--save-scenario", "-")).startswith(
        'format = "ridgepoint-scenario"'
    )
    changed = lines(run("predict", "--scenario", path, "--batch", 4, "--gpu", "a100"))
    assert "batch 4" in changed and "A100" in changed
    both = run("predict", "mlp-tiny", "--scenario", path)
    assert both.exit_code == 2 and both.stderr == (
        f"error: 'mlp-tiny' and --scenario {path} are both given: expected one; remove the other\n"
    )


HELP = """
import sys
from app.cli import main
try:
    main()
finally:
    heavy = [name for name in ("torch", "numpy", "scipy", "transformers",
             "PySide6", "msgspec", "simulator.whatif") if name in sys.modules]
    print("HEAVY", heavy)
"""


COMMANDS = ("predict", "trace", "whatif", "whatifs", "sweep", "map", "advise", "seek", "compare")


@pytest.mark.parametrize("arguments", [["--help"], *([name, "--help"] for name in COMMANDS)])
def test_help_imports_nothing_heavy(arguments: list[str]) -> None:
    done = shell(HELP, *arguments)
    assert done.returncode == 0 and done.stdout.endswith("HEAVY []\n")
    assert "Usage" in done.stdout


EXPLORE = """
import sys
import app.explorer.window.start
from app.cli import main
app.explorer.window.start.run = lambda *asked: 0
try:
    main()
finally:
    heavy = [name for name in ("torch", "scipy", "transformers", "pyqtgraph", "rich", "asyncio",
             "app.views.lessons.view", "app.explorer.gpu_editor.form") if name in sys.modules]
    print("HEAVY", heavy)
"""


def test_the_explorer_starts_without_what_is_seen_later(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QT_QPA_PLATFORM", "offscreen")
    done = shell(EXPLORE, "explore", "bert-base")
    assert (done.returncode, done.stdout) == (0, "HEAVY []\n"), done.stderr


def test_lists_and_saved_traces_need_no_torch(saved: Path) -> None:
    for arguments in (["networks"], ["predict", saved, "--gpu", "l4"]):
        done = shell(HELP, *arguments)
        assert done.returncode == 0, done.stderr
        assert "torch" not in done.stdout.splitlines()[-1]


def test_an_error_in_a_process_of_its_own() -> None:
    done = shell("from app.cli import main; main()", "predict", "nope-1")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "error: unknown network 'nope-1'; `ridgepoint networks` lists all\n"
