"""Formulas of a group of launches, shown as one mark of the roofline."""

from __future__ import annotations

from app.formulas.formula import Formula
from app.quantities import data, number, percent, scaled, seconds
from app.scenes.launches import LaunchGroup
from simulator.prediction import Prediction

_BELOW_DRAM = {
    "vector": "by instructions: special functions take several",
    "tensor": "by tiles that reach less than the peak",
}
"""Why a launch can be compute-bound although DRAM is the lower roof at its intensity, by engine."""


def ridge(a: LaunchGroup, p: Prediction) -> float:
    """FLOPs per byte above which the engine, rather than DRAM, is the limit."""
    return a.peak_flops_per_s / p.gpu.bandwidth_bytes_per_s


def intensity(a: LaunchGroup, p: Prediction) -> Formula:
    """FLOPs over bytes, compared with the ridge."""
    peak = f"{scaled(a.peak_flops_per_s, 'FLOP/s')} / {scaled(p.gpu.bandwidth_bytes_per_s, 'B/s')}"
    at = ridge(a, p)
    best, other = ("arithmetic", "memory") if a.intensity > at else ("memory", "compute")
    predicted = "" if a.regime != other else f"\nPredicted: {other}-bound, {limit(a)}."
    return Formula(
        "Intensity",
        "FLOPs / DRAM bytes",
        intensity_sum(a),
        f"Ridge = peak / bandwidth = {peak} = {number(at)} FLOP/byte: "
        f"at best, {best} is the limit.{predicted}",
        "03-intensity",
    )


def limit(a: LaunchGroup) -> str:
    """The limit of a launch, with the reason if the roof at its intensity suggests another one."""
    if a.regime == "overhead":
        return "by the fixed time of each launch"
    dram = a.roof == "DRAM"
    if a.regime == "memory":
        return "by DRAM bandwidth" if dram else "by memory traffic, below the peak bandwidth"
    if not dram:
        return f"by arithmetic on the {a.engine} unit"
    return _BELOW_DRAM[a.engine]


def intensity_sum(a: LaunchGroup) -> str:
    """The intensity as a formula: "3.10 GFLOP / 11.4 MiB = 258 FLOP/byte"."""
    if not a.flops:
        return f"0 FLOP / {data(a.bytes)} = 0 FLOP/byte"
    return f"{scaled(a.flops, 'FLOP')} / {data(a.bytes)} = {number(a.intensity)} FLOP/byte"


def achieved(a: LaunchGroup) -> Formula:
    """FLOPs over time, compared with the roof."""
    if a.flops:
        amount = f"{scaled(a.flops, 'FLOP')} / {seconds(a.each_s)}"
        rate = scaled(a.achieved_flops_per_s, "FLOP/s")
    else:
        amount = f"{data(a.bytes)} / {seconds(a.each_s)}"
        rate = scaled(a.achieved_bytes_per_s, "B/s")
    return Formula(
        "Achieved",
        "FLOPs / time (bytes / time if there are no FLOPs)",
        f"{amount} = {rate}",
        f"{percent(a.of_roof)} of the {a.roof} roof, the lower of the two roofs at this intensity.",
        "03-intensity",
    )
