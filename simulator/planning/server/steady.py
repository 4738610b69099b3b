"""A server in steady state, in closed form, which checks and bounds the simulation.

With λ requests per second, P uncached tokens per prompt and O tokens per answer, an iteration of T
seconds holds b = λ·O·T decodes (Little's law) and λ·P·T tokens of prompts. T is the time of such an
iteration: a fixed point. If no T satisfies the server's rules, the server is overloaded.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil, inf

from simulator.planning.server.disaggregated import decode_rules
from simulator.planning.server.scheduler import Longest, Pools, Rules
from simulator.planning.server.static import batch_s
from simulator.planning.step.step_time import StepTime


@dataclass(frozen=True)
class Steady:
    """Mean seconds of an iteration, the decodes in it, and the share of its time that prompts take;
    `binds` is the resource that an overloaded server exhausts first, else ""."""

    iteration_s: float
    batch: float
    prompt_share: float
    binds: str = ""


def steady(step: StepTime, rules: Rules, rate_per_s: float, prompt: float, output: float) -> Steady:
    """The steady state for requests of these mean lengths."""
    if rules.pools is not None:
        return _steady_apart(step, rules, rules.pools, rate_per_s, prompt, output)
    if rules.static is not None:
        return _steady_static(step, rules, rules.static, rate_per_s)
    fresh = prompt * (1 - rules.prefix_hit)
    decodes = max(output - 1, 0.0)
    cached = prompt + output / 2
    reserved = (prompt + output if rules.reserve else cached) + rules.waste
    most = min(rules.max_requests, rules.cache_tokens / reserved)
    if most < 1:
        return Steady(inf, 0.0, 0.0, "cache")
    seconds, batch, tokens = step.decode(1, cached), 0.0, 0.0
    for _ in range(60):
        batch, tokens = rate_per_s * decodes * seconds, rate_per_s * fresh * seconds
        if batch > most:
            binds = "cache" if most < rules.max_requests else "sequences"
            return Steady(inf, most, 0.0, binds)
        if tokens + batch > rules.token_budget:
            return Steady(inf, batch, 1.0, "tokens")
        iteration_s = _iteration(step, tokens, fresh, prompt, batch, cached)
        if abs(iteration_s - seconds) < 1e-4 * seconds:
            break
        seconds += 0.7 * (iteration_s - seconds)
    alone = _iteration(step, 0.0, fresh, prompt, batch, cached)
    return Steady(seconds, batch, max(0.0, 1 - alone / seconds))


def _steady_static(step: StepTime, rules: Rules, longest: Longest, rate_per_s: float) -> Steady:
    """The state of a server whose batches run to their end: the requests that arrive during a batch
    form the next one. The longest request of a batch determines its time."""
    limit = min(rules.max_requests, len(step.decode_s) - 1)
    sizes = [
        b
        for b in range(1, limit + 1)
        if b * rules.in_blocks(ceil(sum(longest.of(b)))) <= rules.cache_tokens
    ]
    if not sizes:
        return Steady(inf, 0.0, 0.0, "cache")

    def times(batch: int) -> tuple[float, float, float]:
        prompt, output = longest.of(batch)
        prompts_s, decodes_s = batch_s(step, rules, batch, prompt, output)
        whole_s = prompts_s + float(decodes_s.sum())
        return whole_s, prompts_s / whole_s, float(decodes_s.mean()) if decodes_s.size else whole_s

    low, high = 0, len(sizes) - 1
    if rate_per_s * times(sizes[high])[0] >= sizes[high]:
        binds = "cache" if sizes[high] < limit else "sequences"
        return Steady(inf, float(sizes[high]), 0.0, binds)
    while low < high:  # the smallest batch in whose time no more requests arrive
        middle = (low + high) // 2
        if rate_per_s * times(sizes[middle])[0] >= sizes[middle]:
            low = middle + 1
        else:
            high = middle
    _, share, iteration_s = times(sizes[low])
    return Steady(iteration_s, float(sizes[low]), share)


def _steady_apart(
    step: StepTime, rules: Rules, pools: Pools, rate_per_s: float, prompt: float, output: float
) -> Steady:
    """The state of a decode server with separate prefill servers, each with its share of the load.
    `prompt_share` is the ratio of the busy time of prefill servers to that of all servers."""
    each = rate_per_s / pools.prefill
    reading = steady(step, replace(rules, pools=None), each, prompt, 1.0)
    decoding = steady(step, decode_rules(rules), rate_per_s / pools.decode, prompt + 1, output - 1)
    binds = f"prefill {reading.binds}" if reading.binds else decoding.binds
    if not binds and each * prompt * pools.transfer_s_per_token >= 1:
        binds = "link"
    fresh = prompt * (1 - rules.prefix_hit)
    squares = prompt**2 - (prompt - fresh) ** 2
    read_s = min(each * step.mixed(max(round(fresh), 1), squares, 0, 0.0), 1.0) * pools.prefill
    decode_s = min(decoding.batch, 1.0) * pools.decode
    share = read_s / (read_s + decode_s) if read_s + decode_s else 0.0
    return Steady(inf if binds else decoding.iteration_s, decoding.batch, share, binds)


def largest_rate(step: StepTime, rules: Rules, prompt: float, output: float) -> float:
    """The largest rate, in requests per second, at which a server is not overloaded."""
    low, high = 0.0, 1.0
    while high < 1e6 and not steady(step, rules, high, prompt, output).binds:
        low, high = high, high * 2
    for _ in range(12):
        middle = (low + high) / 2
        if steady(step, rules, middle, prompt, output).binds:
            high = middle
        else:
            low = middle
    return low


def _iteration(
    step: StepTime, tokens: float, fresh: float, prompt: float, batch: float, cached: float
) -> float:
    """Seconds of an iteration, linear between whole numbers of decodes and of prompt tokens."""
    below = int(batch)
    share = batch - below
    squares = tokens / fresh * (prompt**2 - (prompt - fresh) ** 2) if fresh else 0.0

    def at(b: int) -> float:
        b = min(b, len(step.decode_s) - 1)
        if tokens < 1e-9:
            return step.decode(b, b * cached) if b else step.host_s
        whole = max(int(tokens), 1)
        upper = step.mixed(whole + 1, squares, b, b * cached)
        lower = step.mixed(whole, squares, b, b * cached)
        if tokens < 1:  # most iterations hold no prompt
            return (1 - tokens) * (
                step.decode(b, b * cached) if b else step.host_s
            ) + tokens * lower
        return lower + (tokens - whole) * (upper - lower)

    return (1 - share) * at(below) + share * at(below + 1)
