"""What if other kernels ran, faster ones, or some not at all?"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Literal

from simulator.errors import InputError
from simulator.fusion.rules import LIKE
from simulator.modes import autotunes, compiles, replays
from simulator.scenario.apply import whatif
from simulator.scenario.module_pattern import ALL
from simulator.scenario.parameters import Modules, Range, Unit
from simulator.scenario.resolved import ResolvedScenario, Speed
from simulator.whatif.edits.fusing import Choice, FusedOps
from simulator.whatif.edits.removing import Removed


@whatif("kernels")
def sdpa(
    setting: ResolvedScenario,
    backend: Literal["usual", "math", "efficient", "flash", "cudnn"] = "flash",
) -> ResolvedScenario:
    """The kernel of scaled_dot_product_attention; "usual" is the one that PyTorch chooses."""
    wanted = None if backend == "usual" else backend
    if wanted == setting.ask.sdpa:
        return setting
    return setting.traced_otherwise("sdpa", sdpa=wanted)


@whatif("kernels")
def remove(setting: ResolvedScenario, op: str = "*", modules: Modules = ALL) -> ResolvedScenario:
    """Ops taken out, as if they were free: by name (gelu, *dropout*), by module pattern, or both;
    their backward goes too where its name fits."""
    if op == "*" and modules == ALL:
        raise InputError(
            "remove: every op of the network: expected the name of an op, or a module pattern; "
            "such as +remove=gelu or +remove=*,modules=pooler"
        )
    return setting.edited(Removed(op, modules))


@whatif("kernels")
def fusion(
    setting: ResolvedScenario,
    level: Literal[
        "none", "pointwise", "pointwise+reductions", "compiled", "xla", "nvfuser", "tensorrt"
    ] = "compiled",
) -> ResolvedScenario:
    """How much a compiler fuses: loops over elements, reductions too, or all that torch.compile
    does (compiled, which is the mode); xla, nvfuser and tensorrt are approximations: what is
    published of each, measured against none. The host runs what torch.compile generates, but in a
    CUDA graph, which replays the fused kernels."""
    graph = setting.mode == "cuda_graph"
    if level == "none":
        return replace(setting, mode="cuda_graph" if graph else "eager", fusion=None)
    if level in LIKE:
        setting = setting.noted(
            f"{LIKE[level]}'s fusion is approximated by the settings of a rule that was held "
            "against torch.compile's alone, and so is its host"
        )
    if graph:
        return replace(setting, fusion=level)
    if level == "compiled" and compiles(setting.mode):
        return replace(setting, fusion=None)  # the mode fuses all that it can already
    mode = "reduce-overhead" if replays(setting.mode) else "compiled"
    if autotunes(setting.mode):
        setting = setting.noted(
            f"mode {setting.mode} without the templates that it would choose, which {level} fusion "
            f"does not know: as {mode}"
        )
    return replace(setting, mode=mode, fusion=None if level == "compiled" else level)


@whatif("kernels")
def fuse(
    setting: ResolvedScenario,
    ops: str,
    modules: Modules = ALL,
    phase: Literal["forward", "backward", "both"] = "both",
) -> ResolvedScenario:
    """Ops fused: names joined by + (gelu+add) chain by chain within each module of the pattern, op
    numbers (37+39, 37-39) or all ops of a module (layers.#.up) as one kernel; it reads and writes
    what crosses its border, and costs the host one eager op. A product may have an epilogue."""
    choice = Choice(ops, modules, phase)
    old = next((e for e in setting.edits if isinstance(e, FusedOps)), FusedOps(()))
    if choice in old.choices:
        return setting
    others = tuple(e for e in setting.edits if e is not old)
    choices = tuple(sorted((*old.choices, choice), key=repr))
    return replace(setting, edits=others).edited(
        FusedOps(choices),
        "each fused set costs the host one eager op, and is as fast as a generated kernel",
    )


@whatif("kernels")
def utilisation(
    setting: ResolvedScenario,
    family: str,
    times: Annotated[float, Range(0.01, 100, log=True), Unit("×")] = 1.5,
) -> ResolvedScenario:
    """How well a family of kernels (gemm, attention, norm …) uses the GPU, this many times as now:
    its compute and memory time is divided by it, its start and end are not."""
    if times == 1:
        return setting
    held = {s.family: s.times for s in setting.speeds}
    held[family] = held.get(family, 1.0) * times
    speeds = tuple(Speed(f, t) for f, t in sorted(held.items()) if t != 1)
    return replace(setting, speeds=speeds)
