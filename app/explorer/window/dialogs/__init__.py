"""Dialogs of the main window: command palette, shortcuts, history, examples, and leaving.

May import widgets, and from the window only its shortcuts.
"""
