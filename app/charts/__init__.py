"""One function per picture turns its data into a `Drawing`, which every renderer can show.

`app.widgets.drawing.put` writes one to PNG and SVG files, a `DrawingCanvas` shows it in a window,
and the HTML report inserts `app.drawing.svg.element`.

May import drawing, scenes, answers, report and formulas; no Qt.
"""
