"""A label shows as much of its text as fits."""

from app.widgets.drawing import application
from app.widgets.elided_label import Elided


def test_a_label_without_room_shows_nothing():
    running = application()
    label = Elided()
    label.show()
    label.say("list, 2026")
    for wide, whole in ((200, True), (12, False)):
        label.resize(wide, 20)
        assert label.text() == ("list, 2026" if whole else "")
    assert label.toolTip() == "list, 2026"
    del running


def test_a_shorter_text_replaces_one_that_does_not_fit():
    running = application()
    label = Elided()
    label.show()
    whole = "bert-base, inference, batch 64"
    label.say(whole, "bert-base, 64", "bert-base")
    for wide, shown in ((400, whole), (100, "bert-base, 64"), (70, "bert-base"), (20, "")):
        label.resize(wide, 20)
        assert label.text() == shown
    assert label.toolTip() == whole
    del running


def test_a_name_is_no_markup():
    running = application()
    label = Elided()
    label.show()
    label.resize(400, 20)
    label.say("<b>x</b>")
    plain = label.sizeHint().width()
    label.say("x")
    assert plain > 3 * label.sizeHint().width()
    del running
