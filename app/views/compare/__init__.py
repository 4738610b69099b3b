"""From one scenario to another, as pictures."""
