"""The longest chains of ops that run as one kernel: those of the partition rule, and products with
the loops that read their results."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping

from simulator.errors import InputError
from simulator.fusion.lowering.epilogue import is_product
from simulator.fusion.lowering.lowering import Lowering
from simulator.fusion.scheduling.chosen import REFERENCE, Chosen
from simulator.fusion.scheduling.scheduling import groups

Owner = Mapping[int, Hashable]
"""The owner of each op; a chain has ops of one owner."""


def chains(chosen: Chosen, owner: Owner) -> list[set[int]]:
    """Sets of ops of one owner that loop over the same elements and read each other's results,
    single ops included; products are left out."""
    number = {key: str(at) for at, key in enumerate(dict.fromkeys(owner.values()))}
    marks = [number[owner[i]] if i in owner else "" for i in range(len(chosen.trace.ops))]
    nodes = Lowering(chosen.trace, REFERENCE, only=frozenset(owner), flow=chosen.flow).run()
    sets: list[set[int]] = []
    chained: set[int] = set()
    for group in groups(nodes, marks, siblings=False):
        if group.library:
            continue
        key = owner.get(group.nodes[-1].ops[-1])
        members = {
            index
            for node in group.nodes
            for index in node.ops
            if owner.get(index) == key and index not in chained
        }
        sets.append(members)
        chained |= members
    return sets


def before_loops(chosen: Chosen, owner: Owner) -> Iterator[tuple[int, int]]:
    """Pairs of a product and the first op of the same owner that reads the product's result."""
    for index in owner:
        if is_product(chosen.trace.ops[index]):
            users = chosen.flow.users.get(chosen.flow.makes[index][0], [])
            user = next((u for u in users if owner.get(u) == owner[index]), None)
            if user is not None:
                yield index, user


def with_epilogues(chosen: Chosen, owner: Owner) -> list[set[int]]:
    """The chains, each product joined with the chain that may be its epilogue."""
    sets = chains(chosen, owner)
    of = {index: members for members in sets for index in members}
    for product, user in before_loops(chosen, owner):
        chain = of.get(user, {user})
        try:
            chosen.kernel({product, *chain})
        except InputError:
            continue
        if user not in of:
            sets.append(chain)
            of[user] = chain
        chain.add(product)
    return sets
