"""Dock panels that hold the views, the workspaces that hold the panels, and their layout.

May import views, widgets and the explorer's state and background, but not its window.
"""
