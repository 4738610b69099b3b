"""Launches under their ceilings."""
