"""Waterfalls: from one scenario to another, change by change.

May import drawing, scenes and quantities.
"""
