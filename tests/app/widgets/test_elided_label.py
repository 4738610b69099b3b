"""A label shows as much of its text as fits."""

from app.widgets.drawing import application
from app.widgets.elided_label import Elided, clauses


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


def test_a_sentence_loses_whole_clauses():
    words = "2.21 ms in a step, 2.11 ms of it exposed, on ranks 0 to 15"
    assert clauses(words) == (
        words,
        "2.21 ms in a step, 2.11 ms of it exposed",
        "2.21 ms in a step",
        "",
    )
    assert clauses("1,800 points") == ("1,800 points", "")
    running = application()
    label = Elided()
    label.show()
    label.say(*clauses("crosses are 80% intervals; click a point to choose it"))
    seen: set[str] = set()
    for wide in range(400, 0, -5):
        label.resize(wide, 20)
        seen.add(label.text())
    assert seen == {*clauses("crosses are 80% intervals; click a point to choose it")}
    del running
