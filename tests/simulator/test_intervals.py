from __future__ import annotations

import msgspec

from simulator.profiles import profile


def test_what_is_compiled_has_an_interval_of_its_own() -> None:
    of = profile()
    assert of.compiled is not None
    assert of.interval_on("h200_sxm", "cuda_graph") == of.interval
    assert of.interval_on("h200_sxm", "compiled") == of.compiled
    # elsewhere the wider end of each: 0.85 < 0.943 and 1.217 > 1.15
    assert of.interval_on("a10", "compiled") == (of.transferred[0], of.compiled[1])


def test_a_profile_without_one_has_the_common_interval() -> None:
    of = msgspec.structs.replace(profile(), compiled=None)
    assert of.interval_on("h200_sxm", "compiled") == of.interval
