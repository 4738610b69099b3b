"""The current scenario in controls: its values, its what-ifs, advice and goals.

May import widgets and the explorer's state and background; not its window.
"""
