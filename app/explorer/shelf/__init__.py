"""Cards of what a scenario can be given, and the places where they may be dropped."""
