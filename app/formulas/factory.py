"""How the figures of the factory's buildings come about."""

from __future__ import annotations

from app.formulas.formula import Formula
from app.formulas.memory import peak
from app.quantities import data, number, percent, scaled, seconds
from app.scenes.factory import Factory


def building(f: Factory, name: str) -> Formula:
    """What is said of a building; of none, of the machines."""
    p = f.prediction
    if name == "Managers":
        return Formula(
            "An order",
            "host work of a step / launches",
            f"{seconds(p.host_s)} / {f.orders:,} = {seconds(f.order_s)}",
            f"The average kernel takes {seconds(p.gpu_busy_s / max(1, p.kernel_count))}: where an "
            "order takes longer, the machines wait for the managers.",
            "06-cuda-graph",
        )
    if name == "In-tray":
        return Formula(
            "In the tray",
            "orders handed out − orders begun",
            f"{number(f.queue_mean)} on average, {f.queue_most:,} at most, of {p.host.depth:,} "
            "places",
            "A full tray makes the managers wait; an empty one the machines.",
            "06-cuda-graph",
        )
    if name == "Warehouse":
        return peak(p)
    if name == "Trucks":
        rate = f.traffic_bytes / p.period_s if p.period_s else 0.0
        return Formula(
            "Road used",
            "DRAM bytes of a step / its time / bandwidth",
            f"{data(f.traffic_bytes)} / {seconds(p.period_s)} / "
            f"{scaled(p.gpu.bandwidth_bytes_per_s, 'B/s')} = {percent(f.road_use)}",
            f"They carry {scaled(rate, 'B/s')}.",
            "02-one-cosine-and-two",
        )
    return Formula(
        "Machines used",
        "FLOPs of a step at the peaks of their engines / its time",
        f"{seconds(f.machines_use * p.period_s)} / {seconds(p.period_s)} = "
        f"{percent(f.machines_use)}",
        f"{scaled(p.flops, 'FLOP')} / {seconds(p.period_s)} = {scaled(f.flops_per_s, 'FLOP/s')} "
        f"are made, the work of {round(f.machines_use * f.units):,} of {f.units:,} "
        "multiprocessors.",
        "04-two-tenths-of-a-percent",
    )
