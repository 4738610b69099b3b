"""Launches as a table."""
