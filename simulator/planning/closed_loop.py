"""A server under a fixed number of clients, as benchmarks run it: each sends its next request when
its last one is answered."""

from __future__ import annotations

from simulator.planning.serving import Rules
from simulator.planning.step_time import StepTime


def closed_loop(
    step: StepTime, rules: Rules, clients: int, prompt: int, output: int
) -> tuple[float, float]:
    """Mean seconds to the first token and a token, of requests of these lengths.

    In the long run clients are spread evenly over an answer's tokens: a request's prefill stands
    in an iteration of its own beside the decodes of the others, and each decode waits for the
    prefills of all others once an answer.
    """
    most = min(clients, rules.max_requests, max(rules.cache_tokens // (prompt + output), 1))
    fresh = max(int(prompt * (1 - rules.prefix_hit)), 1)
    held = (most - 1) * (prompt + output / 2)
    plain = step.decode(most, most * (prompt + output / 2))
    pieces = -(-fresh // rules.token_budget)
    each = -(-fresh // pieces)
    prefill = sum(
        step.mixed(each, (prompt - fresh + (n + 1) * each) ** 2 - (prompt - fresh + n * each) ** 2,
                   most - 1, held)
        for n in range(pieces)
    )  # fmt: skip
    longer = prefill - pieces * plain
    tokens = max(output - 1, 1)
    token = plain + longer * (most - 1) / tokens
    waits = (clients - most) / most * (prefill + token * tokens)
    return waits + prefill + token / 2, token
