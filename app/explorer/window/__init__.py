"""The main window: header, verdict bar, scenario cards, menus and shortcuts.

May import views, report, html, and everything in the explorer.
"""
