"""`ridgepoint predict --cluster`: its complete text."""

from tests.app.conftest import Run, stdout

SMALL = (
    "gpt2", "--size", "width=64", "--size", "heads=2", "--size", "vocab=100", "--size", "layers=4",
    "--seq", "16",
)  # fmt: skip


def test_the_text_names_both_kinds_of_share_and_the_batch(run: Run) -> None:
    text = stdout(run("predict", *SMALL, "--cluster", "2xh200", "--parallel", "tp=2"))
    assert text == "\n".join(
        (
            "gpt2, tp=2, batch 8 a replica on 2 × H200, NVLink 4 and NVSwitch, eager",
            "  step 2.87 ms (80%: 1.92 ms to 3.85 ms), bound by overhead",
            "  shares of the critical path: compute 0%, memory 0%, overhead 100%,",
            "communication 0%",
            "  communication 57.4 µs, exposed 57.4 µs, waits for other ranks 0 s",
            "  power: 252 W on 2 GPUs (limit 1,400 W), 725 mJ a step (80%: 490 mJ to 990 mJ)",
            "  idle: waits for a link 57.4 µs, waits for another rank 0 s, waits for the host",
            "2.57 ms",
            "  ranks 0 to 1: 102 kernels, host 2.87 ms, GPU busy 301 µs, peak memory 32.9 MiB",
            "    shares of a rank's time: compute 1%, overhead and host 97%, exposed",
            "communication 2%",
            "  note: the host takes 1.06 times as long as for one GPU, because 2 ranks wait",
            "for their slowest host; this is part of the step time",
            "  note: jitter of the hosts around their usual speeds is not part of the step",
            "time; it may add 128 µs",
        )
    )
