"""Loops that become the epilogue of the library product which makes what they read."""

from __future__ import annotations

from collections.abc import Callable

from simulator.fusion.graphs import Graphs, graphs
from simulator.fusion.group import Group
from simulator.fusion.lowering.epilogue import is_product
from simulator.fusion.node import Key
from simulator.fusion.scheduling.scheduling import ordered, reaches
from simulator.records import Trace

Pays = Callable[[Group, Group], bool]
"""Is a product with these loops behind it worth its kernel?"""


def absorbed(
    found: list[Group], trace: Trace, pays: Pays = lambda product, loops: True
) -> list[Group]:
    """The groups with each product's only reader, where it is loops over just its result and this
    pays, joined to it."""
    maker: dict[Key, Group] = {key: g for g in found for n in g.nodes for key in n.writes}
    readers: dict[Key, set[Group]] = {}
    for group in found:
        for node in group.nodes:
            for key in node.reads:
                readers.setdefault(key, set()).add(group)
    into: dict[Group, Group] = {}
    parts = graphs(trace)
    for group in found:
        if group.library or group.reduces or any(node.alone for node in group.nodes):
            continue
        for key in dict.fromkeys(key for node in group.nodes for key in node.reads):
            product = maker.get(key)
            if product is None or len(product.nodes) > 1 or readers[key] != {group}:
                continue
            if _fits(product, group, trace, parts) and pays(product, group):
                _join(product, group, found, into)
                break
    return ordered([group for group in found if group not in into])


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


def _join(product: Group, group: Group, found: list[Group], into: dict[Group, Group]) -> None:
    """The group's nodes go to the product, and whoever needed the group needs that."""
    into[group] = product
    product.nodes += group.nodes
    product.last = group.last
    product.sources |= group.sources - {product}
    for other in found:
        if group in other.sources:
            other.sources = (other.sources - {group}) | {product}
