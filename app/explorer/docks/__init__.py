"""Views in docks: their panels, the workspaces that hold them, and how they lie.

May import views, widgets and the explorer's state and background; not its window.
"""
