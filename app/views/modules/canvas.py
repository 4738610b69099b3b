"""The icicle plot of a step's modules, each as wide as its share."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QKeyEvent

from app.answers.figures import causes
from app.quantities import percent, seconds
from app.scenes.module_tree import ModuleNode
from app.theme import LABEL_PX, SUPPORT_PX, Theme
from app.widgets.canvas import Canvas, Card
from app.widgets.paint import Paint, width
from simulator.prediction import REGIMES, Prediction

_SIDE, _TOP, _GAP = 12.0, 6.0, 2.0
_LEAST_PX, _MOST_PX, _BAR_PX = 38.0, 84.0, 10.0
_NAMED_PX, _CUT_PX = 26.0, 70.0  # minimum widths of a label, and of a shortened label


class IcicleCanvas(Canvas):
    """`shown` is the part with the full width, `over` the part under the pointer or selected by a
    key."""

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme, "Where the step's time goes, by module")
        self.prediction: Prediction | None = None
        self.root: ModuleNode | None = None
        self.shown: ModuleNode | None = None
        self.picked: frozenset[int] = frozenset()
        self.dragged = False

    def show_part(self, part: ModuleNode | None) -> None:
        """Zoom to a part, or to the whole step."""
        self.shown = part or self.root
        self.over = None
        self.update()

    def drag_over(self, part: ModuleNode | None = None) -> None:
        """Highlight the part below a dragged card, without its tooltip card; None ends the drag."""
        self.dragged = part is not None
        self.show_over(part)

    # geometry

    def boxes(self) -> list[tuple[ModuleNode, QRectF]]:
        """The drawn parts with their rectangles; parents of `shown` have the full width."""
        if self.shown is None:
            return []
        above = self.shown.up()
        deepest = max(part.depth for part in self.shown.all())
        room = (self.height() - _TOP - _SIDE) / (deepest + 1)
        high = min(_MOST_PX, max(_LEAST_PX, room))
        wide = self.width() - 2 * _SIDE
        placed = [(part, QRectF(_SIDE, _TOP + high * part.depth, wide, high)) for part in above]
        pending = [(self.shown, _SIDE, wide)]
        while pending:
            part, left, own = pending.pop()
            placed.append((part, QRectF(left, _TOP + high * part.depth, own, high)))
            for child in part.children:
                share = own * child.total_s / part.total_s if part.total_s else 0.0
                if share >= 1.0:
                    pending.append((child, left, share))
                left += share
        return placed

    # painting

    def draw(self, paint: Paint) -> None:
        for part, box in self.boxes():
            self._part(paint, part, box.adjusted(0.5, 0.5, -_GAP + 0.5, -_GAP + 0.5))

    def _part(self, paint: Paint, part: ModuleNode, box: QRectF) -> None:
        theme, p = self.theme, self.prediction
        if p is None or self.shown is None or box.width() <= 0:
            return
        dim = bool(self.picked) and not (part.ops & self.picked)
        strength = 0.4 if dim else 1.0
        over = part is self.over
        if box.width() < _NAMED_PX:  # too narrow for anything but a bar
            paint.area(box, "idle" if part.wait else part.regime, strength)
            if over:
                paint.box(box, "", theme.ink, 1, wide=1.6)
            return
        if part.wait:
            paint.area(box, "idle", strength, radius=4)
        paint.box(box, "" if part.wait else theme.bg3 if over else theme.bg2, theme.line, 4)
        if not part.wait:
            self._bar(paint, part, box, strength)
        ink = theme.ink3 if dim else theme.overhead.ink if part.wait else theme.ink
        self._words(paint, part, box, ink)
        above = part.parent is not None and part.parent.ops <= self.picked
        whole = bool(part.ops) and part.ops <= self.picked and not above
        if over or whole:
            paint.box(
                box.adjusted(0.5, 0.5, -0.5, -0.5), "", theme.ink if over else theme.b, 4, wide=1.8
            )

    def _bar(self, paint: Paint, part: ModuleNode, box: QRectF, strength: float) -> None:
        """Draw a part's shares; those of the step include waiting."""
        p = self.prediction
        assert p is not None
        shares = p.shares if part.depth == 0 else part.shares
        left, top = box.left() + 6, box.bottom() - _BAR_PX - 4
        wide = box.width() - 12
        for regime in REGIMES:
            own = wide * shares[regime]
            if own > 0.3:
                paint.area(QRectF(left, top, own, _BAR_PX), regime, strength)
            left += own

    def _words(self, paint: Paint, part: ModuleNode, box: QRectF, ink: str) -> None:
        theme = self.theme
        room, x = box.width() - 12, box.left() + 6
        mono = part.depth > 0 and not part.wait
        tall = box.height() >= 52
        name = part.name
        if width(name, SUPPORT_PX if tall else LABEL_PX, 500, mono) > room and room < _CUT_PX:
            name = ""  # a few letters are useless; the card has the name
        figures = f"{seconds(part.total_s)}  {self.share(part)}"
        short = self.share(part)
        quiet = theme.overhead.ink if part.wait else theme.ink2
        if tall:
            paint.text(x, box.top() + 13, name, ink, SUPPORT_PX, 500, mono=mono, room=room)
            words = figures if width(figures) <= room else short
            if width(words) <= room:
                paint.text(x, box.top() + 30, words, quiet, LABEL_PX)
            return
        y = box.top() + (11 if not part.wait else box.height() / 2)
        words = next((w for w in (figures, short) if width(w) + (54 if name else 0) < room), "")
        taken = width(words) + 10 if words else 0.0
        paint.text(x, y, name, ink, LABEL_PX, 500, mono=mono, room=room - taken)
        if words:
            paint.text(box.right() - 6, y, words, quiet, LABEL_PX, align=1.0)

    def share(self, part: ModuleNode) -> str:
        """A part's share of the step's time."""
        step_s = self.root.total_s if self.root else 0.0
        return percent(part.total_s / step_s) if step_s else "0%"

    # the pointer and the keys

    def hit(self, at: QPointF) -> ModuleNode | None:
        return next((part for part, box in self.boxes() if box.contains(at)), None)

    def card(self) -> Card | None:
        part = self.over
        if not isinstance(part, ModuleNode) or self.dragged:
            return None
        rows = [("Time", f"{seconds(part.total_s)}, {self.share(part)} of the step")]
        if part.wait:
            return Card(part.name, tuple(rows), "no kernel runs", "overhead")
        rows.append(("Launches", f"{part.launches:,}"))
        if len(part.modules) > 1:
            rows.append(("Modules", f"{len(part.modules):,} identical"))
        shares = part.shares
        rows.append(("Shares", ", ".join(f"{percent(shares[r])} {r}" for r in REGIMES)))
        if part.depth == 0 and self.prediction is not None:
            p = self.prediction
            rows += [(name, seconds(value)) for name, value in causes(p) if value > 0]
            return Card("step", tuple(rows), f"{p.regime}-bound", p.regime)
        return Card(part.path, tuple(rows), f"{part.regime}-bound", part.regime)

    def card_at(self) -> QPointF:
        box = next((box for part, box in self.boxes() if part is self.over), None)
        if box is None or box.contains(self.at):
            return self.at
        return QPointF(box.left() + min(60.0, box.width() / 2), box.bottom() - 6)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key, part = Qt.Key(event.key()), self.over or self.shown
        if key in (Qt.Key.Key_Escape, Qt.Key.Key_Backspace) and self.shown is not None:
            self.pressed_on.emit(self.shown.parent or self.root)
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Space) and part is not None:
            self.pressed_on.emit(part)
        elif part is not None and (neighbour := self._neighbour(part, key)) is not None:
            self.at = QPointF(-1, -1)
            self.show_over(neighbour)
        else:
            super().keyPressEvent(event)

    def _neighbour(self, part: ModuleNode, key: Qt.Key) -> ModuleNode | None:
        """The part that an arrow key selects: the parent, the longest child, or a neighbour."""
        if key == Qt.Key.Key_Up:
            return part.parent or part
        if key == Qt.Key.Key_Down:
            drawn = [other for other, _ in self.boxes()]
            return next((child for child in part.children if child in drawn), part)
        if key not in (Qt.Key.Key_Left, Qt.Key.Key_Right):
            return None
        row = sorted(
            ((box.left(), other) for other, box in self.boxes() if other.depth == part.depth),
            key=lambda pair: pair[0],
        )
        parts = [other for _, other in row]
        if part not in parts:
            return part
        step = 1 if key == Qt.Key.Key_Right else -1
        return parts[min(max(parts.index(part) + step, 0), len(parts) - 1)]
