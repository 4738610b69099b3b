"""What commands and views ask of the simulator, with the words for it, without Qt.

May import progress and quantities, and the simulator.
"""
