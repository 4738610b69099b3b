"""What the explorer asks beside its window: predictions, traces and advice."""
