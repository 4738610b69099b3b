"""Controls of the current scenario: its values, what-ifs, advice and goal seek.

May import widgets and the explorer's state and background, but not its window.
"""
