"""Analyses of many predictions: sweeps, regimes, goals, advice, comparisons and contours.

May import the whole simulator except `kernel_source`; code that predicts one scenario does not
import it.
"""
