"""Fuse loop nests into kernels as Inductor's scheduler does (`can_fuse` of
torch/_inductor/scheduler.py, `can_fuse_vertical` of codegen/simd.py). Two nests fuse if they have
the same iteration space, share memory, and have no path between them through another kernel. The
pair that shares most fuses first."""

from __future__ import annotations

from collections.abc import Sequence

from simulator.caches.cancelling import check_cancelled
from simulator.fusion.group import Group
from simulator.fusion.lowering.access import Part, reordered, value_of
from simulator.fusion.node import Key, Node

_NODES = 64  # maximum number of nodes of one kernel (config.max_fusion_size)
_APART = 64  # maximum number of nodes between two siblings (`are_long_distant_nodes`)
_SHARED_BYTES = 10  # minimum bytes that two nodes share (config.score_fusion_memory_threshold)


def groups(
    nodes: list[Node], graphs: Sequence[object], siblings: bool = True, after: bool = True
) -> list[Group]:
    """Groups of nodes, each node in exactly one, in an order in which they can run. With
    `siblings`, nodes that only read the same memory fuse; with `after`, loops fuse with a reduction
    before them. All ops of a group are in one of the `graphs`."""
    writer_of: dict[Key, Group] = {}
    pieces: dict[Key, set[Group]] = {}
    readers: dict[Key, list[Group]] = {}
    merged: list[Group] = []
    for place, node in enumerate(nodes):
        if place % 64 == 0:
            check_cancelled()
        values = {value_of(key) for key in node.reads}
        in_pieces = {group for value in values for group in pieces.get(value, ())}
        sources = in_pieces | {writer_of[value] for value in values if value in writer_of}
        elsewhere = in_pieces | {
            writer_of[value_of(key)]
            for key in node.reads
            if isinstance(_loose(key, node), Part) and value_of(key) in writer_of
        }
        group = None
        if node.kind != "library" and not node.alone:
            near = set(sources)
            if siblings:
                for key in node.reads:
                    known = readers.get(_loose(key, node), ())
                    near.update(g for g in known if place - g.last <= _APART)
            group = _best(node, near - elsewhere, sources, graphs, after)
        if group is None:
            group = Group([], place, place)
            merged.append(group)
        group.nodes.append(node)
        group.last = place
        group.sources |= sources - {group}
        for key in node.own_writes:
            writer_of[key] = group
        if node.piece_of is not None:
            pieces.setdefault(node.piece_of, set()).add(group)
        for key in node.reads:
            known = readers.setdefault(_loose(key, node), [])
            if group not in known:
                known.append(group)
    return ordered(merged)


def _best(
    node: Node, near: set[Group], sources: set[Group], graphs: Sequence[object], after: bool
) -> Group | None:
    best: tuple[int, int, Group] | None = None
    for group in near:
        if group.library or group.nodes[0].alone or len(group.nodes) >= _NODES:
            continue
        if graphs[group.nodes[0].ops[-1]] != graphs[node.ops[-1]]:
            continue
        if not after and node.kind == "pointwise" and group.reduces:
            continue
        if not _fits(group, node):
            continue
        score = shared_bytes(group, node)
        if score < _SHARED_BYTES or _crosswise(group, node):
            score = _shared_when_reordered(group, node)
        if score < _SHARED_BYTES or any(reaches(s, group) for s in sources if s is not group):
            continue
        if best is None or (score, group.last) > best[:2]:
            best = score, group.last, group
    return best[2] if best else None


def _fits(group: Group, node: Node) -> bool:
    """Whether a node can join a group. In a kernel with a reduction, a loop may have as many
    elements as the reduction has results or inputs, whatever the other loops have."""
    sums = group.reduces if node.kind == "pointwise" else None
    if sums is None:
        return all(can_share_kernel(other, node) for other in group.nodes)
    return all(
        not _in_pieces(other, node) if other.kind == "pointwise" else can_share_kernel(other, node)
        for other in group.nodes
    )


def shared_bytes(group: Group, node: Node) -> int:
    """Bytes of memory traffic that fusing a node into a group saves."""
    touched: dict[Key, int] = {}
    for other in group.nodes:
        touched |= other.reads | other.own_writes
    mine = node.reads | node.own_writes
    return sum(min(size, mine[key]) for key, size in touched.items() if key in mine)


def can_share_kernel(one: Node, other: Node) -> bool:
    """Whether two loop nests can run in one kernel."""
    if _in_pieces(one, other):
        return False
    if one.kind == other.kind == "pointwise":
        return one.rows == other.rows
    if one.kind == other.kind == "reduction":
        return (one.rows, one.cols, one.inner) == (other.rows, other.cols, other.inner)
    reduction, loop = (one, other) if one.kind == "reduction" else (other, one)
    if loop.rows == reduction.rows:  # the loop follows the reduction and has one element per result
        return reduction is one and not reduction.partial
    return loop.rows == reduction.elements and not reduction.partial


def _loose(key: Key, node: Node) -> Key:
    """The key of a read, without the order of the loop's dimensions."""
    return reordered(key, node.rows)[0] if node.kind == "pointwise" else key


def _crosswise(group: Group, node: Node) -> bool:
    """Whether a node reads a value that the group writes in another order."""
    written = {key for other in group.nodes for key in other.writes}
    return any(isinstance(key, Part) and value_of(key) in written for key in node.reads)


def _shared_when_reordered(group: Group, node: Node) -> int:
    """The bytes of the largest whole read that a loop shares after its dimensions are reordered
    (`shared_data_after_reordering_loop` of torch/_inductor/scheduler.py), if one order suits all
    its reads of the group's values."""
    if node.kind != "pointwise":
        return 0
    touched: dict[Key, int] = {}
    for other in group.nodes:
        touched |= {_loose(key, other): size for key, size in other.reads.items()}
        touched |= other.own_writes
    written = {key for other in group.nodes for key in other.writes}
    orders = {reordered(key, node.rows)[1] for key in node.reads if value_of(key) in written}
    if len(orders) > 1:
        return 0
    shared = (
        min(size, touched[_loose(key, node)])
        for key, size in node.reads.items()
        if _loose(key, node) in touched and size >= node.rows
    )
    return max(shared, default=0)


def _in_pieces(one: Node, other: Node) -> bool:
    """Whether one node reads or writes a value that the other writes in pieces."""
    if one.atomic and set(one.writes) & set(other.reads):
        return True
    return other.atomic and bool(set(one.writes) & set(other.writes))


def reaches(group: Group, target: Group) -> bool:
    """Whether `group` depends on `target`."""
    visited: set[Group] = set()
    waiting = [group]
    while waiting:
        one = waiting.pop()
        if one is target:
            return True
        if one in visited or one.last < target.first:
            continue
        visited.add(one)
        waiting += one.sources
    return False


def ordered(unordered: list[Group]) -> list[Group]:
    """Order groups by their first node, each after the groups that it depends on."""
    done: dict[Group, None] = {}
    for group in unordered:
        stack = [group]
        while stack:
            one = stack[-1]
            missing = [s for s in one.sources if s not in done]
            # the last group of the stack is visited next
            missing.sort(key=lambda s: s.first, reverse=True)
            if missing and len(stack) < 10_000:
                stack += missing
            else:
                done[stack.pop()] = None
    return list(done)
