"""Steps that Dynamo cuts into several graphs: where it cuts, and the schedules of the pieces.

May import the other modules of the exact fusion, and what they stand on.
"""
