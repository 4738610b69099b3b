"""Loops fused as the epilogue of the library product whose result they read."""

from __future__ import annotations

from collections.abc import Callable

from simulator.fusion.graphs import Graphs, graphs
from simulator.fusion.group import Group
from simulator.fusion.lowering.epilogue import is_product
from simulator.fusion.node import Key
from simulator.fusion.scheduling.scheduling import ordered, reaches
from simulator.records import Trace

Pays = Callable[[Group, Group], bool]
"""Whether fusion of these loops into the epilogue of a product pays."""


def absorbed(
    groups: list[Group], trace: Trace, pays: Pays = lambda product, loops: True
) -> list[Group]:
    """The groups, where each product absorbs its only reader if the reader loops over the product's
    result alone and the fusion pays."""
    maker: dict[Key, Group] = {key: g for g in groups for n in g.nodes for key in n.own_writes}
    readers: dict[Key, set[Group]] = {}
    for group in groups:
        for node in group.nodes:
            for key in node.reads:
                readers.setdefault(key, set()).add(group)
    into: dict[Group, Group] = {}
    parts = graphs(trace)
    for group in groups:
        if group.library or group.reduces or any(node.alone for node in group.nodes):
            continue
        for key in dict.fromkeys(key for node in group.nodes for key in node.reads):
            product = maker.get(key)
            if product is None or len(product.nodes) > 1 or readers[key] != {group}:
                continue
            if _fits(product, group, trace, parts) and pays(product, group):
                _join(product, group, groups, into)
                break
    return ordered([group for group in groups if group not in into])


def _fits(product: Group, group: Group, trace: Trace, parts: Graphs) -> bool:
    node = product.nodes[0]
    op = node.call or trace.ops[node.ops[-1]]
    if not product.library or not is_product(op):
        return False
    at, where = (parts.of[each.nodes[0].ops[-1]] for each in (product, group))
    if at != where or parts.eager(node.ops[-1]):
        return False
    size = op.outputs[0].numel
    others = [source for source in group.sources if source is not product]
    return all(n.rows == size and not n.atomic for n in group.nodes) and not any(
        reaches(source, product) for source in others
    )


def _join(product: Group, group: Group, groups: list[Group], into: dict[Group, Group]) -> None:
    """Move the group's nodes to the product, which takes the group's place in dependencies."""
    into[group] = product
    product.nodes += group.nodes
    product.last = group.last
    product.sources |= group.sources - {product}
    for other in groups:
        if group in other.sources:
            other.sources = (other.sources - {group}) | {product}
