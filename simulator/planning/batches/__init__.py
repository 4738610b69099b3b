"""Plans of fixed batches: inference at a rate, and training to its last token.

May import the other modules of planning, and what they stand on.
"""
