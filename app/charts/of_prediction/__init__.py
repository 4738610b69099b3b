"""Pictures of one prediction, one module each, found by `app.charts.registry`.

May import the other charts, drawing, scenes and quantities.
"""
