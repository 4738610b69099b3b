"""What-ifs of kernels: replace, speed up, fuse or remove them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from msgspec.structs import replace

from simulator.errors import InputError
from simulator.fusion.rules import LIKE
from simulator.modes import autotunes, compiles, replays
from simulator.scenario.apply import whatif
from simulator.scenario.module_pattern import ALL
from simulator.scenario.parameters import Modules, Range, Unit
from simulator.scenario.resolved import ResolvedScenario, Speed
from simulator.scenario.trial import Trial
from simulator.whatif.edits.fused_experts import FusedExperts
from simulator.whatif.edits.fusing import Choice, FusedOps
from simulator.whatif.edits.removing import Removed


@whatif(
    "kernels",
    Trial("+sdpa=cudnn", ("compute",), "attention in one cuDNN kernel", "code"),
    Trial("+sdpa=flash", ("compute",), "attention in one kernel on tensor cores", "code"),
    Trial("+sdpa=efficient", ("compute",), "attention in one kernel", "code"),
    sentence="Use the {backend} kernel of attention",
)
def sdpa(
    resolved: ResolvedScenario,
    backend: Literal["usual", "math", "efficient", "flash", "cudnn"] = "flash",
) -> ResolvedScenario:
    """The kernel of scaled_dot_product_attention; "usual" is PyTorch's choice."""
    kernel = None if backend == "usual" else backend
    if kernel == resolved.request.sdpa:
        return resolved
    return resolved.traced_otherwise("sdpa", sdpa=kernel)


@whatif("kernels", untried="the user must choose the op")
def remove(resolved: ResolvedScenario, op: str = "*", modules: Modules = ALL) -> ResolvedScenario:
    """Remove ops, as if they took no time: by name (gelu, *dropout*), by module pattern, or both.
    Backward ops are removed too if their names match."""
    if op == "*" and modules == ALL:
        raise InputError(
            "remove: every op of the network: expected the name of an op, or a module pattern; "
            "such as +remove=gelu or +remove=*,modules=pooler"
        )
    return resolved.edited(Removed(op, modules))


_COMPILERS = {"tensorrt": "TensorRT", "xla": "XLA", "nvfuser": "nvFuser"}


def _compiler(arguments: Mapping[str, Any]) -> str:
    level = arguments["level"]
    if level in ("pointwise", "pointwise+reductions"):
        return f"Fuse loops: {level.replace('+', ' and ')}"
    return f"Compile with {_COMPILERS.get(level, 'torch.compile')}"


@whatif(
    "kernels",
    Trial(
        "+fusion=compiled",
        ("overhead", "memory"),
        "torch.compile fuses loops and issues them without Python",
        "code",
    ),
    sentence=_compiler,
)
def fusion(
    resolved: ResolvedScenario,
    level: Literal[
        "none", "pointwise", "pointwise+reductions", "compiled", "xla", "nvfuser", "tensorrt"
    ] = "compiled",
) -> ResolvedScenario:
    """How much a compiler fuses: pointwise loops, also reductions, or everything that torch.compile
    fuses (compiled, the same as mode=compiled). xla, nvfuser and tensorrt are approximations from
    published descriptions, without measurements. The host runs the code that torch.compile
    generates, except in a CUDA graph, which replays the fused kernels."""
    graph = resolved.mode == "cuda_graph"
    if level == "none":
        return replace(resolved, mode="cuda_graph" if graph else "eager", fusion=None)
    if level in LIKE:
        resolved = resolved.noted(
            f"the fusion and the host of {LIKE[level]} are approximated by rules that were "
            "compared with torch.compile only"
        )
    if graph:
        return replace(resolved, fusion=level)
    if level == "compiled" and compiles(resolved.mode):
        return replace(resolved, fusion=None)  # the mode already fuses all that it can
    mode = "reduce-overhead" if replays(resolved.mode) else "compiled"
    if autotunes(resolved.mode):
        resolved = resolved.noted(
            f"mode {resolved.mode} is predicted as {mode}: {level} fusion has no templates that "
            "this mode could choose"
        )
    return replace(resolved, mode=mode, fusion=None if level == "compiled" else level)


def _fused(arguments: Mapping[str, Any]) -> str:
    """The op names joined by "+" in words: "Fuse addmm and gelu into one kernel"."""
    ops: str = arguments["ops"]
    names = [name.strip("_").removeprefix("native_").replace("_", " ") for name in ops.split("+")]
    *first, last = names
    listed = f"{', '.join(first)} and {last}" if first else last
    return f"Fuse {listed} into one kernel"


@whatif(
    "kernels",
    sentence=_fused,
    untried="tried on the adjacent ops that save the most time (simulator.analysis.fusible)",
)
def fuse(
    resolved: ResolvedScenario,
    ops: str,
    modules: Modules = ALL,
    phase: Literal["forward", "backward", "both"] = "both",
) -> ResolvedScenario:
    """Fuse ops: names joined by + (gelu+add) fuse each such chain within a module of the pattern;
    op numbers (37+39, 37-39) or all ops of a module (layers.#.up) become one kernel. A kernel reads
    its inputs and writes its outputs once, and costs the host one eager op. A product may have an
    epilogue."""
    choice = Choice(ops, modules, phase)
    old = next((e for e in resolved.edits if isinstance(e, FusedOps)), FusedOps(()))
    if choice in old.choices:
        return resolved
    others = tuple(e for e in resolved.edits if e is not old)
    choices = tuple(sorted((*old.choices, choice), key=repr))
    return replace(resolved, edits=others).edited(
        FusedOps(choices),
        "each fused set costs the host one eager op, and is as fast as a generated kernel",
    )


@whatif(
    "kernels",
    Trial(
        "+fused_experts",
        ("overhead", "memory"),
        "serving engines route, multiply and add up experts in six launches",
        "code",
    ),
    sentence="Run experts with the fused kernels of serving engines",
)
def fused_experts(resolved: ResolvedScenario, modules: Modules = ALL) -> ResolvedScenario:
    """Run mixtures of experts with the fused kernels of serving engines: one for routing, one for
    the order of rows, products with small tiles, one for the activation, one for the sum."""
    return resolved.edited(
        FusedExperts(modules), "experts' products are as fast as cuBLAS' with the same tiles"
    )


@whatif("kernels", untried="it concerns a kernel that does not exist yet")
def utilisation(
    resolved: ResolvedScenario,
    family: str,
    times: Annotated[float, Range(0.01, 100, log=True), Unit("×")] = 1.5,
) -> ResolvedScenario:
    """Multiply the utilisation that a family of kernels (gemm, attention, norm …) reaches on the
    GPU. This divides their compute and memory time, not their start and end."""
    if times == 1:
        return resolved
    by_family = {s.family: s.times for s in resolved.speeds}
    by_family[family] = by_family.get(family, 1.0) * times
    speeds = tuple(Speed(f, t) for f, t in sorted(by_family.items()) if t != 1)
    return replace(resolved, speeds=speeds)
