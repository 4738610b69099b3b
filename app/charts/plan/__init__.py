"""The pictures of a plan: cost against speed, the queue, histograms, and the tornado.

May import drawing, scenes and quantities.
"""
