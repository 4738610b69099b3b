"""Widgets that take a value: number fields, choices, switches, and sentences of them.

May import the other widgets, answers, quantities and the theme.
"""
