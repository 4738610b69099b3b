"""A prediction as data: a JSON document, or one CSV row per kernel. Keys name their SI unit."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from math import isfinite
from typing import Any, cast

from app.answers.figures import totals
from app.answers.power import power_summary
from app.answers.subject import Subject
from app.printable import printable
from app.report.measured import rows
from simulator.measured.overlay import Overlay
from simulator.prediction import REGIMES, Kernel, Prediction

FORMAT, VERSION = "ridgepoint-prediction", 1
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def document(p: Prediction, subject: Subject) -> dict[str, Any]:
    """The full prediction. Readers check `format` and `version` first."""
    head = {"format": FORMAT, "version": VERSION}
    return head | summary(p, subject) | {"kernels": [row(k) for k in p.kernels]}


def summary(p: Prediction, subject: Subject) -> dict[str, Any]:
    """A prediction without its kernels."""
    t = totals(p, subject)
    return {
        "scenario": {
            "network": subject.name,
            "batch": subject.batch,
            "seq": subject.seq,
            "dtype": subject.dtype,
            "phase": p.trace.phase,
            "optimizer": p.trace.optimizer,
            "mode": p.mode,
            "gpu": p.gpu.id,
            "gpu_name": p.gpu.name,
            "host": p.host.id,
            "whatifs": list(subject.whatifs),
        },
        "period_s": p.period_s,
        "interval_s": list(p.interval_s),
        "latency_s": p.latency_s,
        "gpu_busy_s": p.gpu_busy_s,
        "host_s": p.host_s,
        "idle": {"host_s": p.idle.host_s, "sync_s": p.idle.sync_s, "gaps_s": t.gaps_s},
        "regime": p.regime,
        "shares": dict(p.shares),
        "samples_per_s": t.samples_per_s,
        "tokens_per_s": t.tokens_per_s,
        "flops": p.flops,
        "product_flops": t.product_flops,
        "product_peak_flops_per_s": t.peak_flops_per_s,
        "flop_utilisation": t.utilisation,
        "memory": {
            "fits": p.fits,
            "peak_bytes": p.peak_memory_bytes,
            "workspace_bytes": p.workspace_bytes,
            "capacity_bytes": p.gpu.memory_bytes,
            "weight_bytes": p.weight_bytes,
            "at_peak_bytes": dict(p.memory.at_peak),
        },
        "power": power_summary(p),
        "parameters": p.trace.parameters,
        "op_count": len(p.trace.ops),
        "kernel_count": p.kernel_count,
        "unmodelled": dict(p.unmodelled),
        "assumptions": [
            {"op": a.op, "name": a.name, "taken": a.taken} for a in p.trace.assumptions
        ],
        "notes": list(p.notes),
        "provenance": {
            "profile": p.profile,
            "tiers": dict(p.tiers),
            "host_cpu": p.host.cpu,
            "host_source": p.host.source,
            "torch_version": p.trace.torch_version,
            "traced_for": p.trace.gpu,
            "gpu_unsourced": list(p.gpu.unsourced),
        },
    }


def row(k: Kernel) -> dict[str, Any]:
    """One kernel as a flat row."""
    shares = {f"{regime}_share": k.shares[regime] for regime in REGIMES}
    return {
        "index": k.index,
        "op": k.op,
        "name": k.name,
        "family": k.family,
        "module": k.module,
        "phase": k.phase,
        "engine": k.engine,
        "dtype": k.dtype,
        "flops": k.flops,
        "read_bytes": k.read_bytes,
        "write_bytes": k.write_bytes,
        "issue_s": k.issue_s,
        "start_s": k.start_s,
        "duration_s": k.duration_s,
        "idle_s": k.idle_s,
        "compute_s": k.compute_s,
        "memory_s": k.memory_s,
        "fixed_s": k.fixed_s,
        "tier": k.tier,
        "regime": k.regime,
        **shares,
    }


COLUMNS = (
    "index", "op", "name", "family", "module", "phase", "engine", "dtype", "flops", "read_bytes",
    "write_bytes", "issue_s", "start_s", "duration_s", "idle_s", "compute_s", "memory_s",
    "fixed_s", "tier", "regime", *(f"{regime}_share" for regime in REGIMES),
)  # fmt: skip


def as_json(p: Prediction, subject: Subject, laid: Overlay | None = None) -> str:
    """The document as text; with `laid`, also the measured time of each op."""
    measured = {"measured": rows(laid)} if laid else {}
    return json_text(document(p, subject) | measured)


def json_text(document: Any) -> str:
    """A document as JSON text; NaN and infinities become null."""
    return json.dumps(_finite(document), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _finite(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _finite(each) for key, each in cast("Mapping[str, Any]", value).items()}
    if isinstance(value, list | tuple):
        return [_finite(each) for each in cast("Sequence[Any]", value)]
    return None if isinstance(value, float) and not isfinite(value) else value


def as_csv(p: Prediction) -> str:
    """One row per kernel, in launch order."""
    return csv_text(COLUMNS, (row(k) for k in p.kernels))


def csv_text(columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> str:
    """Rows as CSV text with a header; NaN and infinities become empty cells."""
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\r\n")
    writer.writeheader()
    for each in rows:
        writer.writerow({key: _cell(value) for key, value in each.items()})
    return text.getvalue()


def _cell(value: Any) -> Any:
    """Prefix a text that a spreadsheet would run as a formula with an apostrophe, and escape
    control characters."""
    if isinstance(value, float) and not isfinite(value):
        return ""
    if not isinstance(value, str):
        return value
    return printable(f"'{value}" if value.startswith(_FORMULA) else value)
