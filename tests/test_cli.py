"""The command line on drawn images: one JSON document on stdout, errors on stderr with their exit status."""

import csv
import json

import pytest

from core import evaluation, jobs, projects, rounds
from core.acquisition.table import Acquisition
from core.cli import SCORES, TAUS, main
from core.data import formats
from core.data_commands import FORMATS
from core.errors import NotReady
from core.worker import run_job
from db import repository
from tests.toy import CLASSES, ToyEncoder, draw, toy_factors


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("PENUMBRA_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("PENUMBRA_DATABASE_URL", raising=False)
    monkeypatch.setattr(rounds, "encoder_for", lambda model: ToyEncoder())
    monkeypatch.setattr(rounds, "factors_for", toy_factors)
    for domain in ("photo", "sketch"):
        for number in range(60):
            draw(tmp_path / "images" / domain, number + (1000 if domain == "sketch" else 0), side=64)
    (tmp_path / "images" / "photo" / CLASSES[0] / "broken.jpg").write_bytes(b"")
    return tmp_path / "images"


@pytest.fixture
def run(capsys):
    def command(*arguments, status=0):
        assert main([*map(str, arguments), "--json"]) == status
        said = capsys.readouterr()
        return json.loads(said.out) if status == 0 else said.err

    return command


@pytest.fixture
def project(folder, run):
    return run("import", folder, "--project", "p", "--target", "sketch", "--seed", 3)


def test_import_reports_counts_classes_and_broken_files(project):
    assert project["pool"] + project["validation"] + project["test"] == 120
    assert project["classes"] == sorted(CLASSES)
    assert project["problem_files"] == [{"path": f"photo/{CLASSES[0]}/broken.jpg", "reason": "the file is empty"}]
    assert project["rounds"][0]["round"] == 0


def test_the_whole_circle(project, run, folder, tmp_path):
    items = run("rank", "--project", "p", "--limit", 12)["items"]
    assert len({item["id"] for item in items}) == 12
    assert [item["score"] for item in items] == sorted((item["score"] for item in items), reverse=True)
    with (tmp_path / "answers.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["path", "label"])
        writer.writerows([item["path"], item["path"].split("/")[1]] for item in items)
    stored = run("label", "--project", "p", "--csv", tmp_path / "answers.csv", "--annotator", "Ada")
    assert stored["stored"] == 12
    result = run("round", "--project", "p")
    assert (result["round"], result["labels"], result["split"]) == (1, 12, "test")
    assert {"accuracy", "nlpd", "ece"} <= result.keys()
    status = run("status", "--project", "p")
    assert status["answered"] == 12
    assert [each["round"] for each in status["rounds"]] == [0, 1]
    again = run("rank", "--project", "p", "--limit", 12)["items"]
    assert not {item["id"] for item in items} & {item["id"] for item in again}


def test_the_scores_spelt_out_are_those_there_are():
    assert set(SCORES) == set(Acquisition)


def test_the_formats_spelt_out_are_those_there_are():
    assert set(FORMATS) == set(formats.FORMATS)


def test_evaluate_and_scores_name_split_bins_and_seed(project, run, monkeypatch):
    monkeypatch.setattr(evaluation, "encoder_for", rounds.encoder_for)
    table = run("evaluate", "--project", "p", "--split", "validation", "--bins", 5, "--draws", 20, "--seed", 2)
    assert (table["split"], table["bins"], table["seed"], table["domain"]) == ("validation", 5, 2, "sketch")
    assert {"accuracy", "nlpd", "ece", "brier", "milliseconds", "tau"} <= table["predictives"][0].keys()
    compared = run("scores", "--project", "p", "--images", 12, "--targets", 4, "--draws", 32, "--text")
    assert (compared["images"], compared["targets"], compared["with_text"]) == (12, 4, True)
    assert [line["score"] for line in compared["scores"]] == [row["spearman"] for row in compared["correlation"]]


@pytest.mark.parametrize(
    "options", [("--score", "bald"), ("--score", "random"), ("--score", "margin"), ("--narrow", "wasserstein")]
)
def test_rank_takes_every_score_and_narrowing(project, run, options):
    assert len(run("rank", "--project", "p", "--limit", 5, *options)["items"]) == 5


def test_a_file_of_labels_stores_what_does_not_stand_yet(project, run, tmp_path):
    """Twice the same is once; A, B, A again is three answers, of which the last stands."""
    path = run("rank", "--project", "p", "--limit", 1)["items"][0]["path"]
    stored = []
    for label in (CLASSES[0], CLASSES[0], CLASSES[1], CLASSES[0]):
        (tmp_path / "one.csv").write_text(f"path,label\n{path},{label}\n")
        result = run("label", "--project", "p", "--csv", tmp_path / "one.csv", "--annotator", "Ada")
        stored.append((result["stored"], result["standing_already"]))
    assert stored == [(1, 0), (0, 1), (1, 0), (1, 0)]
    assert run("status", "--project", "p")["answered"] == 1
    assert run("export", "--project", "p", "--csv", tmp_path / "out.csv")["answers"] == 1
    [row] = csv.DictReader((tmp_path / "out.csv").open())
    assert (row["path"], row["label"], row["annotator"], row["split"]) == (path, CLASSES[0], "Ada", "pool")


def test_what_is_exported_is_read_back_by_another_project(project, run, tmp_path, folder):
    items = run("rank", "--project", "p", "--limit", 5)["items"]
    lines = [f"{item['path']},{CLASSES[i]}" for i, item in enumerate(items)]
    (tmp_path / "in.csv").write_text("\n".join(["path, label", *lines]))
    run("label", "--project", "p", "--csv", tmp_path / "in.csv", "--annotator", "Ada")
    run("export", "--project", "p", "--csv", tmp_path / "out.csv")
    run("import", folder, "--project", "q", "--target", "sketch")
    stored = run("label", "--project", "q", "--csv", tmp_path / "out.csv", "--annotator", "Ada")
    assert stored["stored"] == 5


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("path,label\nnowhere.jpg,apple\n", "no image 'nowhere.jpg'"),
        ("path,label\n{path},no such class\n", "no class 'no such class'"),
        ("name,class\na,b\n", "lacks a column with the paths"),
        ("path,label\n{path},apple\nnowhere.jpg,apple\n", "nothing was stored"),
        ("path,label\n{path},apple\n{path},mug\n", "another label"),
    ],
)
def test_a_wrong_file_of_labels_is_refused_whole(project, run, tmp_path, content, said):
    path = run("rank", "--project", "p", "--limit", 1)["items"][0]["path"]
    (tmp_path / "bad.csv").write_text(content.format(path=path))
    error = run("label", "--project", "p", "--csv", tmp_path / "bad.csv", "--annotator", "Ada", status=2)
    assert said in error
    assert run("status", "--project", "p")["answered"] == 0


def test_errors_name_what_came_and_what_there_is(project, run, folder):
    assert "no project 'q'; there are: 'p'" in run("status", "--project", "q", status=2)
    assert "no domain 'clay'" in run("import", folder, "--project", "q", "--target", "clay", status=2)
    assert "already" in run("import", folder / "photo", "--project", "p", status=2)
    assert "no folder" in run("import", folder / "nowhere", "--project", "q", status=2)


def test_importing_again_takes_in_what_is_new(project, run, folder):
    draw(folder / "photo", 500, side=64)
    again = run("import", folder, "--project", "p", "--target", "sketch", "--seed", 3)
    assert again["pool"] + again["validation"] + again["test"] == 121
    assert len(again["rounds"]) == 1


def test_an_import_says_what_changed(project, run, folder):
    assert (project["changes"]["new"], project["changes"]["unreadable"]) == (120, 1)
    assert all(leak["copies"] == 0 for leak in project["leaks"])  # numbers on one hue may be nearly the same
    draw(folder / "photo", 500, side=64)
    next((folder / "sketch").rglob("*.jpg")).unlink()
    again = run("import", folder, "--project", "p")["changes"]
    assert (again["new"], again["vanished"], again["changed"]) == (1, 1, 0)


def test_labels_of_a_table_are_answers_or_known_classes(project, run, folder, tmp_path):
    paths = [item["path"] for item in run("rank", "--project", "p", "--limit", 2)["items"]]
    table = tmp_path / "some.csv"
    table.write_text("file_name;class\n" + "".join(f"{path};{CLASSES[0]}\n" for path in paths))
    take = ("import", table, "--project", "p", "--root", folder)
    assert "--annotator" in run(*take, "--labels", "answers", status=2)
    assert run(*take)["changes"]["answers"] == 0
    assert run(*take, "--labels", "answers", "--annotator", "Eve")["changes"]["answers"] == 2
    again = run(*take, "--labels", "answers", "--annotator", "Eve")
    assert (again["changes"]["answers"], again["changes"]["answers_there"], again["answered"]) == (0, 2, 2)
    assert again["changes"]["vanished"] == 0


def test_an_export_is_written_whole_and_replaced_only_when_asked(project, run, tmp_path, folder):
    path = run("rank", "--project", "p", "--limit", 1)["items"][0]["path"]
    (tmp_path / "one.csv").write_text(f"path,label\n{path},{CLASSES[1]}\n")
    run("label", "--project", "p", "--csv", tmp_path / "one.csv", "--annotator", "Ada")
    write = ("export", "--project", "p", "--format", "imagefolder", "--out", tmp_path / "out")
    made = run(*write)
    assert (tmp_path / "out" / "train" / CLASSES[1] / path.rsplit("/", 1)[1]).is_file()
    assert made["images"] > 1  # validation and test images as the folder states them
    assert any("history" in each or "who answered" in each for each in made["cannot_hold"])
    assert "replaced" in run(*write, status=2)
    assert run(*write, "--replace")["snapshot"] == made["snapshot"]
    assert "either a file" in run("export", "--project", "p", status=2)


def test_a_usage_error_has_status_2():
    with pytest.raises(SystemExit) as stopped:
        main(["rank", "--score", "luck"])
    assert stopped.value.code == 2


def test_why_names_guesses_targets_and_the_nearest_answered(project, run, tmp_path):
    items = run("rank", "--project", "p", "--limit", 5)["items"]
    lines = [f"{item['path']},{CLASSES[i]}" for i, item in enumerate(items[1:])]
    (tmp_path / "in.csv").write_text("\n".join(["path,label", *lines]))
    run("label", "--project", "p", "--csv", tmp_path / "in.csv", "--annotator", "Ada")
    [first] = run("rank", "--project", "p", "--limit", 1)["items"]
    said = run("why", "--project", "p", "--image", first["path"])
    assert said["epig"] == pytest.approx(first["score"], rel=1e-3)
    assert (len(said["guesses"]), len(said["sharpens"]), len(said["nearest"])) == (5, 5, 3)
    assert {each["path"] for each in said["nearest"]} <= {item["path"] for item in items[1:]}
    assert all(each["class_name"] in CLASSES[:4] for each in said["nearest"])
    assert "no image 'x.jpg'" in run("why", "--project", "p", "--image", "x.jpg", status=2)


def no_curvature(model, encoder):
    raise NotReady(f"{model} has no curvature yet")


def test_a_model_without_curvature_is_refused_before_an_image_is_read(folder, run, monkeypatch, tmp_path):
    monkeypatch.setattr(rounds, "factors_for", no_curvature)
    assert "no curvature" in run("import", folder, "--project", "p", status=1)
    assert "there are: none yet" in run("status", "--project", "p", status=2)
    assert not (tmp_path / "home" / "features").exists()


def test_a_project_that_waits_for_curvature_reads_nothing_until_it_is_there(folder, run, database, monkeypatch):
    monkeypatch.setattr(rounds, "factors_for", no_curvature)
    waits = projects.create_from_folder(database, name="p", folder=folder)  # as the New project form does
    enqueued = jobs.enqueue(database, waits, "prepare", {})
    assert run_job(database, enqueued) == "failed"
    assert "no curvature" in jobs.job(database, enqueued).error
    with database.read() as s:
        assert repository.items(s, waits) == []
    monkeypatch.setattr(rounds, "factors_for", toy_factors)
    assert run_job(database, jobs.enqueue(database, waits, "prepare", {})) == "done"
    monkeypatch.setattr(rounds, "factors_for", no_curvature)  # its posterior is made: new images need none
    assert run_job(database, jobs.enqueue(database, waits, "prepare", {})) == "done"


@pytest.mark.parametrize("tau", ["1e300", "1e-300", "0", "-1", "nan", "many"])
def test_tau_has_a_range(tau, capsys):
    with pytest.raises(SystemExit) as stopped:
        main(["round", "--project", "p", "--tau", tau])
    assert stopped.value.code == 2
    assert "from 1e-06 to 1e+09" in capsys.readouterr().err


@pytest.mark.parametrize("tau", TAUS)
def test_the_ends_of_taus_range_can_be_measured(project, run, tau):
    made = run("round", "--project", "p", "--tau", tau)
    assert all(made[kind]["nlpd"] is not None for kind in ("posterior", "map"))


@pytest.mark.parametrize("memory", ["0", "-1", "nan", "inf"])
def test_no_memory_is_refused(project, run, memory):
    assert "positive number" in run("rank", "--project", "p", "--memory-gb", memory, status=2)


def test_a_round_prints_its_figures(project, capsys):
    assert main(["round", "--project", "p"]) == 0
    lines = dict(line.split(": ", 1) for line in capsys.readouterr().out.splitlines())
    assert lines["served"] in ("posterior", "map")
    for kind in ("posterior", "map"):
        figures = dict(each.split(" ") for each in lines[kind].split(", "))
        assert all(float(figures[name]) >= 0 for name in ("accuracy", "nlpd", "ece"))


def test_too_few_classes_says_what_to_do(folder, run):
    said = run("import", folder / "photo" / CLASSES[0], "--project", "q", "--classes", "cat", status=2)
    assert "only 'cat'" in said
    assert '--classes "cat,second name"' in said


def test_without_json_a_person_can_read_it(project, capsys):
    assert main(["status", "--project", "p"]) == 0
    said = capsys.readouterr().out
    assert "target_domain: sketch" in said
    assert "accuracy" in said
