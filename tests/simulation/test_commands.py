"""`python -m core simulate` and the worker's job on a project of drawn images."""

import json

import pandas as pd
import pytest

from core import jobs
from core.cli import main
from core.simulation.study import points_of
from core.worker import run_job
from db import repository
from db.models import JobState

pytestmark = [pytest.mark.one_database, pytest.mark.usefixtures("in_this_process")]


@pytest.fixture
def run(database, project, monkeypatch, capsys):
    monkeypatch.setenv("PENUMBRA_DATABASE_URL", database.url)

    def command(*arguments, status=0):
        assert main(["simulate", "toy", *map(str, arguments), "--json"]) == status
        said = capsys.readouterr()
        return json.loads(said.out) if status == 0 else said.err

    return command


def test_the_table_compares_what_was_asked_and_every_point_is_written(run, database, tmp_path):
    how = ("--rounds", 2, "--batch", 4, "--seeds", 2)
    said = run("--strategies", "random,epig", *how, "--out", tmp_path / "points.csv")
    assert {row["strategy"] for row in said["accuracy"]} == {"random", "epig"}
    by_name = {row["strategy"]: row for row in said["nlpd"]}
    assert by_name["random"]["difference"] is None
    assert by_name["epig"]["low"] <= by_name["epig"]["difference"] <= by_name["epig"]["high"]
    points = points_of(database, said["simulation"])
    written = pd.read_csv(tmp_path / "points.csv")
    assert len(points) == len(written) == 2 * 2 * 3
    assert written["accuracy"].tolist() == pytest.approx([point.figures["accuracy"] for point in points])
    again = run("--strategies", "badge", *how)
    assert again["simulation"] == said["simulation"]
    assert [row["strategy"] for row in again["accuracy"]] == ["badge"], "what was not asked for is not in the table"


def test_what_cannot_be_simulated_is_said_with_what_there_is(run):
    assert "no strategy 'magic'; there are random" in run("--strategies", "magic", status=2)
    assert "neither a .csv nor a .parquet" in run("--out", "points.xlsx", status=2)
    assert "no image is of the domain 'mars'" in run("--target", "mars", status=2)


def test_the_worker_simulates_a_project(database, project):
    payload = {"strategies": ["random"], "seeds": 1, "config": {"rounds": 1, "batch": 4, "validation": "unused"}}
    job = jobs.enqueue(database, project, "simulate", payload)
    assert run_job(database, job) == JobState.DONE, jobs.job(database, job).error
    with database.read() as s:
        (row,) = repository.simulations(s, project)
        assert repository.simulation_row(s, row.id) == row
    assert (row.about["source"], row.about["splits"], row.settings["validation"]) == ("toy", "the project's", "unused")
    assert [point.labels for point in points_of(database, row.id)] == [0, 4]
