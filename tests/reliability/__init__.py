"""Runs that ask whether anything breaks; each is a module, and a part of each is a test."""
