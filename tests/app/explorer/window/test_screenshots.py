"""Pictures of the workspaces have the size of their name and wait for predictions."""

import pytest

from app import screenshots
from app.explorer.window.window import Window
from tests.app.explorer.window.cluster_driver import Predictor


def test_a_picture_has_its_size_after_a_wide_one(window: Window, predictor: Predictor):
    for wide, high in ((1920, 1080), (980, 700)):
        screenshots.resize(window, wide, high)
        assert (window.width(), window.height()) == (wide, high)
    window.resize(1280, 800)


def test_a_picture_waits_for_the_prediction(window: Window, predictor: Predictor):
    predictor.gate.clear()
    window.session.set_cluster(predictor.questions[0].choice.of_degree("tp", 2), "tensor 2")
    with pytest.raises(TimeoutError, match="predictions not finished after 1 s"):
        screenshots._settle(window, patience_s=1.0)
    predictor.gate.set()
    screenshots._settle(window)
    clustered = window.pages.cluster.clustering.clustered
    assert clustered.answer is not None and clustered.answer.layout.tp == 2
