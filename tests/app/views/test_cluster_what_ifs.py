"""What-ifs of a step over several GPUs: those that gain nothing are not offered."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from app.answers.cluster.scaling import WhatIf
from app.views.cluster.what_ifs import WhatIfRows
from tests.app.cluster_answers import ANSWER, CLUSTERED


def offered(what_ifs: tuple[WhatIf, ...]) -> list[str]:
    rows = WhatIfRows()
    rows.put(replace(CLUSTERED, answer=ANSWER, what_ifs=what_ifs, stale=False))
    assert rows.isHidden() == (not rows.buttons)
    return [button.toolTip() for button in rows.buttons]


def test_a_what_if_that_changes_nothing_is_left_out(application: Any) -> None:
    needed = max(rank.needed_bytes for rank in ANSWER.ranks)
    same = WhatIf("link_speed=2", ANSWER.period_s, needed, "")
    tiny = WhatIf("bucket=100", ANSWER.period_s * 0.9999, needed, "")
    faster = WhatIf("fsdp=1", ANSWER.period_s * 0.9, needed, "")
    smaller = WhatIf("recompute=1", ANSWER.period_s, needed - 1000, "")
    refused = WhatIf("dp=3", None, 0, "does not divide")
    assert offered((faster, same, tiny, smaller, refused)) == ["+fsdp=1", "+recompute=1"]
    assert offered((same, refused)) == []
