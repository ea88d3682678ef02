"""The notebook's widget: the same messages over another connection."""

import numpy as np
import pytest

import closeknit as ck
from closeknit.explore import widget


@pytest.fixture
def made(session):
    pytest.importorskip("anywidget")
    found = widget(session)
    found.sent = []
    found.send = lambda header, buffers=None: found.sent.append((header, buffers))
    yield found
    found.close()


def receive(made, header, *buffers):
    """As the notebook's front end sends it."""
    made._handle_custom_msg(header, list(buffers))


def test_a_widget_moves_while_it_is_shown(made, session):
    assert not session.engine.is_running
    receive(made, {"type": "open"})
    assert [header["type"] for header, _ in made.sent[:3]] == ["hello", "state", "frame"]
    assert session.engine.wait(lambda: session.engine.frame.iteration > 3)
    number = made.sent[2][0]["frame"]
    receive(made, {"type": "ack", "frame": number})
    assert sum(header["type"] == "frame" for header, _ in made.sent) == 2
    receive(made, {"type": "close"})
    assert not session.engine.is_running


def test_requests_are_answered(made, session, digits):
    receive(made, {"type": "open"})
    receive(made, {"type": "pause", "id": 1})
    bits = np.packbits(digits[1] == 3, bitorder="little").tobytes()
    receive(made, {"type": "select", "id": 2}, memoryview(bits))
    replies = [header for header, _ in made.sent if header["type"] == "reply"]
    assert [reply["id"] for reply in replies] == [1, 2]
    assert replies[1]["count"] == (digits[1] == 3).sum()


def test_malformed_messages_disconnect(made, session):
    receive(made, {"type": "open"})
    receive(made, {"type": "eval", "id": 1})
    assert not session.engine.is_running
    receive(made, ["not", "a", "message"])
    receive(made, {"type": "open"})
    assert session.engine.is_running


def test_explore_makes_a_widget(digits):
    pytest.importorskip("anywidget")
    found = ck.explore(digits[0], digits[1], show="widget", max_perplexity=20)
    assert found.session.columns.names[0] == "label"
    with pytest.raises(ValueError, match="must be 'auto', 'page' or 'widget'"):
        ck.explore(digits[0], show="picture")
