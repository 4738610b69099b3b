"""Copies of the tests in which mutants run."""
