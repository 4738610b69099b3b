"""Cards of a slice and of a selected time range."""

from __future__ import annotations

from app.quantities import data, percent, scaled, seconds
from app.scenes.timeline.lanes import GPU_KINDS, HOST_KINDS, LAUNCHES, VIEWS, WAITS, Lanes
from app.widgets.canvas import Card
from app.widgets.paint import elided
from simulator.prediction import REGIMES

_MODULE_PX = 260.0


def gpu_card(lanes: Lanes, place: int) -> Card:
    """Return the card of a kernel, or of the idle time before it."""
    p, slices = lanes.prediction, lanes.gpu
    kernel, kind = int(slices.of[place]), int(slices.kind[place])
    c, s = p.columns, p.schedule
    op, work = p.trace.ops[int(c.op_of[kernel])], p.works[int(c.work_of[kernel])]
    module = elided(op.module or "the network itself", _MODULE_PX)
    if kind >= len(REGIMES):
        return Card(
            "GPU idle",
            note=GPU_KINDS[kind],
            regime="overhead",
            rows=(
                ("Idle", seconds(float(s.idle_s[kernel]))),
                ("Waiting for", lanes.kernel_label(kernel)),
                ("Module", module),
            ),
        )
    duration = float(s.end_s[kernel] - s.start_s[kernel])
    regime = REGIMES[kind]
    return Card(
        lanes.kernel_label(kernel),
        note=f"{regime}-bound",
        regime=regime,
        rows=(
            ("Op", op.name.removeprefix("aten.")),
            ("Time", f"{seconds(duration)}, including {seconds(float(c.fixed_s[kernel]))} fixed"),
            (
                "Launched, started",
                f"{seconds(float(s.issue_s[kernel]))}, {seconds(float(s.start_s[kernel]))}",
            ),
            ("GPU idle before", seconds(float(s.idle_s[kernel])) if s.idle_s[kernel] else "none"),
            ("FLOPs, bytes", f"{scaled(work.flops, 'FLOP')}, {data(work.bytes)}"),
            ("Module", module),
            ("Source", f"{', '.join(p.tiers)}, profile {p.profile}"),
        ),
    )


def host_card(lanes: Lanes, place: int) -> Card:
    """Return the card of a slice of the host's time."""
    p, slices = lanes.prediction, lanes.host
    kind = HOST_KINDS[int(slices.kind[place])]
    index = int(slices.of[place])
    op = p.trace.ops[index]
    time = seconds(float(slices.end_s[place] - slices.begin_s[place]))
    rows = [
        ("Host time", time),
        ("Module", elided(op.module or "the network itself", _MODULE_PX)),
        ("Phase", op.phase),
    ]
    if kind == LAUNCHES and (graph := lanes.graph_of(index)):
        count = f"{lanes.kernels_of(graph).size:,}"
        return Card("graph", (("Host time", time), ("Kernels", count)), kind)
    if kind == LAUNCHES:
        rows.insert(1, ("Kernels", f"{lanes.kernels_of(frozenset([index])).size:,}"))
    name = op.name.removeprefix("aten.")
    note = {WAITS: "waiting for the GPU", VIEWS: VIEWS}.get(kind, kind)
    return Card(name, tuple(rows), note)


def area_card(lanes: Lanes, low_s: float, high_s: float) -> Card:
    """Return the card of the sums over a time range."""
    sums, host = lanes.gpu.sums(low_s, high_s), lanes.host.sums(low_s, high_s)
    span = max(high_s - low_s, 1e-15)
    rows = [
        (name, f"{seconds(value)}, {percent(value / span)}")
        for name, value in sums.items()
        if value > 0
    ]
    rows = [
        (f"{name.capitalize()}-bound kernels" if name in REGIMES else f"Idle, {name}", words)
        for name, words in rows
    ]
    busy = sum(sums[name] for name in REGIMES)
    ends = lanes.gpu.begin_s[:1].sum(), lanes.gpu.end_s[-1:].sum()
    between = min(high_s, ends[1]) - max(low_s, ends[0]) - sum(sums.values())
    if between > 1e-12:
        rows.append(("Idle, between kernels", f"{seconds(between)}, {percent(between / span)}"))
    inside = lanes.gpu.within(low_s, high_s)
    count = int((lanes.gpu.kind[inside] < len(REGIMES)).sum())
    work = sum(value for name, value in host.items() if name != WAITS)
    return Card(
        seconds(span),
        note=f"{count:,} kernel{'s' * (count != 1)}",
        rows=(
            ("GPU busy", f"{seconds(busy)}, {percent(busy / span)}"),
            *rows,
            ("Host busy", f"{seconds(work)}, {percent(work / span)}"),
        ),
    )
