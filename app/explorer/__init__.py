"""The window in which scenarios are turned and looked at, and what it keeps and asks.

May import everything of the app but its commands.
"""
