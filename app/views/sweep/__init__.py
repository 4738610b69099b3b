"""Figures along an axis."""
