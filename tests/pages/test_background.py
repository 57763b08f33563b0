"""Computations beside the page: each once, with their progress, stopped on demand, the oldest forgotten."""

import threading

import pytest

from pages.parts.background import Background


def test_the_same_key_is_computed_once_and_kept():
    background, runs = Background(), []
    for _ in range(3):
        task = background.task("a", lambda report: runs.append(1) or 7)
        assert task.ready(5)
        assert task.result() == 7
    assert runs == [1]


def test_progress_is_seen_and_cancel_ends_it():
    background, reached, go = Background(), threading.Event(), threading.Event()

    def work(report):
        report(3, 10, "Comparing")
        reached.set()
        go.wait(5)
        report(4, 10, "Comparing")
        return "never"

    task = background.task("a", work)
    assert reached.wait(5)
    assert (task.done, task.total, task.message) == (3, 10, "Comparing")
    assert not task.ready()
    assert not task.stopped
    task.stop()
    go.set()
    assert task.ready(5)
    assert task.stopped
    background.forget("a")
    again = background.task("a", lambda report: 1)
    assert again.ready(5)
    assert again.result() == 1


def test_what_fails_fails_where_it_is_asked_for():
    task = Background().task("a", lambda report: 1 / 0)
    assert task.ready(5)
    assert not task.stopped
    with pytest.raises(ZeroDivisionError):
        task.result()


def test_only_so_many_results_are_kept():
    background, runs = Background(most=2), []
    for key in ("a", "b", "c", "a"):
        assert background.task(key, lambda report, key=key: runs.append(key)).ready(5)
    assert runs == ["a", "b", "c", "a"]
