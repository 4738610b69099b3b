"""Cards of what a scenario can be given, and the places where they may be dropped.

May import widgets and the explorer's state; not its window.
"""
