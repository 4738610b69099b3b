"""The ranked candidates of a plan as a table: its columns, and each row's cells."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from app.answers.gpu_names import short_gpu
from app.answers.plan.words import status_words
from simulator.formats.numbers import number, short
from simulator.planning import Row
from simulator.planning.spec import Spec, WorkloadKind
from simulator.planning.wording import duration, latency

_NEEDED = 1
"""If the columns of at most this rank do not all fit, every column is shown without its secondary
texts, such as intervals."""
Cell = tuple[str, str]
"""A figure and its secondary text, such as the ends of its interval."""


@dataclass(frozen=True)
class Column:
    """A column: `head` is its title in two lines, `px` its width, `least_px` its width without
    secondary texts. If there is too little room, columns of the highest `rank` are left out first,
    so that the cost, which ranks the candidates, is left out last.
    """

    head: tuple[str, str]
    px: float
    rank: int
    cell: Callable[[Row], Cell]
    least_px: float = 0.0

    @property
    def brief(self) -> Column:
        """The column without secondary texts."""

        def cell(row: Row) -> Cell:
            return self.cell(row)[0], ""

        return replace(self, px=self.least_px or self.px, cell=cell)


def columns(spec: Spec) -> tuple[Column, ...]:
    """The columns of a plan of this kind, without the configuration and the limits."""
    kind: WorkloadKind = spec.workload.kind
    percent = f"{spec.limits.percentile:g}%"
    unit = "token" if kind == "serving" or spec.workload.tokens else "sample"
    currency = spec.prices.currency

    def money(usd: float | None) -> Cell:
        return _money(currency.of(usd)), ""

    hourly = Column((currency.name, "an hour"), 54, 3, lambda row: money(row.usd_per_h))
    millions = (f"{currency.name} per", f"M {unit}s")
    px = 54 if unit == "token" else 64
    million = Column(millions, px, 0, lambda row: money(row.usd_per_million))
    energy = Column(("J per", unit), 56, 5, lambda row: (_plain(row.joules_per_unit), ""))
    most = Column(("carries", "a second"), 56, 4, lambda row: (_plain(row.largest_rate_per_s), ""))
    if kind == "serving":
        token = ("Token,", f"{percent}, ms")
        return (
            hourly,
            million,
            Column(token, 122, 1, lambda row: _ms(row.per_token_s, row.per_token_interval_s), 56),
            Column(("First,", "ms"), 50, 2, lambda row: (_ms(row.first_token_s, None)[0], "")),
            most,
            energy,
        )
    size = Column(("Batch", "a GPU"), 50, 1, lambda row: (_plain(row.batch), ""))
    if kind == "training":
        total = Column((currency.name, "in all"), 64, 0, lambda row: money(row.usd_total))
        takes = Column(("Takes,", "80%"), 150, 1, _duration, 70)
        return hourly, total, size, takes, energy
    head = ("A batch,", "ms") if spec.rate_per_s is None else ("Latency,", f"{percent}, ms")
    batch = Column(head, 122, 1, lambda row: _ms(row.latency_s, row.latency_interval_s), 56)
    return hourly, million, size, batch, most, energy


def shown(all_columns: Sequence[Column], room_px: float) -> tuple[Column, ...]:
    """The columns that fit into `room_px`, in their order."""
    fitting = list(all_columns)
    if sum(column.px for column in fitting if column.rank <= _NEEDED) > room_px:
        fitting = [column.brief for column in fitting]
    while len(fitting) > 1 and sum(column.px for column in fitting) > room_px:
        fitting.remove(max(fitting, key=lambda column: column.rank))
    return tuple(fitting)


def texts(spec: Spec, rows: Sequence[Row], complete: bool = True) -> list[list[str]]:
    """The whole table with column heads; unless the plan is `complete`, statuses may be
    preliminary."""
    all_columns = columns(spec)
    heads = ["Configuration", *(" ".join(c.head) for c in all_columns), "Limits", "Binds", "Why"]
    lines = [heads]
    for row in rows:
        cells = [" ".join(filter(None, column.cell(row))) for column in all_columns]
        status = status_words(row, complete)
        lines.append([row.configuration, *cells, status, row.binds, row.reason])
    return lines


def distinguishing(rows: Sequence[Row]) -> tuple[str, ...]:
    """The fields that distinguish rows with the same GPU and the same number of GPUs."""
    names = ("engine", "precision")
    return tuple(name for name in names if len({getattr(row, name) for row in rows}) > 1)


def mode_of(row: Row, fields: Sequence[str]) -> str:
    """The fields that distinguish a row: "vllm fp8"."""
    return " ".join(str(getattr(row, name)) for name in fields)


def short_name(row: Row) -> tuple[str, str]:
    """A short configuration: "H200 SXM ×1", "H200 SXM ×8 tp=2" (two GPUs per server) or "H200 SXM
    ×8 1:3" (one of four servers prefills), and "vllm, bf16"."""
    split = "" if row.split == 1 else f" tp={row.split}"
    split += "" if row.pools is None else f" {row.pools[0]}:{row.pools[1]}"
    return f"{short_gpu(row.name)} ×{row.count}{split}", f"{row.engine}, {row.precision}"


def _money(value: float | None) -> str:
    if value is None:
        return ""
    return short(value, 2) if value < 0.01 else f"{value:,.{2 if value >= 0.0995 else 3}f}"


def _plain(value: float | None) -> str:
    return "" if value is None else short(value, 3)


def _ms(value: float | None, span: tuple[float, float] | None) -> Cell:
    if value is None:
        return "", ""
    if span is None or not span[0] < span[1]:
        return _scaled(value), ""
    return _scaled(value), f"{_scaled(span[0])} to {_scaled(span[1])}"


def _scaled(seconds: float) -> str:
    return number(seconds * 1e3, 3)


def _duration(row: Row) -> Cell:
    if row.duration_s is None:
        return ("", "") if row.latency_s is None else (latency(row.latency_s), "")
    whole = duration(row.duration_s, *(row.duration_interval_s or (None, None)))
    figure, _, ends = whole.partition(" (")
    return figure, ends.removesuffix(")")
