"""The app contains its fonts, with their licence."""

from PySide6.QtGui import QFontInfo

from app.theme import FIXED_FAMILIES
from app.widgets.drawing import application
from app.widgets.fonts import FOLDER, font, load_fonts


def test_texts_are_set_in_the_fonts_of_the_app():
    running = application()
    assert {"Inter", "JetBrains Mono"} <= set(load_fonts())
    for weight in (400, 500, 600):
        shown = QFontInfo(font(13, weight))
        assert (shown.family(), shown.weight()) == ("Inter", weight)
    code = font(12)
    code.setFamilies(list(FIXED_FAMILIES))
    assert QFontInfo(code).family() == "JetBrains Mono"
    del running


def test_the_licence_is_next_to_the_fonts():
    text = (FOLDER / "OFL.txt").read_text(encoding="utf-8")
    assert "SIL OPEN FONT LICENSE Version 1.1" in text
    for path in (*FOLDER.glob("*.otf"), *FOLDER.glob("*.ttf")):
        assert path.name in text
