"""What if other kernels ran, faster ones, or some not at all?"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Literal

from simulator.errors import InputError
from simulator.whatif.module_pattern import ALL
from simulator.whatif.parameters import Range, Unit
from simulator.whatif.registry import whatif
from simulator.whatif.removing import Removed
from simulator.whatif.setting import Setting, Speed


@whatif("kernels")
def sdpa(
    setting: Setting,
    backend: Literal["usual", "math", "efficient", "flash", "cudnn"] = "flash",
) -> Setting:
    """The kernel of scaled_dot_product_attention; "usual" is the one that PyTorch chooses."""
    wanted = None if backend == "usual" else backend
    if wanted == setting.ask.sdpa:
        return setting
    return setting.traced_otherwise("sdpa", sdpa=wanted)


@whatif("kernels")
def remove(setting: Setting, op: str = "*", modules: str = ALL) -> Setting:
    """Ops taken out, as if they were free: by name (gelu, *dropout*), by module pattern, or both;
    their backward goes too where its name fits."""
    if op == "*" and modules == ALL:
        raise InputError(
            "remove: every op of the network: expected the name of an op, or a module pattern; "
            "such as +remove=gelu or +remove=*,modules=pooler"
        )
    return setting.edited(Removed(op, modules))


@whatif("kernels")
def utilisation(
    setting: Setting,
    family: str,
    times: Annotated[float, Range(0.01, 100, log=True), Unit("×")] = 1.5,
) -> Setting:
    """How well a family of kernels (gemm, attention, norm …) uses the GPU, this many times as now:
    its compute and memory time is divided by it, its start and end are not."""
    if times == 1:
        return setting
    held = {s.family: s.times for s in setting.speeds}
    held[family] = held.get(family, 1.0) * times
    speeds = tuple(Speed(f, t) for f, t in sorted(held.items()) if t != 1)
    return replace(setting, speeds=speeds)
