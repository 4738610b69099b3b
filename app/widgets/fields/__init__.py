"""Widgets that take a value: number fields, choices, switches, and sentences with fields.

May import the other widgets, answers, quantities and the theme.
"""
