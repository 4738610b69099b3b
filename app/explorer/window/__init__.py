"""The explorer's frame: head, verdict, docks in workspaces, scenarios, menus and keys.

May import views, report, html, and everything of the explorer.
"""
