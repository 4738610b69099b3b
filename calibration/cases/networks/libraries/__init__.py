"""Networks from packages other than transformers, timm and torchvision, in the sizes that people
run, with random weights.

The packages build them from their own configurations; wide ones are cut to their first layers.
"""
