"""The errors of `ridgepoint predict`."""

import os
from pathlib import Path

import pytest

from simulator.errors import InputError
from simulator.hardware.host import host
from tests.app.conftest import Run


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
        (["nope.rpt.json"], "cannot read the trace nope.rpt.json: No such file or directory: "
         "expected a saved trace; check the path"),
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
        (["mlp-tiny", "--data-size", f"nonzero={'9' * 5000}"],
         f"--data-size nonzero={'9' * 60}…: expected a whole number of at most 18 digits"),
        (["mlp-tiny", "--json", "-", "--csv", "-"],
         "--json - and --csv -: expected one target on standard output; name a file for the other"),
        (["mlp-tiny", "--chrome-trace", "-", "--save-trace", "-"],
         "--chrome-trace - and --save-trace -: expected one target on standard output; name a file "
         "for the other"),
        (["mlp-tiny", "--json", "a.json", "--csv", "./a.json"],
         "--json and --csv both write ./a.json: expected a file each; rename one"),
        (["mlp-tiny", "--size", "width=-3"], "size width of network 'mlp-tiny' is -3: expected a "
         "whole number of at least 1, such as 128; correct it"),
        (["mlp-tiny", "--size", "width=1000000000000000000000000000000000"], "size width of "
         "network 'mlp-tiny' is a huge number: expected at most 2,147,483,647; correct it"),
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
         "uses it: expected a data-dependent op (the network has none); remove it"),
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


@pytest.mark.skipif(os.name == "nt", reason="Windows has no /dev/null")
def test_a_device_is_not_replaced(run: Run) -> None:
    result = run("predict", "mlp-tiny", "--save-trace", "/dev/null")
    assert result.exit_code == 2
    assert result.stderr == (
        "error: --save-trace /dev/null: is not a regular file: expected a regular file; "
        "name another\n"
    )


def test_a_saved_trace_fixes_its_options(run: Run, saved: Path) -> None:
    result = run("predict", saved, "--batch", 4, "--train")
    assert result.exit_code == 2
    assert result.stderr == (
        f"error: {saved} is a saved trace, which fixes --batch, "
        "--train/--no-train: remove the option, or name the network instead\n"
    )


def test_a_file_that_is_not_a_trace(run: Run, tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text("{}")
    result = run("predict", tmp_path / "x.json")
    assert result.exit_code == 2
    assert result.stderr.startswith(f"error: {tmp_path / 'x.json'} is not a Ridgepoint trace: ")


def test_a_scenario_or_a_session_in_the_place_of_the_network(run: Run, tmp_path: Path) -> None:
    uses = {
        "a.toml": "give a scenario's file as --scenario FILE",
        "b.ridge": "open a session with `ridgepoint explore FILE`",
    }
    for name, use in uses.items():
        path = tmp_path / name
        path.write_text('format = "ridgepoint-scenario"\nversion = 1\nnetwork = "mlp-tiny"\n')
        result = run("predict", path)
        assert result.exit_code == 2
        assert result.stderr == f"error: {path} is not a Ridgepoint trace; {use}\n"


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
    assert "the network has nonzero" in result.stderr
