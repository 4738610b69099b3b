"""Formulas of the figures of the factory's buildings."""

from __future__ import annotations

from app.formulas.formula import Formula
from app.formulas.memory import peak
from app.quantities import data, number, percent, scaled, seconds
from app.scenes.factory import Factory


def building(f: Factory, name: str) -> Formula:
    """The formula of a building, by default of the machines."""
    p = f.prediction
    if name == "Managers":
        return Formula(
            "An order",
            "host work of a step / launches",
            f"{seconds(p.host_s)} / {f.orders:,} = {seconds(f.order_s)}",
            f"The average kernel takes {seconds(p.gpu_busy_s / max(1, p.kernel_count))}: if an "
            "order takes longer, the machines wait for the managers.",
            "06-cuda-graph",
        )
    if name == "In-tray":
        return Formula(
            "In the tray",
            "orders issued − orders started",
            f"{number(f.queue_mean)} on average, {f.queue_most:,} at most, of {p.host.depth:,} "
            "places",
            "The managers wait if the tray is full, the machines if it is empty.",
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
            f"The trucks carry {scaled(rate, 'B/s')}.",
            "02-one-cosine-and-two",
        )
    return Formula(
        "Machines used",
        "time of the FLOPs at their engines' peaks / time of the step",
        f"{seconds(f.machines_use * p.period_s)} / {seconds(p.period_s)} = "
        f"{percent(f.machines_use)}",
        f"{scaled(p.flops, 'FLOP')} / {seconds(p.period_s)} = {scaled(f.flops_per_s, 'FLOP/s')} "
        f"are computed, the work of {round(f.machines_use * f.units):,} of {f.units:,} "
        "multiprocessors. The utilisation above counts only matrix products.",
        "04-two-tenths-of-a-percent",
    )
