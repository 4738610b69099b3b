"""Changes of compiled steps that change no result."""

from __future__ import annotations

from tests.reliability.equivalents.equivalent import Equivalent

COMPILED = (
    Equivalent(
        "simulator/fusion/host/replay_costs.py",
        "'30' -> '31'",
        "_ENDLESS = 1 << 31  # launches; a graph of any size counts as one",
        "both exceed the launches of any graph",
    ),
    Equivalent(
        "simulator/fusion/lowering/library/padding.py",
        "'1' -> '2'",
        "multiple = max(_BYTES // item, 2)",
        "16 bytes hold one element only of a dtype of more than 4 bytes, which is not padded",
    ),
    Equivalent(
        "simulator/fusion/lowering/lowering.py",
        "'and' -> 'or'",
        "return min(size / whole.nbytes, 1.0) if whole is not None or whole.nbytes else 1.0",
        "a pending value is among those computed, and ops on empty tensors compute none",
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
        "simulator/fusion/offsets.py",
        "'0' -> '1'",
        'start = place * int(args.get("split_size", 1))',
        "the schema of `split` has no default for `split_size`",
    ),
    Equivalent(
        "simulator/fusion/passes/functional.py",
        "'index % 128 == 0' -> 'not (index % 128 == 0)'",
        "if not (index % 128 == 0):",
        "a cancelled question ends at other ops; an answer is the same",
    ),
    Equivalent(
        "simulator/fusion/passes/banning.py",
        "'and' -> 'or'",
        "if user <= furthest or step not in visited:",
        "ops are visited in order, so those up to `furthest` come first, and any result from "
        "`furthest` on bans none of the users; a step that is visited again leads to the same ones",
    ),
    Equivalent(
        "simulator/fusion/passes/banning.py",
        "'<=' -> '<'",
        "if user < furthest and step not in visited:",
        "`furthest` is the result whether it is visited last or not at all",
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
        "simulator/fusion/scheduling/epilogue_fusion.py",
        "'any' -> 'all'",
        "if group.library or group.reduces or all(node.alone for node in group.nodes):",
        "a node that is alone is the only one of its group",
    ),
)
