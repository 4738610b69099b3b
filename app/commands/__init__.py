"""The commands, one file each. Heavy modules are imported only when a command runs.

May import answers, report, charts, html and widgets; no view, and not the explorer.
"""
