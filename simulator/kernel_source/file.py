"""A kernel, its reference, a check and a benchmark in a file that needs only torch and Triton."""

from __future__ import annotations

from dataclasses import dataclass

from simulator.kernel_source.benchmark import RUNNING
from simulator.kernel_source.kernel import Kernel
from simulator.kernel_source.layouts import Layout
from simulator.kernel_source.reference import reference, shown
from simulator.kernel_source.writer import Operand
from simulator.records import ITEM_BYTES

_TOLERANCES = {2: ("bfloat16", 2.0**-6), 1: ("float16", 2.0**-9), 0: ("float32", 5e-5)}
_PER_THREAD, _PER_THREAD_OF_BYTES = 16, 8
_LEAST_WARPS, _MOST_WARPS = 4, 16

_HEAD = '''"""{title}

{about}

    python FILE                              checks; on a GPU also measures against the prediction
    TRITON_INTERPRET=1 python FILE --check   checks on any machine, with Triton's interpreter

Written by `ridgepoint export-kernel`. It needs only torch and Triton.
"""

import argparse
import os
import statistics
from types import SimpleNamespace

import torch
import triton
import triton.language as tl

aten = torch.ops.aten
INTERPRETED = os.environ.get("TRITON_INTERPRET", "0") == "1"
DEVICE = "cpu" if INTERPRETED or not torch.cuda.is_available() else "cuda"

'''


@dataclass(frozen=True)
class KernelInfo:
    """The description of an exported kernel in its file. Times in seconds: `kernel_s` and
    `unfused_s` are those of a run alone with operands out of L2, `in_step_s` those in the step."""

    title: str
    about: str
    gpu: str
    kernel_s: float
    unfused_s: float
    in_step_s: float
    moved_bytes: int


def source(kernel: Kernel, info: KernelInfo) -> str:
    """The source of the file that exports a kernel."""
    lines, unread = reference(kernel)
    operands = [*kernel.operands, *unread]
    parameters = ", ".join(["s", *(o.name for o in operands)])
    body = [
        *_triton(kernel),
        "",
        "",
        *_elements(kernel),
        "",
        "",
        *_operands(kernel, operands),
        "",
        "",
        *_launch(kernel, parameters),
        "",
        "",
        f"def reference({parameters}):",
        '    """The ops of the trace, as eager PyTorch runs them."""',
        *_indented(lines),
        "",
        "",
    ]
    about = "\n\n".join([info.about, *_guess(kernel)])
    head = _HEAD.format(title=info.title, about=about)
    return head + "\n".join([*_constants(kernel, info), "", "", *body]) + RUNNING


def _guess(kernel: Kernel) -> list[str]:
    """A warning about parts of tensors that the trace does not distinguish."""
    ops = ", ".join(kernel.group.guessed)
    return (
        [
            f"GUESSED: {ops} read parts of a tensor that differ only in their offsets.\n"
            "A trace does not record which op reads which part: kernel and reference use the same "
            "order,\n"
            "which may differ from the network's. Bytes and work are the same in any order."
        ]
        if ops
        else []
    )


def _constants(kernel: Kernel, info: KernelInfo) -> list[str]:
    values = [
        (case, ", ".join(f'"{n}": {v[at]}' for n, v in kernel.names.values.items()))
        for at, case in enumerate(kernel.group.cases)
    ]
    halves = {"bfloat16": 2, "float16": 1}
    dtypes = [layout.dtype for op in kernel.group.ops for _, layout in (*op.inputs, *op.outputs)]
    worst, tolerance = _TOLERANCES[max(halves.get(dtype, 0) for dtype in dtypes)]
    tolerance *= len(kernel.group.ops) ** 0.5
    return [
        "# Sizes that differ between cases; the others are literals in the source",
        "CASES = {",
        *(f'    "{case}": {{{text}}},' for case, text in values),
        "}",
        f"# The reference rounds to {worst} after each op; the kernel computes in fp32",
        f"TOLERANCE = {tolerance:.3g}  # relative to an element, and to its tensor's RMS",
        f"# Seconds on {info.gpu}: alone with operands out of L2, and in the step",
        f'PREDICTED_S = {{"kernel": {info.kernel_s:.4g}, "unfused": {info.unfused_s:.4g}, '
        f'"in the step": {info.in_step_s:.4g}}}',
        f"MOVED_BYTES = {info.moved_bytes}  # each operand and each result once",
    ]


def _triton(kernel: Kernel) -> list[str]:
    parameters = [f"{o.name}_ptr" for o in kernel.operands] + [
        f"{result.name}_ptr" for result in kernel.results
    ]
    tile = ("BLOCK",) if kernel.cols is None else ("ROWS", "COLS")
    # Sizes are constants, as in a network compiled for its shapes, so that divisions are cheap
    parameters += [f"{name}: tl.constexpr" for name in (*kernel.arguments, *tile)]
    return ["@triton.jit", f"def kernel({', '.join(parameters)}):", *_indented(kernel.lines)]


def _elements(kernel: Kernel) -> list[str]:
    count = [kernel.count] if kernel.cols is None else [kernel.count, kernel.cols]
    return [
        "def elements(s):",
        '    """The number of elements that the kernel processes."""',
        f"    return {' * '.join(kernel.names.text(size, 's.') for size in count)}",
    ]


def _operands(kernel: Kernel, operands: list[Operand]) -> list[str]:
    filled = [f"{o.name} = {_filled(kernel, o)}" for o in operands]
    names = ", ".join(o.name for o in operands)
    return [
        "def operands(s):",
        '    """The operands of the kernel, filled at random."""',
        *_indented(filled),
        f"    return ({names},)" if names else "    return ()",
    ]


def _filled(kernel: Kernel, operand: Operand) -> str:
    hint, _, limit = operand.hint.partition(":")
    arguments = _layout(kernel, operand.layout)
    limit = f", limit={limit}" if limit else ""
    return f'filled("{hint}", {arguments}{limit})'


def _layout(kernel: Kernel, layout: Layout) -> str:
    return (
        f"{shown(layout.shape, kernel.names)}, {shown(layout.stride, kernel.names)}, "
        f"dtype=torch.{layout.dtype}"
    )


def _launch(kernel: Kernel, parameters: str) -> list[str]:
    stored = [
        f"{each.name} = empty({_layout(kernel, each.layout)}, device=DEVICE)"
        for each in kernel.results
    ]
    results = ", ".join(each.name for each in kernel.results)
    arguments = [*(o.name for o in kernel.operands), results]
    arguments += [f"s.{name}" for name in kernel.arguments]
    count = kernel.names.text(kernel.count, "s.")
    if kernel.cols is None:
        tile = ["block = 1024"]
        grid, constants = "block", "BLOCK=block, num_warps=4"
    else:
        tile = _tile(kernel, kernel.names.text(kernel.cols, "s."))
        grid, constants = "rows", "ROWS=rows, COLS=cols, num_warps=warps"
    call = f"kernel[(triton.cdiv({count}, {grid}),)]({', '.join(arguments)}, {constants})"
    return [
        f"def fused({parameters}, empty=torch.empty_strided):",
        '    """The results, by one launch of the kernel."""',
        *_indented([*stored, *tile, call]),
        f"    return ({results},)",
    ]


def _tile(kernel: Kernel, cols: str) -> list[str]:
    if kernel.walking:
        # Adjacent elements: Inductor's choice (triton_heuristics.py, contiguous_config)
        sizes = (1, 2048, 16) if kernel.beside else (32, 64, 4)
        return ["rows, cols, warps = {}, {}, {}".format(*sizes)]
    per_thread = _PER_THREAD_OF_BYTES if _reads_bytes(kernel) else _PER_THREAD
    least = 32 * _LEAST_WARPS * per_thread
    return [
        f"cols = triton.next_power_of_2({cols})",
        f"rows = max(1, {least} // cols)",
        f"warps = min({_MOST_WARPS}, max({_LEAST_WARPS}, rows * cols // {32 * per_thread}))",
    ]


def _reads_bytes(kernel: Kernel) -> bool:
    """Whether a kernel reads flags and wider elements. A thread loads 16 flags or 8 halves at once.
    With 16 elements per thread, Triton exchanges operands through shared memory."""
    sizes = {ITEM_BYTES[o.layout.dtype] for o in kernel.operands}
    return 1 in sizes and len(sizes) > 1


def _indented(lines: list[str] | tuple[str, ...]) -> list[str]:
    return [f"    {line}" if line else "" for line in lines]
