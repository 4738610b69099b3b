"""The explorer's frame: head, verdict, scenarios, menus and keys, and what joins all of it.

May import views, report, html, and everything of the explorer.
"""
