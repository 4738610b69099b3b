"""The ops of the program that an Inductor launch computes."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from simulator.inductor.schedule import Origin
from simulator.records import Phase


class Origins:
    """Numbers ops in order of appearance."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[str, str, Phase, str], int] = {}

    def of(self, nodes: Iterable[Any], phase: Phase) -> tuple[int, ...]:
        """The numbers of the nodes' ops, without nodes that have no original op, such as seeds."""
        return tuple(sorted({self.number(node, phase) for node in nodes} - {-1}))

    def number(self, node: Any, phase: Phase) -> int:
        """The number of the op that a node is or belongs to; −1 if it belongs to no op."""
        original = node.meta.get("original_aten")
        if original is None:
            return -1
        stack: Any = node.meta.get("nn_module_stack") or node.meta.get("fwd_nn_module_stack")
        path: str = list(stack.values())[-1][0] if stack else ""
        sources = node.meta.get("from_node")
        source = sources[0].name if sources else str(node.meta.get("seq_nr", ""))
        if node.target is original:  # not decomposed: the node is the call
            source = node.name
        is_recomputed = node.meta.get("partitioner_tag") == "is_forward"  # in the backward pass too
        key = str(original), _module(path), "forward" if is_recomputed else phase, source
        return self._numbers.setdefault(key, len(self._numbers))

    def listed(self) -> list[Origin]:
        """All origins, numbered among those of the same name, module and phase."""
        numbers: dict[tuple[str, str, Phase], int] = {}
        origins: list[Origin] = []
        for op, module, phase, _ in self._numbers:
            key = op, module, phase
            origins.append(Origin(op, module, phase, numbers.get(key, 0)))
            numbers[key] = numbers.get(key, 0) + 1
        return origins


def own_node(kernel: Any) -> Any:
    """The graph's node of a library call; its other origins are views of its operands."""
    node = kernel.get_origin_node()
    overload = getattr(kernel, "op_overload", None)
    if node is None or (overload is not None and node.target is not overload):
        node = next((n for n in kernel.get_origins() if n.target is overload), node)
    return node


def _module(path: str) -> str:
    return re.sub(r"^L\['\w+'\]\.?", "", path)  # self, or fn where Dynamo wraps the module
