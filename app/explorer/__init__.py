"""The desktop window that edits scenarios and shows their predictions, with its state and files.

May import everything in `app` except its commands.
"""
