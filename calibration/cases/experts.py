"""Steps of mixtures of many experts, of fewer layers than the published networks."""

from __future__ import annotations

from calibration.cases.case import Case, infer, train

EXPERTS: tuple[Case, ...] = (
    *infer("gpt-oss-120b-decode", "bf16", 8, 1024, layers=4),
    *infer("gpt-oss-120b-decode", "bf16", 64, 1024, layers=4),
    *infer("gpt-oss-120b", "bf16", 1, 2048, layers=4),
    *infer("qwen3-30b-decode", "bf16", 32, 2048, layers=8),
    *infer("qwen3-30b", "bf16", 1, 1024, layers=8),
    *infer("minimax-m2-decode", "bf16", 16, 4096, layers=4),
    *infer("gpt-oss-120b-decode", "bf16", 1, 1024, layers=4),
    *infer("minimax-m2", "bf16", 1, 512, layers=4),
    *infer("gpt-oss-120b-decode", "bf16", 256, 512, layers=4),
    *train("qwen3-30b", "bf16", 1, 2048, layers=4),
    *train("gpt-oss-20b", "bf16", 2, 1024, layers=4),
    *infer("gpt-oss-20b", "bf16", 4, 2048, layers=8),
)  # fmt: skip
"""In order of their value, so that a run that ends early has the most useful ones."""
