"""Load a network by name, from the catalogue, a user's file, Hugging Face or timm.

May import the catalogue, formats and errors, and torch inside functions.
"""
