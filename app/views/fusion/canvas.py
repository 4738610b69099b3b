"""Ops as blocks, DRAM traffic as ribbons between them, and outlines around fused kernels."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, Qt, Signal
from PySide6.QtGui import QColor, QKeyEvent, QMouseEvent, QPainterPath, QPen

from app.quantities import data, seconds
from app.scenes.fusion import BARS_PX, BLOCK_H, EDGE, GAP, FusionScene, stays
from app.theme import LABEL_PX, Theme, mixed
from app.views.fusion.edges import arc_top, name_flows, over_others
from app.widgets.canvas import Canvas, Card
from app.widgets.paint import Paint, faint, width
from simulator.analysis.block_diagram import OUTSIDE, Block, Flow, Set, Trial

_LIFT_PX = 8.0


class FusionCanvas(Canvas):
    """`chosen` holds the selected blocks. A click or Space selects a block, dragging a block onto
    another selects both, Enter fuses, Delete splits, and Esc clears the selection."""

    chose = Signal(object)
    fuse_requested = Signal()
    split_requested = Signal(object)
    """A Set, or None: the fused kernel to split."""

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme, "Ops as blocks")
        self.scene = self.preview = FusionScene("")
        """`preview` is the scene with the selection as one kernel."""
        self.message = "No prediction yet"
        """Shown while the scene has no blocks."""
        self.chosen: frozenset[int] = frozenset()
        self.refused = False
        self._pressed: int | None = None
        self._pressed_at = QPointF()
        self._lifted: QPointF | None = None

    def show_scene(self, scene: FusionScene) -> None:
        """Show another part of the network; selected blocks that it contains stay selected."""
        self.scene, self.over = scene, None
        self.preview = scene
        self.chosen = frozenset(op for op in self.chosen if op in scene.blocks)
        wide, high = scene.size
        self.setMinimumSize(round(wide), round(high))
        self.setAccessibleDescription(
            f"{scene.name}: " + ", ".join(block.name for block in scene.blocks.values())
        )
        self.update()

    def show_trial(self, trial: Trial | None) -> None:
        """Preview what fusing the selection saves, or outline it as refused."""
        self.refused = bool(trial and trial.refused)
        self.preview = self.scene.with_trial(trial)
        self.update()

    def say(self, message: str) -> None:
        """Set the words shown while the scene has no blocks."""
        self.message = message
        if not self.scene.blocks:
            self.setAccessibleDescription(message)
            self.update()

    def box(self, op: int) -> QRectF:
        """The rectangle of a block."""
        x, y = self.scene.at(op, self.width(), self.height())
        wide = self.scene.pitch(self.width()) - GAP
        return QRectF(x - wide / 2, y - BLOCK_H / 2, wide, BLOCK_H)

    def hit(self, at: QPointF) -> int | None:
        return next((op for op in self.scene.blocks if self.box(op).contains(at)), None)

    def card(self) -> Card | None:
        block = self.scene.blocks.get(self.over)
        if block is None or self._lifted is not None:
            return None
        rows = [
            ("Module", block.module or "the network itself"),
            ("DRAM traffic", data(block.bytes)),
            ("Time", seconds(block.seconds)),
            ("Kernels", str(block.launches)),
        ]
        if fused := self.scene.set_of(block.op):
            rows.append(("Fused", "by hand" if fused.choice else "by the compiler"))
        return Card(block.name, tuple(rows), f"op {block.op}", block.regime)

    def draw(self, paint: Paint) -> None:
        if not self.scene.blocks:
            self.paint_message(paint, self.message)
            return
        taken = [self._group(paint, fused) for fused in self.scene.sets]
        for flow in self.scene.flows:
            self._flow(paint, flow)
        for block in self.scene.blocks.values():
            self._block(paint, block, self.box(block.op))
        room = QRectF(0, 0, self.width(), self.height() - BARS_PX)
        name_flows(paint, self.scene, self.box, self.scene.pitch(self.width()), room, taken)
        self._bars(paint)
        if self._lifted is not None and self._pressed is not None:
            box = self.box(self._pressed).translated(self._lifted - self._pressed_at)
            self._block(paint, self.scene.blocks[self._pressed], box, lifted=True)

    def _group(self, paint: Paint, fused: Set) -> QRectF:
        """Outline a fused kernel; return the box of its label."""
        theme = self.theme
        boxes = [self.box(op) for op in fused.members if op in self.scene.blocks]
        area = boxes[0]
        for box in boxes[1:]:
            area = area.united(box)
        area = area.adjusted(-9, -9, 9, 9)
        paint.box(area, mixed(theme.b, theme.bg1, 0.08), theme.b, 14.0, wide=1.8)
        words = f"−{data(fused.bytes_saved)}" if fused.bytes_saved > 0 else "no bytes saved"
        if fused.launches_removed > 0:
            words += f", −{fused.launches_removed} launch" + "es" * (fused.launches_removed > 1)
        middle = area.center().x()
        return paint.text(middle, area.bottom() + 11, words, theme.b, LABEL_PX, 600, 0.5)

    def _flow(self, paint: Paint, flow: Flow) -> None:
        theme, painter = self.theme, paint.painter
        start = self.box(flow.maker) if flow.maker != OUTSIDE else None
        end = self.box(flow.reader) if flow.reader != OUTSIDE else None
        begin = QPointF(start.right(), start.center().y()) if start else None
        finish = QPointF(end.left(), end.center().y()) if end else None
        if begin is None and finish is not None:
            begin = finish - QPointF(EDGE, 0)
        if finish is None and begin is not None:
            finish = begin + QPointF(EDGE, 0)
        if begin is None or finish is None:
            return
        path = QPainterPath(begin)
        reach = max(18.0, (finish.x() - begin.x()) / 2)
        if over_others(flow, self.box, self.scene.pitch(self.width())):
            top = arc_top(self.scene, self.box)
            path.cubicTo(
                begin + QPointF(30, 0), QPointF(begin.x() + 10, top), QPointF(begin.x() + 60, top)
            )
            path.lineTo(finish.x() - 60, top)
            path.cubicTo(QPointF(finish.x() - 10, top), finish - QPointF(30, 0), finish)
        else:
            path.cubicTo(begin + QPointF(reach, 0), finish - QPointF(reach, 0), finish)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        if stays(self.scene, flow):
            pen = QPen(QColor(theme.b), 2.0, Qt.PenStyle.DotLine)
        else:
            pen = QPen(
                faint(theme.memory.fill, 0.38), max(1.5, flow.bytes * self.scene.px_per_byte)
            )
        pen.setCapStyle(Qt.PenCapStyle.FlatCap)
        painter.setPen(pen)
        painter.drawPath(path)

    def _block(self, paint: Paint, block: Block, box: QRectF, lifted: bool = False) -> None:
        theme = self.theme
        chosen = block.op in self.chosen
        edge = (theme.danger if self.refused else theme.b) if chosen or lifted else theme.line2
        paint.box(
            box,
            theme.bg2,
            edge,
            6.0,
            dashed=chosen and self.refused,
            wide=2.0 if chosen or lifted else 1.0,
        )
        paint.mark(block.regime, box.right() - 11, box.bottom() - 13, 5)
        paint.text(
            box.left() + 7,
            box.top() + 15,
            block.name,
            theme.ink,
            LABEL_PX,
            600,
            room=box.width() - 10,
        )
        paint.text(box.left() + 7, box.top() + 32, data(block.bytes), theme.ink2)
        paint.text(box.left() + 7, box.top() + 46, seconds(block.seconds), theme.ink3)
        if block.op == self.over and self.hasFocus() and not paint.vector:
            paint.ring(box.adjusted(-4, -4, 4, 4), 8.0)

    @property
    def bar_names(self) -> tuple[str, str]:
        """The names of the two bars of DRAM traffic."""
        previewed = self.preview is not self.scene
        return "unfused", "with the selection" if previewed else "fused"

    def _bars(self, paint: Paint) -> None:
        """Draw the DRAM traffic of the unfused kernels above that of the fused kernels."""
        theme, total = self.theme, self.scene.bytes
        top, left = self.height() - BARS_PX + 24, 118.0
        wide = self.width() - left - 96
        paint.line([(12, top - 14), (self.width() - 12, top - 14)], theme.line)
        bars = zip(self.preview.bars, self.bar_names, strict=True)
        for row, (bar, words) in enumerate(bars):
            y, x = top + 14 + 50 * row, left
            paint.text(12, y + 6, "DRAM traffic", theme.ink, LABEL_PX, 600)
            paint.text(12, y + 22, words, theme.ink3)
            for name, size, regime in bar:
                share = wide * size / total if total else 0.0
                box = QRectF(x, y, max(0.0, share - 2), 30)
                paint.area(box, regime, radius=2.0)
                if share > width(name) + 14:
                    paint.pill(box.center().x(), box.center().y(), name)
                x += share
            moved = sum(size for _, size, _ in bar)
            paint.text(x + 8, y + 15, data(moved), theme.ink, LABEL_PX, 600)

    # user actions

    def choose(self, ops: frozenset[int]) -> None:
        """Select these blocks and no others."""
        if ops != self.chosen:
            self.chosen = ops
            self.show_trial(None)
            self.chose.emit(ops)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        super().mousePressEvent(event)
        self._pressed, self._pressed_at = self.hit(event.position()), event.position()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        super().mouseMoveEvent(event)
        if self._pressed is not None and event.buttons() & Qt.MouseButton.LeftButton:
            far = (event.position() - self._pressed_at).manhattanLength()
            if self._lifted is not None or far > _LIFT_PX:
                self._lifted = event.position()
                self.update()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        lifted, pressed = self._lifted is not None, self._pressed
        self._lifted = self._pressed = None
        target = self.hit(event.position())
        if pressed is not None and lifted:
            if target is not None and target != pressed:
                self.choose(self._fused_with(target) | self._fused_with(pressed))
        elif pressed is not None:
            self.choose(self.chosen ^ {pressed})
        else:
            self.choose(frozenset())
        self.update()

    def _fused_with(self, op: int) -> frozenset[int]:
        """The blocks fused with a block, including itself."""
        fused = self.scene.set_of(op)
        return frozenset(fused.members) if fused else frozenset({op})

    def keyPressEvent(self, event: QKeyEvent) -> None:
        steps = {Qt.Key.Key_Right: 1, Qt.Key.Key_Left: -1, Qt.Key.Key_Down: 1, Qt.Key.Key_Up: -1}
        key, ops = Qt.Key(event.key()), list(self.scene.blocks)
        if key in steps and ops:
            at = ops.index(self.over) + steps[key] if self.over in ops else 0
            self.show_over(ops[min(max(at, 0), len(ops) - 1)])
            self.at = self.box(self.over).center()
        elif key == Qt.Key.Key_Space and self.over in ops:
            self.choose(self.chosen ^ {self.over})
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.fuse_requested.emit()
        elif key in (Qt.Key.Key_Delete, Qt.Key.Key_Backspace):
            fused = next(filter(None, map(self.scene.set_of, [self.over, *self.chosen])), None)
            self.split_requested.emit(fused)
        elif key == Qt.Key.Key_Escape and self.chosen:
            self.choose(frozenset())
        else:
            super().keyPressEvent(event)
