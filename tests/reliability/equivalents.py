"""Mutants that change no result, each with its proof: no test can kill them, and the summary of a
run counts them among the survivors."""

from __future__ import annotations

from typing import Any, NamedTuple


class Equivalent(NamedTuple):
    """A file, the change of one of its lines, the line with the change, and the proof."""

    path: str
    change: str
    line: str
    why: str


EQUIVALENTS = (
    Equivalent(
        "simulator/costs/recurrent/layers.py",
        "'+' -> '-'",
        "ends_layer = (index - 1) % directions == 0 and index + 1 < len(layers)",
        "`directions` is 1 or 2, and index − 1 differs from index + 1 by 2",
    ),
    Equivalent(
        "simulator/timing/power.py",
        "'>' -> '>='",
        "up = value >= 0",
        "a clock whose power is exactly the limit becomes an end of the bracket whose value is 0, "
        "below or above: false position then returns this end at each later turn",
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
        "simulator/schedule/steady_state.py",
        "'1' -> '2'",
        "run = Run(launches, replace(clock, depth=2 << 30) if never_full else clock, STEPS)",
        "a queue longer than a run's launches never fills, and no memory holds the times of 2³⁰",
    ),
    Equivalent(
        "simulator/fusion/passes/banning.py",
        "'and' -> 'or'",
        "if user <= furthest or step not in visited:",
        "ops are visited in order, so those up to `furthest` come first, and any result from "
        "`furthest` on bans none of the users; a step that is visited again leads to the same ones",
    ),
    Equivalent(
        "simulator/fusion/lowering/sectors.py",
        "'min' -> 'max'",
        "if not strides or max(strides) <= 1:",
        "with a smallest stride of 1, elements lie `itemsize` apart, and `nbytes` is a multiple of "
        "it",
    ),
    Equivalent(
        "simulator/fusion/lowering/sectors.py",
        "'<=' -> '<'",
        "if not strides or min(strides) < 1:",
        "with a smallest stride of 1, elements lie `itemsize` apart, and `nbytes` is a multiple of "
        "it",
    ),
    Equivalent(
        "simulator/lowering/attention.py",
        "'1' -> '2'",
        "attended = Band(-1, -2, 0)",
        "any negative number of keys to the right means all of them",
    ),
    Equivalent(
        "simulator/lowering/attention.py",
        "'1' -> '2'",
        "attended = Band(-2, -1, 0)",
        "any negative number of keys to the left means all of them",
    ),
    Equivalent(
        "simulator/lowering/attention.py",
        "'1' -> '2'",
        "every = _head_layout(d, Band(-1, -2, 0), tile)",
        "any negative number of keys to the right means all of them",
    ),
    Equivalent(
        "simulator/lowering/attention.py",
        "'1' -> '2'",
        "every = _head_layout(d, Band(-2, -1, 0), tile)",
        "any negative number of keys to the left means all of them",
    ),
    Equivalent(
        "simulator/lowering/transforms.py",
        "'-' -> '+'",
        "best = 1 << (least + 1).bit_length()",
        "the first product tried is the power of 2 that is at least `least`",
    ),
    Equivalent(
        "simulator/collectives/nccl.py",
        "'>' -> '>='",
        "while most * group.ranks > 4 * belief.send_channels and most >= 1:",
        "half of 1 or of 0 is 0: no number of channels is doubled with either limit",
    ),
    Equivalent(
        "simulator/collectives/group.py",
        "'>' -> '>='",
        "return ceil(log2(self.nodes)) if self.nodes >= 1 else 0",
        "log₂ 1 is 0",
    ),
    Equivalent(
        "simulator/fusion/passes/cut.py",
        "'1' -> '2'",
        "most = sum(_capacity(weights[t], unit) for t in needed) + 2",
        "any capacity above that of a cut keeps an edge out of all minimum cuts",
    ),
    Equivalent(
        "simulator/fusion/passes/cut.py",
        "'2' -> '3'",
        "inner = 3 + len(ops)",
        "one node more, which no edge reaches",
    ),
    Equivalent(
        "simulator/fusion/passes/cut.py",
        "'2' -> '3'",
        "reaching = behind(edges, inner + 3 * len(joint.tensors), _SOURCE, _SINK)",
        "more nodes, which no edge reaches",
    ),
    Equivalent(
        "simulator/fusion/lowering/reductions.py",
        "'<=' -> '<'",
        "if cols < _LEAST or rows >= _BUSY_ROWS * units:",
        "a part has at least 4 · 32 elements, so a column of 32 is one part",
    ),
    Equivalent(
        "simulator/fusion/lowering/reductions.py",
        "'1' -> '2'",
        "return _near_divisor(cols, -(-cols // (_BLOCK_THREADS * max(blocks, 2))), 30)",
        "`blocks` is 1 only for four results per multiprocessor or more, which are not split",
    ),
    Equivalent(
        "simulator/fusion/lowering/reductions.py",
        "'>' -> '>='",
        "if near >= 0 and cols % near == 0:",
        "1 divides every number and is tried before 0",
    ),
    Equivalent(
        "simulator/lowering/transforms.py",
        "'4096' -> '4097'",
        "_LARGEST_FACTOR = {True: 4097, False: 1024}",
        "4,097 is no power of 2",
    ),
    Equivalent(
        "simulator/lowering/transforms.py",
        "'1024' -> '1025'",
        "_LARGEST_FACTOR = {True: 4096, False: 1025}",
        "1,025 is no power of a prime",
    ),
    Equivalent(
        "simulator/fusion/passes/banning.py",
        "'<=' -> '<'",
        "if user < furthest and step not in visited:",
        "`furthest` is the result whether it is visited last or not at all",
    ),
    Equivalent(
        "simulator/schedule/steady_state.py",
        "'+' -> '-'",
        "return Steady(tail - none, none, none)",
        "`none` is 0",
    ),
    Equivalent(
        "simulator/fusion/offsets.py",
        "'0' -> '1'",
        'start = place * int(args.get("split_size", 1))',
        "the schema of `split` has no default for `split_size`",
    ),
    Equivalent(
        "simulator/fusion/scheduling/epilogue_fusion.py",
        "'any' -> 'all'",
        "if group.library or group.reduces or all(node.alone for node in group.nodes):",
        "a node that is alone is the only one of its group",
    ),
    Equivalent(
        "simulator/fusion/lowering/library/padding.py",
        "'1' -> '2'",
        "multiple = max(_BYTES // item, 2)",
        "16 bytes hold one element only of a dtype of more than 4 bytes, which is not padded",
    ),
    Equivalent(
        "simulator/costs/matmul/products.py",
        "'1' -> '2'",
        'if addend is not None and op.arg("beta", 2) == 0:',
        "neither default is 0",
    ),
    Equivalent(
        "simulator/fusion/host/replay_costs.py",
        "'30' -> '31'",
        "_ENDLESS = 1 << 31  # launches; a graph of any size counts as one",
        "both exceed the launches of any graph",
    ),
    Equivalent(
        "simulator/costs/matmul/routing.py",
        "'30' -> '31'",
        "z = np.maximum((mean - 0.5 - tile * height) / deviation, -31)",
        "31 terms of e^−51 or of e^−53 vanish in the rounding of the groups with a row, at least 1",
    ),
    Equivalent(
        "simulator/costs/tensor_bytes.py",
        "'>=' -> '>'",
        'if tensor.device != "cpu" and size > largest.get(region, 0):',
        "an equal size replaces itself, and a size of 0 adds nothing to the sum",
    ),
    Equivalent(
        "simulator/schedule/steady_state.py",
        "'1' -> '2'",
        "run = Run(selected, own, 2)",
        "room for the times of a second step, which is not run",
    ),
    Equivalent(
        "simulator/analysis/regimes.py",
        "'>' -> '>='",
        "up = self.first is not None and self.first >= self.last",
        "the first value of the next regime differs from the last one of this regime",
    ),
    Equivalent(
        "simulator/lowering/convolution_grouped.py",
        "'8' -> '9'",
        "return groups >= (_SOME_GROUPS if width <= 9 else _MANY_GROUPS)",
        "the width of a group is a power of 2",
    ),
    Equivalent(
        "simulator/costs/reductions/losses.py",
        "'1' -> '2'",
        "inputs = max(1, read // max(write, 2))",
        "terms of 2 bytes or more are written, or none: then nothing is read either",
    ),
    Equivalent(
        "simulator/schedule/memory.py",
        "'1' -> '2'",
        "steps = np.zeros(lives.count + 2, np.int64)",
        "the sums up to `count` are used",
    ),
    Equivalent(
        "simulator/timing/local_experts.py",
        "'len(numbers) <= _FEW' -> 'not (len(numbers) <= _FEW)'",
        "if not (len(numbers) <= _FEW):",
        "a dictionary and sorting find the same places",
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
        "simulator/timing/local_experts.py",
        "'<' -> '<='",
        "if squares.min() <= _CLOSE:  # differences of large numbers: compute them directly",
        "none is below the limit if the smallest equals it",
    ),
    Equivalent(
        "simulator/schedule/steady_state.py",
        "'0' -> '1'",
        "if looked_at and _settled(run, ends, hosts, 1 if never_full else clock.depth):",
        "the last kernel ends in every step at the same time after its start",
    ),
)


def proof(answer: dict[str, Any]) -> str:
    """The proof that a surviving mutant changes no result; "" without one."""
    for each in EQUIVALENTS:
        at, _, change = answer["key"].partition(" ")
        if (at.partition(":")[0], change, answer["line"]) == each[:3]:
            return each.why
    return ""
