"""Which ops of the program a launch of the compiler's comes from."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from simulator.inductor.schedule import Origin
from simulator.records import Phase


class Origins:
    """Numbers the ops in the order in which they are met."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str, Phase, str], int] = {}

    def of(self, nodes: Iterable[Any], phase: Phase) -> tuple[int, ...]:
        """The numbers of some nodes' ops, without what the compiler made of nothing, as seeds."""
        return tuple(sorted({self.number(node, phase) for node in nodes} - {-1}))

    def number(self, node: Any, phase: Phase) -> int:
        """The op that a node of a graph of this phase is, or is a part of; -1 for none."""
        original = node.meta.get("original_aten")
        if original is None:
            return -1
        stack = node.meta.get("nn_module_stack") or node.meta.get("fwd_nn_module_stack") or {}
        path = list(stack.values())[-1][0] if stack else ""
        came = node.meta.get("from_node")
        source = came[0].name if came else str(node.meta.get("seq_nr", ""))
        if node.target is original:  # it was not taken apart: it is a call of its own
            source = node.name
        again = node.meta.get("partitioner_tag") == "is_forward"  # in the backward pass too
        key = str(original), _module(path), "forward" if again else phase, source
        return self._known.setdefault(key, len(self._known))

    def listed(self) -> list[Origin]:
        """All of them, those of one name, module and phase counted."""
        seen: dict[tuple[str, str, Phase], int] = {}
        made: list[Origin] = []
        for op, module, phase, _ in self._known:
            key = op, module, phase
            made.append(Origin(op, module, phase, seen.get(key, 0)))
            seen[key] = seen.get(key, 0) + 1
        return made


def own_node(kernel: Any) -> Any:
    """The graph's node that a library call is; others it was given as views of its operands."""
    node = kernel.get_origin_node()
    overload = getattr(kernel, "op_overload", None)
    if node is None or (overload is not None and node.target is not overload):
        node = next((n for n in kernel.get_origins() if n.target is overload), node)
    return node


def _module(path: str) -> str:
    return re.sub(r"^L\['\w+'\]\.?", "", path)  # self, or fn where Dynamo wraps the module
