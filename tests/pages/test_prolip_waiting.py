"""Which hierarchy a session waits for: the one it turned away from is not finished first, unless another one waits."""

from threading import Event

from pages.parts.background import Background
from pages.parts.prolip_waiting import Wanted


def started(background: Background, key: str, go: Event):
    def work(report):
        for _ in range(2000):  # not for ever: the thread would outlive a test that fails
            if go.wait(0.01):
                break
            report(0, 1, "at it")
        return key

    return background.task(key, work)


def test_what_a_session_turned_away_from_is_stopped_and_the_next_one_runs():
    background, wanted, go = Background(), Wanted(), Event()
    first = started(background, "a", go)
    assert wanted.turn("Ada", "a", first) is None
    assert wanted.turn("Ada", "a", first) is None, "a rerun of the same page stops nothing"
    second = started(background, "b", go)
    assert wanted.turn("Ada", "b", second) == "a"
    assert first.ready(5)
    assert first.stopped
    go.set()
    assert second.ready(5)
    assert second.result() == "b"


def test_what_another_session_waits_for_goes_on():
    background, wanted, go = Background(), Wanted(), Event()
    first = started(background, "a", go)
    wanted.turn("Ada", "a", first)
    wanted.turn("Bo", "a", first)
    assert wanted.turn("Ada", "b", started(background, "b", go)) is None
    go.set()
    assert first.ready(5)
    assert first.result() == "a"


def test_what_is_done_is_not_taken_back():
    background, wanted, go = Background(), Wanted(), Event()
    go.set()
    first = started(background, "a", go)
    wanted.turn("Ada", "a", first)
    assert first.ready(5)
    assert wanted.turn("Ada", "b", started(background, "b", go)) is None
    assert not first.stopped
