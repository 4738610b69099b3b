"""The networks listed first, in this order; their traces are packaged."""

from __future__ import annotations

NETWORKS = ("bert-base", "gpt2", "llama3-8b", "llama3-8b-decode", "resnet50", "vit-b16")
