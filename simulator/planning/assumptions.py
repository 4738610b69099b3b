"""The assumptions of a plan of a served network, and the influence of each."""

from __future__ import annotations

from dataclasses import replace

from simulator.errors import RidgepointError
from simulator.hardware.gpu import GPU, gpu
from simulator.planning.result import Assumption, Row
from simulator.planning.server.replica import lengths, rules, simulate
from simulator.planning.server.requests import requests
from simulator.planning.spec import Lengths, Spec
from simulator.planning.step.tables import Machine, weight_only
from simulator.planning.wording import amount, latency, usd, watts

_REQUESTS = 1500


def of_serving(spec: Spec, row: Row, card: GPU, machine: Machine) -> list[Assumption]:
    """Vary each assumption alone; the figure is the time per token at the percentile, in
    seconds."""
    work = spec.workload
    quick = replace(spec, requests=min(_REQUESTS, spec.requests))

    def at(changed: Spec, one: Machine = machine, /, **times: float) -> float:
        try:
            load = requests(changed, changed.requests, row.servers).times(**times)
            return simulate(changed, load, one.step, rules(changed, one, card)).token_s
        except RidgepointError:
            return float("nan")

    def faster(times: float) -> Machine:
        return replace(machine, step=machine.step.scaled(times))

    def of_work(**values: object) -> Spec:
        return replace(quick, workload=replace(work, **values))

    rate = lengths(spec)[0]
    rows: list[Assumption] = []
    yours, own = "your spec", "Ridgepoint's default"

    def add(name: str, value: str, source: str, low: str, high: str, *ends: float) -> None:
        rows.append(Assumption(name, value, source, low, high, *ends))

    low, high = machine.step.ends(row.batch or 1.0)
    add(
        "time of a step",
        "as predicted",
        "the 80% interval of kernels, collectives and host",
        f"× {low:.2f}",
        f"× {high:.2f}",
        at(quick, faster(low)),
        at(quick, faster(high)),
    )
    if work.requests_csv is not None:
        for name, what in (
            ("requests a second", "rate"),
            ("tokens of the prompts", "prompt"),
            ("tokens of the outputs", "output"),
        ):
            ends = [at(quick, **{what: t}) for t in (0.75, 1.25)]
            add(name, "of the trace", "your trace", "0.75×", "1.25×", *ends)
    elif work.prompt and work.output:
        add(
            "requests a second",
            amount(rate),
            yours,
            amount(0.75 * rate),
            amount(1.25 * rate),
            *(at(replace(quick, rate_per_s=rate * t)) for t in (0.75, 1.25)),
        )
        for name, each in (("prompt", work.prompt), ("output", work.output)):
            ends = [at(of_work(**{name: _times(each, t)})) for t in (0.75, 1.25)]
            add(
                f"tokens of the {name}",
                amount(each.mean),
                yours,
                amount(0.75 * each.mean),
                amount(1.25 * each.mean),
                *ends,
            )
    host = work.host_per_step_s
    add(
        "host work between iterations",
        latency(host),
        own if host == 1e-3 else yours,
        "0.5×",
        "2×",
        *(
            at(quick, replace(machine, step=replace(machine.step, host_s=host * t)))
            for t in (0.5, 2.0)
        ),
    )
    add(
        "token budget of an iteration",
        amount(work.token_budget),
        "vLLM's rule",
        "half",
        "as it is",
        at(of_work(token_budget=max(work.token_budget // 2, work.max_requests))),
        at(quick),
    )
    add(
        "sequences at once, at most",
        f"{work.max_requests}",
        "vLLM's rule",
        "half",
        "as it is",
        at(of_work(max_requests=max(work.max_requests // 2, 1))),
        at(quick),
    )
    add(
        "memory that may be used",
        f"{work.memory_share:.0%}",
        "vLLM's default",
        "80%",
        "95%",
        at(of_work(memory_share=0.8)),
        at(of_work(memory_share=0.95)),
    )
    add(
        "prefix hits",
        f"{work.prefix_hit:.0%}",
        yours if work.prefix_hit else own,
        "0%",
        f"{min(work.prefix_hit + 0.3, 0.95):.0%}",
        at(of_work(prefix_hit=0.0)),
        at(of_work(prefix_hit=min(work.prefix_hit + 0.3, 0.95))),
    )
    if row.pools is not None:
        link = work.kv_link_bytes_per_s
        add(
            "link of a prefill GPU",
            f"{link / 1e9:g} GB/s",
            "a network card of 400 Gb/s each, as in a DGX H100" if link == 50e9 else yours,
            "0.25×",
            "4×",
            *(at(of_work(kv_link_bytes_per_s=link * t)) for t in (0.25, 4.0)),
        )
    rows.sort(key=lambda a: -a.swing if a.swing == a.swing else 0.0)
    rows += _fixed(spec, row)
    return rows


def _times(lengths: Lengths, times: float) -> Lengths:
    return replace(
        lengths,
        mean=max(lengths.mean * times, 1.0),
        low=max(lengths.low * times, 0.0),
        high=lengths.high * times,
    )


def _fixed(spec: Spec, row: Row) -> list[Assumption]:
    """The assumptions that are not varied, and what is not modelled."""
    work, prices = spec.workload, spec.prices
    engine = {
        "vllm": "captured steps with fused kernels and merged products; attention reads the cache "
        "as fast as the best kernel reads memory",
        "compiled+graph": "captured steps with torch.compile's fused kernels and merged products",
        "eager": "eager PyTorch, host as calibrated",
    }[row.engine]
    return [
        Assumption("engine", row.engine, engine),
        *_quantised(row),
        *_split(row),
        Assumption("arrivals", "of the trace" if work.requests_csv else "Poisson", "queueing"),
        Assumption("replicas", "drawn at random for each request", "no router is modelled"),
        Assumption("cache full", work.admission, "vLLM's rule: the newest sequence starts again"),
        Assumption(
            "price",
            "none"
            if row.usd_per_h is None
            else f"{usd(row.usd_per_h / row.count)} an hour for each GPU",
            row.price_source,
        ),
        Assumption(
            "power",
            "unknown" if row.watts is None else f"{watts(row.watts)}, PUE {prices.pue:g} included",
            row.power_source,
        ),
        Assumption(
            "not modelled",
            "tokenizer, network, sampling, speculative decoding",
            "",
        ),
    ]


def _quantised(row: Row) -> list[Assumption]:
    """How the GPU of a row runs nvfp4."""
    if row.precision != "nvfp4":
        return []
    how = "weights and activations; products reach the same share of their peak as float8 products"
    if weight_only(gpu(row.gpu), row.precision):
        how = f"weights alone: {row.name} has no products of 4 bits, and multiplies in 16 bits"
    return [Assumption("precision", "nvfp4", how)]


def _split(row: Row) -> list[Assumption]:
    rows: list[Assumption] = []
    if row.split > 1:
        how = "tensor parallelism; NCCL's collectives do not overlap with kernels"
        if row.expert_parallel:
            how = "whole experts on each, used equally; " + how
        if row.queues > 1:
            how = "sequences and whole experts of its own on each, which are used equally; tokens "
            how += "are exchanged by two all-to-alls of NCCL, which do not overlap with kernels"
        rows.append(Assumption("GPUs of a replica", f"{row.split}", how))
    if row.pools is not None:
        how = "the cache of a prompt is sent after its prefill; servers are drawn at random"
        rows.append(Assumption("prefill and decode servers", f"{row.pools[0]}:{row.pools[1]}", how))
    return rows
