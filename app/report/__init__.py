"""A prediction told: its figures on a terminal, side by side, and as data."""
