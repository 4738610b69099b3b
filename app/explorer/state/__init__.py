"""What the explorer holds and keeps: the session, its file, and what opens into it.

May import answers and what it stands on; no widget.
"""
