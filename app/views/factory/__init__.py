"""The essay's factory, alive at the speeds of a prediction."""
