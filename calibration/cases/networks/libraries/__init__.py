"""Networks from packages other than transformers and timm, in the sizes that people
run, with random weights.

The packages build them from their own configurations; wide ones are cut to their first layers.
"""
