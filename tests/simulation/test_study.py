"""Curves that are kept: what is stored is not computed again, and what was stopped goes on."""

from dataclasses import asdict, replace

import pandas as pd
import pytest

from core.errors import Cancelled, InputError, UnknownName
from core.simulation.curve import curve
from core.simulation.study import (
    describe,
    find_study,
    points_of,
    project_images,
    run_study,
    tasks_of,
    tidy,
    write_points,
)
from core.simulation.summary import by_curve
from db import repository
from db.repository import LabelKind, NewLabel
from tests.simulation.scene import CONFIG, images_of

pytestmark = [pytest.mark.one_database, pytest.mark.usefixtures("in_this_process")]
TASKS = tasks_of(["random", "epig"], range(2))
SHORT = replace(CONFIG, rounds=1)


def run(database, tasks=TASKS, config=SHORT, **more):
    more = {"source": "folder", "target": "here"} | more
    return run_study(database, images_of(), tasks=tasks, config=config, **more)


def test_what_is_stored_is_what_was_computed_and_is_not_computed_again(database):
    key = run(database)
    expected = {tuple(task): list(curve(images_of(), "here", *task, SHORT)) for task in TASKS}
    assert by_curve(points_of(database, key)) == expected
    asked = []
    assert run(database, on_progress=lambda *args: asked.append(args)) == key
    assert asked == [], "nothing was left to do"
    more = tasks_of(["random", "epig", "badge"], range(2))
    assert run(database, more, on_progress=lambda *args: asked.append(args)) == key
    assert asked[-1][:2] == (4, 4), "one more strategy: its two curves alone"
    assert run(database, config=replace(SHORT, batch=5)) != key


def test_stopped_after_a_curve_it_goes_on_with_the_next(database):
    def stop(done, total, message):
        if done > 2:
            raise Cancelled

    with pytest.raises(Cancelled):
        run(database, on_progress=stop)
    with database.read() as s:
        stored = repository.simulated(s, 1)
    assert 0 < len(stored) < 4
    asked = []
    key = run(database, on_progress=lambda *args: asked.append(args))
    assert asked[-1][1] == 2 * (4 - len(stored))
    assert len(points_of(database, key)) == 8


def test_names_that_do_not_exist_are_refused_before_anything_is_computed(database):
    with pytest.raises(UnknownName, match="'magic'"):
        tasks_of(["magic"], [0])
    with pytest.raises(UnknownName, match="'mars'; there are here, there"):
        run(database, target="mars")


def test_the_tidy_table_is_read_back(database, tmp_path):
    points = points_of(database, run(database))
    for name, read in (("p.csv", pd.read_csv), ("p.parquet", pd.read_parquet)):
        write_points(points, tmp_path / name)
        found = read(tmp_path / name)
        assert found["nlpd"].tolist() == pytest.approx([p.figures["nlpd"] for p in points])
        assert found["strategy"].tolist() == [p.strategy for p in points]
    assert tidy([]).empty
    with pytest.raises(InputError, match=r"neither a \.csv"):
        write_points(points, tmp_path / "p.xlsx")


def test_a_projects_own_images_splits_and_model(database, project):
    images = project_images(database, project)
    with database.read() as s:
        items = {item.path: item for item in repository.items(s, project)}
        known = repository.reference(s, project)
    assert [items[path].split for path in images.paths] == list(images.splits)
    assert images.labels.tolist() == [known[items[path].id] for path in images.paths]
    points = list(curve(images, None, "epig", 0, SHORT))
    test = {path for path, split in zip(images.paths, images.splits, strict=True) if split == "test"}
    assert not test & {path for point in points for path in point.picked}
    assert asdict(points[0])["labels"] == sum(split == "validation" for split in images.splits)


def test_people_answer_for_the_oracle_on_every_split(database, project):
    with database.write() as s:
        known, items = repository.reference(s, project), repository.items(s, project)
        classes = repository.project(s, project).classes
        wrong = {split: next(item for item in items if item.split == split) for split in ("pool", "validation", "test")}
        said = {each.id: (known[each.id] + 1) % len(classes) for each in wrong.values()}
        events = [NewLabel(f"a:{i}", i, LabelKind.ANSWER, classes[c].id, source="epig") for i, c in said.items()]
        assert all(each.accepted for each in repository.record(s, project, repository.person(s, "Ada"), events))
    images = project_images(database, project)
    found = dict(zip(images.paths, images.labels.tolist(), strict=True))
    assert {each.id: found[each.path] for each in wrong.values()} == said


def test_a_project_whose_known_classes_change_is_another_simulation(database, project):
    images = project_images(database, project)
    about = describe(images, "toy", None)
    parts = [about[f"{name}_images"] for name in ("pool", "validation", "test")]
    assert sum(parts) == len(images)
    assert parts[2] == images.splits.count("test")
    assert describe(project_images(database, project), "toy", None) == about
    other = images.labels.clone()
    other[0] = (other[0] + 1) % len(images.classes)
    assert describe(replace(images, labels=other), "toy", None) != about
    assert describe(replace(images, texts=images.texts[[1, 0, *range(2, len(images.texts))]]), "toy", None) != about
    assert "known" not in describe(replace(images, splits=None), "folder", None), "a folder's classes stay"


def test_a_projects_simulation_is_found_by_what_was_asked(database, project):
    key = run(database, tasks_of(["random"], [0]), project_id=project)
    with database.read() as s:
        assert find_study(database, project, "here", SHORT) == repository.simulation_row(s, key)
    assert find_study(database, project, None, SHORT) is None
    assert find_study(database, project, "here", replace(SHORT, rounds=2)) is None
