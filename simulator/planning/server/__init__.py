"""A simulated server of one model: its requests, its scheduler, its replicas and its steady state.

May import `spec`, `result` and `step` of planning, but no search.
"""
