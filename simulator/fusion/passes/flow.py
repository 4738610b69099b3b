"""The minimum cut of a graph, by Dinic's maximum flow ("Algorithm for solution of a problem of
maximum flow in networks with power estimation", 1970)."""

from __future__ import annotations

from collections.abc import Mapping


def behind(edges: Mapping[tuple[int, int], int], nodes: int, source: int, sink: int) -> set[int]:
    """The nodes from which the sink can still be reached under a maximum flow. They are the sink's
    side of the minimum cut nearest to the sink. All maximum flows give the same cut.

    `edges` maps pairs (from, to) of nodes 0 to `nodes` − 1 to whole capacities.
    """
    residual = _Residual(edges, nodes)
    while (levels := residual.levels(source, sink))[sink] >= 0:
        residual.block(levels, source, sink)
    reached, waiting = {sink}, [sink]
    while waiting:
        node = waiting.pop()
        for edge in residual.leaving[node]:
            before = residual.ends[edge]
            if before not in reached and residual.rooms[edge ^ 1] > 0:
                reached.add(before)
                waiting.append(before)
    return reached


class _Residual:
    """Edges in pairs: edge e, and its reverse e ^ 1. `rooms` are the residual capacities."""

    def __init__(self, edges: Mapping[tuple[int, int], int], nodes: int) -> None:
        self.ends: list[int] = []
        self.rooms: list[int] = []
        self.leaving: list[list[int]] = [[] for _ in range(nodes)]
        for (begin, end), capacity in edges.items():
            self.leaving[begin].append(len(self.ends))
            self.leaving[end].append(len(self.ends) + 1)
            self.ends += [end, begin]
            self.rooms += [capacity, 0]

    def levels(self, source: int, sink: int) -> list[int]:
        """The number of edges from the source, by node; −1 for nodes that it does not reach."""
        levels = [-1] * len(self.leaving)
        levels[source] = 0
        front = [source]
        while front and levels[sink] < 0:
            further: list[int] = []
            for node in front:
                for edge in self.leaving[node]:
                    end = self.ends[edge]
                    if levels[end] < 0 and self.rooms[edge] > 0:
                        levels[end] = levels[node] + 1
                        further.append(end)
            front = further
        return levels

    def block(self, levels: list[int], source: int, sink: int) -> None:
        """Send flow along shortest paths until none has residual capacity."""
        ends, rooms, leaving = self.ends, self.rooms, self.leaving
        tried = [0] * len(leaving)
        path: list[int] = []
        node = source
        while True:
            if node == sink:
                room = min(rooms[edge] for edge in path)
                for edge in path:
                    rooms[edge] -= room
                    rooms[edge ^ 1] += room
                full = next(place for place, edge in enumerate(path) if not rooms[edge])
                node = ends[path[full] ^ 1]
                del path[full:]
            elif tried[node] < len(leaving[node]):
                edge = leaving[node][tried[node]]
                if rooms[edge] > 0 and levels[ends[edge]] == levels[node] + 1:
                    path.append(edge)
                    node = ends[edge]
                else:
                    tried[node] += 1
            elif path:
                node = ends[path.pop() ^ 1]
                tried[node] += 1
            else:
                return
