"""Connects the views of the pages for clusters, plans and lessons to the session.

May import views and everything in the explorer except the rest of the window.
"""
