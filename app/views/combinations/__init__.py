"""Every combination of several axes, as lines through them."""
