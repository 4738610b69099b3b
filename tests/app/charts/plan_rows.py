"""Candidates of a plan to draw: one that fits, cheaper and faster candidates, and refused
candidates.
"""

from __future__ import annotations

from typing import Any

from simulator.planning import Row

SERVE: dict[str, Any] = {
    "workload": {"kind": "serving", "network": "llama3-8b", "prompt": 1000, "output": 100},
    "load": {"rate": "10/s"},
    "limits": {"per_token": "50 ms", "first_token": "1 s", "cost": "18 USD/h"},
    "candidates": {"gpus": ["h200", "l40s"]},
}


def row(gpu: str, name: str, count: int, token_s: float, usd_per_h: float, **more: Any) -> Row:
    values: dict[str, Any] = {
        "engine": "vllm", "precision": "bf16", "status": "fits", "binds": "memory",
        "per_token_interval_s": (0.8 * token_s, 1.2 * token_s), "first_token_s": 0.2, "per_s": 10.0,
        "usd_per_million": usd_per_h / (10 * 100 * 3600) * 1e6, "largest_rate_per_s": 20.0,
        "memory_share": 0.4, "joules_per_unit": 0.2, "watts": 500.0, "batch": 12.0,
    } | more  # fmt: skip
    return Row(gpu, name, count, per_token_s=token_s, usd_per_h=usd_per_h, **values)


ROWS = (
    row("h200_sxm", "H200 SXM 141GB", 1, 0.030, 3.6),
    row("h200_sxm", "H200 SXM 141GB", 2, 0.020, 7.2, binds="compute"),
    row("l40s", "L40S", 4, 0.040, 7.3, status="uncertain", chance=0.72, binds="overhead"),
    row("l40s", "L40S", 1, 0.090, 1.8, status="too slow", reason="too slow", engine="eager"),
    row("t4", "T4", 1, 0.04, 1.0, usd_per_million=None, per_s=None, status="overloaded"),
)
