"""The text of a small plan's file."""

PLAN = """
[workload]
kind = "inference"
network = "resnet50"
[load]
rate = "800/s"
[limits]
latency = "100 ms"
[candidates]
gpus = ["h200"]
counts = [1]
"""
