"""Compare predictions with measurements of `calibration.measure.serving` on an H200: `python -m
calibration.validate.measured_serving FILE`.

It compares steps one by one, with the host's speed at that time, and joules of steps. It compares
each served load, simulated with the predicted steps of captured decodes and eager prefills, as in
the measured server. To separate steps from scheduling, it also compares the same iterations on
their own. Mixed iterations run attention of new shapes. For each shape cuDNN first creates a plan,
which takes tens of ms and is not predicted; so their median ratio is printed.
"""

from __future__ import annotations

import argparse
import gzip
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
import numpy as np
from msgspec.structs import replace as with_fields

from calibration.cases.steps.serving import NETWORK
from simulator.hardware.gpu import gpu
from simulator.hardware.host import Host
from simulator.hardware.host import host as find_host
from simulator.hardware.host_speed import parts
from simulator.planning.server.requests import Requests
from simulator.planning.server.scheduler import Rules, percentile, serve
from simulator.planning.spec import Workload
from simulator.planning.step.step_time import StepTime
from simulator.planning.step.tables import machine
from simulator.prediction import Prediction
from simulator.scenario.predict import predict_resolved
from simulator.scenario.resolve import resolve
from simulator.scenario.scenario import Scenario

FILE = Path(__file__).parents[1] / "measurements" / "h200_sxm" / "serving.jsonl.gz"
CARD = "h200"
Row = dict[str, Any]


def rows(path: Path) -> list[Row]:
    """The lines of a file, gzipped or not."""
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def step(kind: str, mode: str, batch: int, tokens: int, host: Host) -> Prediction:
    """The prediction of a measured step."""
    network = NETWORK if kind == "decode" else NETWORK.removesuffix("-decode")
    scenario = Scenario(network, gpu=CARD, mode=mode, batch=batch, seq=tokens, dtype="bf16")
    return predict_resolved(with_fields(resolve(scenario), host=host))


def steps(measured: list[Row], host: Host) -> Iterator[str]:
    """Period and latency of each step, and the share inside the interval."""
    off: dict[str, list[float]] = {"eager": [], "graph": []}
    inside: list[bool] = []
    yield "| step | mode | period, ms | measured | ratio | latency, ms | measured | ratio |"
    yield "|--|--|--|--|--|--|--|--|"
    for row in measured:
        for name, mode in (("graph", "cuda_graph"), ("eager", "eager")):
            if row.get("part") != "step" or name not in row:
                continue
            p = step(row["kind"], mode, row["batch"], row["tokens"], host)
            timed = row[name]
            ratios = (
                p.period_s / timed["period_s"],
                p.latency_s / timed["latency_s"],
            )
            off[name].append(abs(ratios[0] - 1))
            low, high = p.interval_s
            inside.append(low <= timed["period_s"] <= high)
            yield (
                f"| {row['kind']} {row['batch']} × {row['tokens']} | {name} | "
                f"{p.period_s * 1e3:.2f} | {timed['period_s'] * 1e3:.2f} | {ratios[0]:.3f} | "
                f"{p.latency_s * 1e3:.2f} | {timed['latency_s'] * 1e3:.2f} | {ratios[1]:.3f} |"
            )
    for name, each in off.items():
        if each:
            middle, high = np.quantile(each, (0.5, 0.9))
            yield f"{name}: {len(each)} steps, error {middle:.1%} median, {high:.1%} p90"
    if inside:
        yield f"inside the 80% interval: {np.mean(inside):.0%}"


def server(engine: str, rules: Rules, host: Host, host_file: str) -> StepTime:
    """The step of the measured server: decodes captured or eager, prompts eager, plus the time by
    which a step alone exceeds one of many steps back to back, since the server waits for its
    tokens."""
    work = Workload(
        "serving",
        NETWORK.removesuffix("-decode"),
        token_budget=rules.token_budget,
        max_requests=rules.max_requests,
        host_per_step_s=0.0,
        host=host_file,
    )
    eager = machine(work, gpu(CARD), "bf16", "eager").step
    mode = "cuda_graph" if engine == "graph" else "eager"
    one = step("decode", mode, 16, 1024, host)
    decodes = machine(work, gpu(CARD), "bf16", "captured").step if engine == "graph" else eager
    return replace(
        decodes,
        forward_s=eager.forward_s,
        quadratic_s=eager.quadratic_s,
        head=eager.head,
        host_s=one.latency_s - one.period_s,
    )


def loads(measured: list[Row], host: Host) -> Iterator[str]:
    """Print for each load the simulated and measured percentiles, and the ratios of its
    iterations."""
    yield (
        "| load | first token p50, ms | measured | p90 | measured | per token p50 | measured | "
        "p90 | measured | tokens/s | measured | batch | measured | decodes alone | mixed alone |"
    )
    yield "|" + "--|" * 15
    for row in measured:
        if row.get("part") != "serving" or not row.get("answered"):
            continue
        rules = Rules(**row["rules"], cache_tokens=row["rules"]["max_requests"] * 4096)
        with TemporaryDirectory() as folder:
            file = Path(folder) / "host.json"  # a workload names a host by its file
            file.write_bytes(msgspec.json.encode(host))
            priced = server(row["engine"], rules, host, f"{file}")
        arrival, prompt, output = (np.array(row[n]) for n in ("arrival_s", "prompt", "output"))
        served = serve(Requests(arrival, prompt, output), priced, rules)
        done = np.array([s is not None for s in row["last_s"]])
        gaps = (served.last_s - served.first_s) / np.maximum(output - 1, 1)
        pairs = [
            (1e3 * percentile(values[done], None, p), 1e3 * row[name][at])
            for values, name in ((served.first_s, "first_token_s"), (gaps, "per_token_s"))
            for at, p in ((0, 50), (1, 90))
        ]
        ends_s = float(np.nanmax((served.last_s + arrival)[done]))
        pairs += [(float(output[done].sum()) / ends_s, row["tokens_per_s"])]
        pairs += [(float(np.mean(served.decoded)), row["mean_batch"])]
        share = "at once" if row["share"] is None else f"{row['share']:.0%}"
        cells = " | ".join(f"{a:.1f} | {b:.1f}" for a, b in pairs)
        alone = " | ".join(f"{ratio:.3f}" for ratio in iterations(row, priced))
        yield f"| {row['engine']} {share} | {cells} | {alone} |"


def iterations(row: Row, priced: StepTime) -> tuple[float, float]:
    """Predicted over measured seconds: the median over iterations of decodes alone, and over
    iterations with prompts, whose tokens attend to half of a mean prompt."""
    ratios: tuple[list[float], list[float]] = [], []
    for _, took_s, batch, cached, prompt in row["iterations"]:
        prompts: list[float] = row["prompt"]
        squares = float(prompt * np.mean(prompts))
        predicted_s = priced.mixed(int(prompt), squares, int(batch), float(cached))
        ratios[int(prompt > 0)].append(predicted_s / took_s)
    decodes, mixed = (float(np.median(each)) if each else float("nan") for each in ratios)
    return decodes, mixed


def static(measured: list[Row], host: Host) -> Iterator[str]:
    """Compare static batches, each served without other requests."""
    for row in measured:
        if row.get("part") == "static" and "seconds" in row:
            first = step("prefill", "eager", row["batch"], row["prompt"], host).latency_s
            middle = row["prompt"] + row["answer"] // 2
            each = step("decode", "cuda_graph", row["batch"], middle, host).latency_s
            measured_s = row["seconds"]
            yield (
                f"static batch of {row['batch']}: prefill {first * 1e3:.1f} ms, measured "
                f"{measured_s[0] * 1e3:.1f}; a token {each * 1e3:.2f} ms, measured "
                f"{np.mean(measured_s[1:]) * 1e3:.2f}"
            )


def energy(measured: list[Row], host: Host) -> Iterator[str]:
    """Joules and watts of steps back to back."""
    for row in measured:
        if row.get("part") == "energy" and row.get("joules"):
            p = step(row["kind"], "cuda_graph", row["batch"], row["tokens"], host)
            yield (
                f"energy of {row['kind']} {row['batch']} × {row['tokens']}: {p.joules:.2f} J, "
                f"measured {row['joules']:.2f}; {p.watts:.0f} W, measured {row['power_w']:.0f}; "
                f"{p.period_s * 1e3:.2f} ms, measured {row['sustained_s'] * 1e3:.2f}"
            )


def main() -> None:
    """Print every comparison."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("file", type=Path, nargs="?", default=FILE)
    measured = rows(parser.parse_args().file)
    host = find_host()
    if index := measured[0].get("host_index"):
        host = host.slower(parts(index, host.reference))
    for part in (steps, loads, static, energy):
        for line in part(measured, host):
            print(line, flush=True)


if __name__ == "__main__":
    main()
