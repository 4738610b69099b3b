"""Mixtures of experts as transformers builds them, cut to their first layers."""

from __future__ import annotations

from calibration.cases.networks.packages import Spec, by_name, ids
from calibration.cases.networks.packages_small import IDS

SPECS: dict[str, Spec] = {
    "qwen3-moe": ("Qwen3Moe", "Qwen3MoeForCausalLM", dict(num_hidden_layers=4), IDS, ids),
    "gpt-oss": ("GptOss", "GptOssForCausalLM", dict(num_hidden_layers=4), IDS, ids),
    "olmoe": ("Olmoe", "OlmoeForCausalLM", dict(num_hidden_layers=4), IDS, ids),
    "mixtral-8x7b": ("Mixtral", "MixtralForCausalLM", dict(num_hidden_layers=4), IDS, ids),
    "minimax-m2": ("MiniMaxM2", "MiniMaxM2ForCausalLM", dict(num_hidden_layers=3), IDS, ids),
    "granite-moe": ("GraniteMoe", "GraniteMoeForCausalLM",
                    dict(num_hidden_layers=4, hidden_size=1536, intermediate_size=512,
                         num_local_experts=40, num_experts_per_tok=8, num_attention_heads=24,
                         num_key_value_heads=8), IDS, ids),
    "glm4-moe": ("Glm4Moe", "Glm4MoeForCausalLM", dict(num_hidden_layers=3), IDS, ids),
    "deepseek-v3-moe": ("DeepseekV3", "DeepseekV3ForCausalLM",
                    dict(num_hidden_layers=3, first_k_dense_replace=2), IDS, ids),
    "phimoe": ("Phimoe", "PhimoeForCausalLM", dict(num_hidden_layers=4), IDS, ids),
}  # fmt: skip
MIXTURES = by_name(SPECS, {})
"""The networks by name."""
