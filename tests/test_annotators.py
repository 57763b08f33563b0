"""Many people at once beside an import, rounds and migrations: `python -m benchmarks.annotators` in small."""

from benchmarks.annotators import run
from benchmarks.crowd import Scene


def test_nothing_is_lost_doubled_or_served_twice_when_all_happens_at_once(empty_url, tmp_path, monkeypatch):
    for name in ("PENUMBRA_HOME", "PENUMBRA_DATABASE_URL"):
        monkeypatch.setenv(name, "")  # set by the run, and put back
    small = {"annotators": 6, "processes": 2, "presses": 10, "pause": 0.1, "images": 240, "more_images": 24}
    found = run(Scene(url=empty_url, home=tmp_path, **small))
    assert (found["errors"], found["lost"], found["doubled"], found["double_servings"]) == (0, 0, 0, 0), found
    assert found["stored"] == found["answers_sent"] >= 60
    assert min(found["sent_twice"], found["rounds"], found["imports"], found["migration_checks"]) >= 1
