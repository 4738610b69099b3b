"""`ridgepoint split`: its complete text, and the errors with exit status 2."""

import pytest

from simulator.hardware.gpu import gpus
from tests.app.conftest import Run, stdout

SMALL = (
    "gpt2", "--size", "width=64", "--size", "heads=2", "--size", "vocab=100", "--size", "layers=4",
    "--seq", "16",
)  # fmt: skip
TWO = ("--cluster", "2xh200")


def test_the_fastest_split_comes_first(run: Run) -> None:
    assert stdout(run("split", *SMALL, *TWO)) == "\n".join(
        (
            "gpt2 on 2 × H200, NVLink 4 and NVSwitch, batch 2 over all GPUs",
            "  best: dp=2 ddp, 1.35 ms a step",
            "   1.00×    1.35 ms  dp=2 ddp: 33.1 MiB",
            "   2.13×    2.87 ms  tp=2: 2% exposed communication, 32.7 MiB",
            "  pruned: 1 by speed",
            "    dp=2 fsdp: estimated 3.64 times as slow as the best",
        )
    )


def test_a_batch_that_does_not_divide_is_pruned_by_shape(run: Run) -> None:
    assert stdout(run("split", *SMALL, *TWO, "--batch", "3", "--top", "1")) == "\n".join(
        (
            "gpt2 on 2 × H200, NVLink 4 and NVSwitch, batch 3 over all GPUs",
            "  best: tp=2, 2.87 ms a step",
            "   1.00×    2.87 ms  tp=2: 2% exposed communication, 32.7 MiB",
            "  pruned: 1 by shape",
            "    dp=2 ddp: dp = 2 does not divide the batch 3 of all GPUs: expected a",
            "multiple; change the batch",
        )
    )


def test_what_ifs_and_scaling_are_about_the_layout(run: Run) -> None:
    words = ("--parallel", "ddp", "--what-ifs", "--scaling", "strong", "--batch", "2")
    assert stdout(run("split", *SMALL, *TWO, *words)) == "\n".join(
        (
            "gpt2 on 2 × H200, NVLink 4 and NVSwitch, batch 2 a replica",
            "  what-ifs of dp=2 ddp, 1.64 ms:",
            "    +link_speed=2: 1.64 ms (+0.0%), peak 1.12 MiB (1.12 MiB before)",
            "  scaling: GPUs, step, efficiency, communication's share",
            "         1    1.55 ms  100.0%  0%",
            "         2    1.64 ms   47.2%  0%",
            "    communication is never the largest share",
        )
    )


WHATIFS = (
    "expected one of link_speed=N, network_speed=N, dp=N, bucket=N, microbatches=N, schedule=N, "
    "fsdp=N, reshard=N, prefetch=N, recompute=N with --cluster; correct it"
)
LAYOUT = (
    'expected degrees dp=N, tp=N, pp=N, "fsdp" or "ddp", microbatches=N, '
    "schedule=1f1b|gpipe|interleaved, chunks=N, bucket=MiB, recompute, such as "
    '"dp=2 tp=2 pp=2 microbatches=8"; correct it'
)


def about(layout: str, *words: str) -> tuple[str, ...]:
    """The options for the what-ifs of a layout on two GPUs."""
    return (*TWO, "--what-ifs", "--parallel", layout, *words)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("--cluster", "2xh201"),
         "unknown GPU 'h201': did you mean 'h20' or 'h200'? "
         f"`ridgepoint gpus` lists all {len(gpus())}"),
        (("--cluster", "0xh200"), "cluster '0xh200': 0 GPUs in one node: expected 1 to 8; describe "
         "larger ones in a TOML file with nodes and a [network]"),
        ((*TWO, "--scaling", "odd"), "--scaling 'odd': expected weak or strong; correct it"),
        ((*TWO, "--mode", "compiled"), "mode 'compiled' on several GPUs: expected one of 'eager', "
         "'cuda_graph'; compiled steps are predicted on one GPU (predict)"),
        ((*TWO, "--batch", "0"), "batch is 0: expected 1 or more"),
        ((*TWO, "--gpu", "a100"), "GPU a100_sxm_80 with --cluster 2xh200, whose GPUs are h200_sxm: "
         "expected the same GPU; leave the GPU out, or name another cluster"),
        ((*TWO, "+cuda_graph"), "+cuda_graph with --cluster: expected no such what-if, because "
         "it applies to one GPU only; remove it"),
        ((*TWO, "--data-size", "nonzero=3"), "--data-size nonzero=3 with --cluster: expected no "
         "such option, because it applies to one GPU only; remove it"),
        ((*TWO, "--parallel", "ddp"), "--parallel 'ddp' without --what-ifs and --scaling: expected "
         "one of them, since the search tries all layouts; add one, or remove --parallel"),
        (about("dp=4"), "--parallel 'dp=4': dp·tp·pp = 4·1·1 = 4, but 2xh200 has 2 GPUs: expected "
         "the product to be equal; change a degree or the cluster"),
        (about("dp=0"), f"--parallel 'dp=0': 'dp=0': {LAYOUT}"),
        (about("fsdp ddp"), f"--parallel 'fsdp ddp': 'ddp': {LAYOUT}"),
        (about("pp=2"), "pp = 2 in inference: expected pp=1, because requests are not split into "
         "micro-batches; use tp, or predict training"),
        (about("ddp +speed=2"), f"+speed=2: {WHATIFS}"),
        (about("ddp +dp=inf"), f"+dp=inf: {WHATIFS}"),
        (about("ddp +dp=nan"), f"+dp=nan: {WHATIFS}"),
        (about("ddp +dp=1.5"), "+dp=1.5: expected a whole number from 1 to 1,000,000; correct it"),
        (about("ddp +dp=1e308"),
         "+dp=1e+308: expected a whole number from 1 to 1,000,000; correct it"),
        (about("ddp +bucket=0"),
         "+bucket=0: expected MiB above 0 and at most 1,000,000; correct it"),
        (about("ddp +bucket=1e308"),
         "+bucket=1e+308: expected MiB above 0 and at most 1,000,000; correct it"),
        (about("ddp +link_speed=1e-320"),
         "+link_speed=9.99989e-321: expected a number from 0.001 to 1000; correct it"),
        (about(f"dp={'9' * 5000}"),
         f"--parallel 'dp={'9' * 56}…': 'dp={'9' * 56}…': {LAYOUT}"),
        (("--cluster", f"{'9' * 5000}xh200"), f"unknown cluster '{'9' * 59}…': expected one of "
         "16xh100-ib, 2xh200, 4xh200, 4xrtx4090, 64xh100-ib, 8xh200, 8xl40s, dgx-a100, dgx-h100, "
         "gb200-nvl72, hgx-b200, the general form '4xh200' for one node, or a cluster's TOML file"),
        (about("ddp +fsdp=0.5"), "+fsdp=0.5: expected 0 or 1; correct it"),
        (about("ddp +schedule=0.5"),
         "+schedule=0.5: expected 0 (1f1b), 1 (gpipe) or 2 (interleaved); correct it"),
    ],
)  # fmt: skip
def test_bad_options_end_with_one_message(run: Run, arguments: tuple[str, ...], text: str) -> None:
    result = run("split", *SMALL, *arguments)
    assert (result.exit_code, result.stderr, result.stdout) == (2, f"error: {text}\n", "")


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("nope-1",), "nope-1 cannot be split over 2xh200: unknown network 'nope-1'; `ridgepoint "
         "networks` lists all"),
        (("chain", "--train"), "chain cannot be split over 2xh200: network 'chain' has no training "
         "step: predict inference instead"),
        (("mlp-tiny", "--batch", "1"), "mlp-tiny cannot be split over 2xh200: dp = 2 does not "
         "divide the batch 1 of all GPUs: expected a multiple; change the batch; tp = 2: Mlp has "
         "no module with linear layers both of query, key, value, gate, up, qkv and of out, down: "
         "expected a transformer of the catalogue; write make(rank, world_size) with "
         "parallelize_module and call predict_step"),
        (("mlp-tiny", "--size", "width=400000", "--size", "depth=2"),
         "mlp-tiny fits 2xh200 under no split: expected at most 141 GiB on each GPU; the least is "
         "1.16 TiB with dp=2 ddp; add GPUs, or lower the batch"),
    ],
)  # fmt: skip
def test_networks_that_have_no_split(run: Run, arguments: tuple[str, ...], text: str) -> None:
    result = run("split", *arguments, *TWO)
    assert (result.exit_code, result.stderr, result.stdout) == (2, f"error: {text}\n", "")


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (SMALL, "Missing option '--cluster'."),
        (
            (*SMALL, *TWO, "--top", "0"),
            "Invalid value for '--top': Input should be greater than or equal to 1",
        ),
        ((*SMALL, *TWO, "--json", "-"), "No such option: --json (Possible options: --op)"),
    ],
)
def test_options_that_the_parser_refuses(run: Run, arguments: tuple[str, ...], text: str) -> None:
    result = run("split", *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == (
        "Usage: ridgepoint split [OPTIONS] [NETWORK] [+WHAT-IF]...\n"
        f"Try 'ridgepoint split -h' for help.\n\nError: {text}\n"
    )


def test_the_help_says_which_batch_it_means(run: Run) -> None:
    text = " ".join(stdout(run("split", "--help")).split())
    assert "--batch is the total over all GPUs; with --parallel, that of each replica." in text
    text = " ".join(stdout(run("predict", "--help")).split())
    assert "--batch is then that of each replica." in text


def test_files_of_one_gpu_are_refused_with_a_cluster(run: Run) -> None:
    result = run("predict", *SMALL, *TWO, "--json", "-")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == (
        "error: --json with --cluster 2xh200: expected no such option, because it applies to one "
        "GPU only; remove it\n"
    )
