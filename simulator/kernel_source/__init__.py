"""Export fused groups: a file with a Triton kernel, a torch reference, a check and a benchmark.

May import analysis, fusion and their imports.
"""

from simulator.kernel_source.exportable import Candidate, candidates, find, reason
from simulator.kernel_source.file import KernelInfo, source
from simulator.kernel_source.group import FusedGroup, fused_group
from simulator.kernel_source.kernel import Kernel, kernel, supported

__all__ = [
    "Candidate", "FusedGroup", "Kernel", "KernelInfo", "candidates", "find", "fused_group",
    "kernel", "reason", "source", "supported",
]  # fmt: skip
