"""The commands, one file each; nothing heavy is imported before one runs.

May import answers, report, plots, html and widgets; no view, and not the explorer.
"""
