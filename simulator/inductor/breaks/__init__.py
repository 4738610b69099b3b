"""Steps that Dynamo cuts into several graphs: the breaks, and the schedules of the pieces.

May import the other modules of `simulator.inductor`, and their imports.
"""
