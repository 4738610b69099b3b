"""Changes of the schedule, of times, of power and of collectives that change no result."""

from __future__ import annotations

from tests.reliability.equivalents.equivalent import Equivalent

STEPS = (
    Equivalent(
        "simulator/schedule/l2_reuse.py",
        "'0' -> '1'",
        'moved, stated = sum(sizes), op.args.get(stated_argument("bytes"), 1)',
        "no number of bytes lies between 0 and 1",
    ),
    Equivalent(
        "simulator/timing/power.py",
        "'>' -> '>='",
        "if not (solvable & (np.abs(value) >= _CLOSE * limit_w)).any():",
        "a difference equal to the limit to the last bit ends the search one step later",
    ),
    Equivalent(
        "simulator/analysis/regimes.py",
        "'>' -> '>='",
        "up = self.first is not None and self.first >= self.last",
        "the first value of the next regime differs from the last one of this regime",
    ),
    Equivalent(
        "simulator/collectives/group.py",
        "'>' -> '>='",
        "return ceil(log2(self.nodes)) if self.nodes >= 1 else 0",
        "log₂ 1 is 0",
    ),
    Equivalent(
        "simulator/collectives/nccl.py",
        "'>' -> '>='",
        "while most * group.ranks > 4 * belief.send_channels and most >= 1:",
        "half of 1 or of 0 is 0: no number of channels is doubled with either limit",
    ),
    Equivalent(
        "simulator/schedule/memory.py",
        "'1' -> '2'",
        "steps = np.zeros(lives.count + 2, np.int64)",
        "the sums up to `count` are used",
    ),
    Equivalent(
        "simulator/schedule/steady_state.py",
        "'1' -> '2'",
        "run = Run(launches, replace(clock, depth=2 << 30) if never_full else clock, STEPS)",
        "a queue longer than a run's launches never fills, and no memory holds the times of 2³⁰",
    ),
    Equivalent(
        "simulator/schedule/steady_state.py",
        "'+' -> '-'",
        "return Steady(tail - none, none, none)",
        "`none` is 0",
    ),
    Equivalent(
        "simulator/schedule/steady_state.py",
        "'1' -> '2'",
        "run = Run(selected, own, 2)",
        "room for the times of a second step, which is not run",
    ),
    Equivalent(
        "simulator/schedule/steady_state.py",
        "'0' -> '1'",
        "if looked_at and _settled(run, ends, hosts, 1 if never_full else clock.depth):",
        "the last kernel ends in every step at the same time after its start",
    ),
    Equivalent(
        "simulator/timing/load.py",
        "'1' -> '2'",
        "count = self.count.reshape(-2, *(1,) * (self.hot.ndim - 1))",
        "NumPy computes the size of a dimension for any negative number",
    ),
    Equivalent(
        "simulator/timing/local_experts.py",
        "'96' -> '97'",
        "_ROWS = 97  # number of points whose means are computed at once: 0.25 MB of covariances",
        "`long_parts` rounds it down to a multiple of 8",
    ),
    Equivalent(
        "simulator/timing/local_experts.py",
        "'32' -> '33'",
        "_FEW = 33  # number of points up to which a dictionary is faster than sorting",
        "a dictionary and sorting find the same places",
    ),
    Equivalent(
        "simulator/timing/local_experts.py",
        "'<=' -> '<'",
        "if len(numbers) < _FEW:",
        "a dictionary and sorting find the same places",
    ),
    Equivalent(
        "simulator/timing/local_experts.py",
        "'len(numbers) <= _FEW' -> 'not (len(numbers) <= _FEW)'",
        "if not (len(numbers) <= _FEW):",
        "a dictionary and sorting find the same places",
    ),
    Equivalent(
        "simulator/timing/local_experts.py",
        "'<' -> '<='",
        "if squares.min() <= _CLOSE:  # differences of large numbers: compute them directly",
        "none is below the limit if the smallest equals it",
    ),
    Equivalent(
        "simulator/timing/power.py",
        "'>' -> '>='",
        "up = value >= 0",
        "a clock whose power is exactly the limit becomes an end of the bracket whose value is 0, "
        "below or above: false position then returns this end at each later turn",
    ),
    Equivalent(
        "simulator/timing/power.py",
        "'80' -> '81'",
        "_TURNS = 81",
        "Illinois' method converges in about ten turns, to a power whose rounding is below _CLOSE",
    ),
    Equivalent(
        "simulator/timing/power.py",
        "'<' -> '<='",
        "solvable = limited & (below <= 0)",
        "a step that draws exactly the limit at the lowest clock has that clock, up to rounding",
    ),
    Equivalent(
        "simulator/timing/residuals.py",
        "'0' -> '1'",
        'unit_count = units if any(name.startswith("waves of") for name in self.features) else 1',
        "a part of a key that is the same for all works of a residual",
    ),
)
