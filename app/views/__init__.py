"""One class a view of the explorer; each draws predictions and computes none."""
