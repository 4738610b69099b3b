"""The roofline: launches under their ceilings, and the overhead beside them.

May import drawing, scenes and quantities.
"""
