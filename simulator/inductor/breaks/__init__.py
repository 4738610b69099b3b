"""Steps that Dynamo cuts into several graphs: the breaks, and the schedules of the pieces.

May import the other modules of the exact fusion, and their imports.
"""
