"""The main figures of a step over several GPUs."""

from __future__ import annotations

from app.answers.cluster.page import Clustered
from app.quantities import between, count_of, data, joules, number, percent, scaled, seconds_unit
from app.scenes.plan.headline import Figure
from simulator.formats.numbers import short


def headline_figures(clustered: Clustered) -> tuple[Figure, ...]:
    """Time per step, throughput, share of the ideal, memory, communication, and power if it is
    known."""
    answer = clustered.answer
    if answer is None:
        return ()
    scale, unit = seconds_unit(answer.period_s)
    low, high = answer.interval_s
    period = Figure(
        "Time per step, 80% interval",
        number(answer.period_s / scale),
        unit,
        between(low, high, answer.period_s),
        interval=(low / answer.period_s, high / answer.period_s),
    )
    per_s = answer.samples_per_s
    tokens_per_s = per_s * (answer.seq or 0)
    if tokens_per_s >= 1e6:
        tokens = scaled(tokens_per_s, " tokens/s")  # "11.6 M tokens/s"
    else:
        tokens = count_of(tokens_per_s, "tokens/s") if tokens_per_s else ""
    throughput = Figure("Throughput", short(per_s, 3), "samples/s", tokens)
    share = clustered.efficiency
    replicas = answer.layout.dp
    ideal = Figure(
        "Share of ideal",
        percent(share) if share is not None else "–",
        "",
        (f"of {replicas} × one replica" if replicas > 1 else "one replica alone")
        if share is not None
        else "predicting …"
        if clustered.progress
        else "not predicted",
    )
    capacity = answer.cluster.gpu.memory_bytes
    need = answer.largest.needed_bytes
    needed, binary = data(need).split(" ")
    memory = Figure(
        "Memory per rank",
        needed,
        binary,
        f"fits, {percent(need / capacity)} of {data(capacity)}"
        if answer.fits
        else f"does not fit: {data(need - capacity)} more than the GPU has",
        not answer.fits,
    )
    moving, moving_unit = seconds_unit(answer.communication_s)
    exposed, exposed_unit = seconds_unit(answer.exposed_s)
    communication = Figure(
        "Exposed communication",
        number(answer.exposed_s / exposed),
        exposed_unit,
        f"of {number(answer.communication_s / moving)} {moving_unit} in all",
    )
    figures = (period, throughput, ideal, memory, communication)
    if answer.watts is None or answer.joules is None:
        return figures
    gpus = answer.cluster.gpus
    cards = "1 GPU" if gpus == 1 else f"{gpus} GPUs"
    energy = f"{joules(answer.joules)} a step"
    return (*figures, Figure(f"Power of {cards}", number(answer.watts), "W", energy))
