"""The assumptions of a plan of a served network, and the influence of each."""

from __future__ import annotations

from dataclasses import replace

from simulator.errors import RidgepointError
from simulator.hardware.gpu import GPU
from simulator.planning.result import Assumption, Row
from simulator.planning.server.replica import lengths, rules, simulate
from simulator.planning.server.requests import requests
from simulator.planning.server_assumptions import of_server
from simulator.planning.spec import Lengths, Spec
from simulator.planning.step.tables import Machine
from simulator.planning.wording import amount, latency

_REQUESTS = 10_000  # maximum number of requests; a smaller plan is varied with its own number
_YOURS, _OWN = "your spec", "Ridgepoint's default"


def of_serving(spec: Spec, row: Row, card: GPU, machine: Machine) -> list[Assumption]:
    """Vary each assumption alone; the figure is the time per token at the percentile, in
    seconds."""
    vary = _Variation(spec, row, card, machine)
    rows = [_of_step(vary), *_of_load(vary), _of_host(vary), *_of_request(vary)]
    rows += [*_of_server(vary), *_of_cache(vary)]
    rows.sort(key=lambda a: -a.swing if a.swing == a.swing else 0.0)
    return rows + of_server(spec, row)


class _Variation:
    """A plan's first candidate, simulated again with one change."""

    def __init__(self, spec: Spec, row: Row, card: GPU, machine: Machine) -> None:
        self.spec, self.row, self.card, self.machine = spec, row, card, machine
        self.work = spec.workload
        self.quick = replace(spec, requests=min(_REQUESTS, spec.requests))

    def token_s(
        self, changed: Spec | None = None, machine: Machine | None = None, /, **times: float
    ) -> float:
        """The time per token with another spec or machine, or a load with its columns multiplied;
        NaN if it cannot be simulated."""
        changed, machine = changed or self.quick, machine or self.machine
        try:
            load = requests(changed, changed.requests, self.row.servers).times(**times)
            return simulate(changed, load, machine.step, rules(changed, machine, self.card)).token_s
        except RidgepointError:
            return float("nan")

    def with_work(self, **values: object) -> float:
        """The time per token with other values of the workload."""
        return self.token_s(replace(self.quick, workload=replace(self.work, **values)))


def _of_step(vary: _Variation) -> Assumption:
    step = vary.machine.step
    ends = step.ends(vary.row.batch or 1.0)
    low_s, high_s = (
        vary.token_s(None, replace(vary.machine, step=step.scaled(times))) for times in ends
    )
    return Assumption(
        "step time",
        "as predicted",
        "the 80% interval of kernels, collectives and host",
        f"× {ends[0]:.2f}",
        f"× {ends[1]:.2f}",
        low_s,
        high_s,
    )


def _of_load(vary: _Variation) -> list[Assumption]:
    """The assumptions on the rate and the lengths of requests, from a recorded trace or from the
    spec."""
    work = vary.work
    if work.requests_csv is not None:
        return [
            Assumption(
                name,
                "from the trace",
                "your trace",
                "0.75×",
                "1.25×",
                *(vary.token_s(**{column: times}) for times in (0.75, 1.25)),
            )
            for name, column in (
                ("requests a second", "rate"),
                ("prompt tokens", "prompt"),
                ("output tokens", "output"),
            )
        ]
    if not (work.prompt and work.output):
        return []
    rate = lengths(vary.spec)[0]
    rates = [vary.token_s(replace(vary.quick, rate_per_s=rate * t)) for t in (0.75, 1.25)]
    rows = [_of_number("requests a second", rate, *rates)]
    for name, tokens in (("prompt", work.prompt), ("output", work.output)):
        ends = [vary.with_work(**{name: _times(tokens, t)}) for t in (0.75, 1.25)]
        rows.append(_of_number(f"{name} tokens", tokens.mean, *ends))
    return rows


def _of_number(name: str, number: float, low_s: float, high_s: float) -> Assumption:
    """The assumption on a number of the spec, varied by a quarter."""
    low, high = amount(0.75 * number), amount(1.25 * number)
    return Assumption(name, amount(number), _YOURS, low, high, low_s, high_s)


def _of_host(vary: _Variation) -> Assumption:
    host_s, machine = vary.work.host_per_step_s, vary.machine
    return Assumption(
        "host work between iterations",
        latency(host_s),
        _OWN if host_s == 1e-3 else _YOURS,
        "0.5×",
        "2×",
        *(
            vary.token_s(None, replace(machine, step=replace(machine.step, host_s=host_s * t)))
            for t in (0.5, 2.0)
        ),
    )


def _of_request(vary: _Variation) -> list[Assumption]:
    """The assumption on the host's work for each decoding sequence; empty for engines without such
    work."""
    step = vary.machine.step
    if not step.request_s:
        return []
    ends = (
        vary.token_s(None, replace(vary.machine, step=replace(step, request_s=step.request_s * t)))
        for t in (0.5, 2.0)
    )
    source = "fitted to published runs of vLLM"
    each = latency(step.request_s)
    return [Assumption("host work for each decode", each, source, "0.5×", "2×", *ends)]


def _of_server(vary: _Variation) -> list[Assumption]:
    """The assumptions on the rules of the server."""
    work = vary.work
    rule = "vLLM's rule" if vary.row.engine == "vllm" else "as in vLLM"
    half_budget = max(work.token_budget // 2, work.max_requests)
    return [
        Assumption(
            "token budget per iteration",
            amount(work.token_budget),
            rule,
            "half",
            "unchanged",
            vary.with_work(token_budget=half_budget),
            vary.token_s(),
        ),
        Assumption(
            "maximum sequences at once",
            f"{work.max_requests}",
            rule,
            "half",
            "unchanged",
            vary.with_work(max_requests=max(work.max_requests // 2, 1)),
            vary.token_s(),
        ),
        Assumption(
            "cache block",
            f"{work.cache_block} tokens",
            "vLLM's default" if work.cache_block == 16 else _YOURS,
            "1 token",
            "128 tokens",
            vary.with_work(cache_block=1),
            vary.with_work(cache_block=128),
        ),
        Assumption(
            "usable memory",
            f"{work.memory_share:.0%}",
            "vLLM's default",
            "80%",
            "95%",
            vary.with_work(memory_share=0.8),
            vary.with_work(memory_share=0.95),
        ),
    ]


def _of_cache(vary: _Variation) -> list[Assumption]:
    """The assumptions on hits in the cache of prefixes and on the link over which a prompt's cache
    is sent."""
    work = vary.work
    more_hits = min(work.prefix_hit + 0.3, 0.95)
    rows = [
        Assumption(
            "prefix hits",
            f"{work.prefix_hit:.0%}",
            _YOURS if work.prefix_hit else _OWN,
            "0%",
            f"{more_hits:.0%}",
            vary.with_work(prefix_hit=0.0),
            vary.with_work(prefix_hit=more_hits),
        )
    ]
    if vary.row.pools is not None:
        link = work.kv_link_bytes_per_s
        rows.append(
            Assumption(
                "prefill GPU's link",
                f"{link / 1e9:g} GB/s",
                "a network card of 400 Gb/s each, as in a DGX H100" if link == 50e9 else _YOURS,
                "0.25×",
                "4×",
                *(vary.with_work(kv_link_bytes_per_s=link * t) for t in (0.25, 4.0)),
            )
        )
    return rows


def _times(lengths: Lengths, times: float) -> Lengths:
    return replace(
        lengths,
        mean=max(lengths.mean * times, 1.0),
        low=max(lengths.low * times, 0.0),
        high=lengths.high * times,
    )
