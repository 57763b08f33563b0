"""The Scores page as Streamlit runs it, and its words and tables."""

import math

import pytest
import torch

from core.acquisition.table import SCORES, Acquisition
from core.calibration_table import CalibrationTable, DomainLine
from core.comparison import Comparison, ScoreLine
from core.errors import NotReady
from core.evaluation import Evaluation, Line
from db import repository
from db.repository import ItemRow
from pages.parts import score_charts, scoring
from tests.pages.test_pages import open_page, strong, words  # noqa: F401 (a fixture)

N = 6


def made_comparison(broken: int = 0) -> Comparison:
    lines = [
        ScoreLine(str(score), about.title, about.meaning, about.unit, 0.01, 0.02, broken, *_floor(about.sampled))
        for score, about in SCORES.items()
    ]
    size = len(Acquisition)
    values = torch.arange(size * N, dtype=torch.float64).reshape(size, N) / 100
    correlation = torch.full((size, size), 0.5).fill_diagonal_(1.0).tolist()
    items = tuple(ItemRow(i, f"{i}.png", f"{i:064x}", None, 60, 40, "pool", 1) for i in range(N))
    return Comparison("Tiny", 1, 9, N, 3, 4096, 0, 10.0, False, lines, correlation, items, values)


def _floor(sampled: bool) -> tuple:
    return (1e-5, 2e-4) if sampled else (None, None)


def made_evaluation() -> Evaluation:
    lines = [
        Line("map", "MAP", 0.5, 1.2, 0.2, 0.6, 8.0, 1, None, None),
        Line("augmented", "MAP, augmented at test time", 0.5, 1.1, 0.1, 0.6, None, 7, None, None),
        Line("probit", "Posterior, probit", 0.5, 1.0, 0.1, 0.5, 8.1, 1, 10.0, None),
    ]
    parts = (1.0, 0.75, 0.25, 0.3, 0.1)
    return Evaluation("Tiny", 1, "test", None, 20, 15, 0, 1024, 10.0, lines, *parts, ["a *note*"])


def made_table() -> CalibrationTable:
    def line(domain, kind, name, nlpd, **about):
        about = {"views": 1, "tau": None, "temperature": None} | about
        return DomainLine(domain, 20, 9, kind, name, 0.5, nlpd, 0.1, 0.4, 1.5, **about)

    lines = [
        line("a*b", "map", "MAP", 1.2),
        line("a*b", "temperature", "MAP, temperature scaled", 1.0, temperature=2.0),
        line(None, "augmented", "MAP, augmented at test time", 0.9, views=7),
        line(None, "probit", "Posterior, probit", 0.7, tau=30.0),
    ]
    return CalibrationTable("Tiny", "mini", 1, "test", "validation", 15, 3, [1.0, 30.0], lines, ["a *note*"])


@pytest.fixture
def computed(monkeypatch):
    scoring.comparison.clear()
    scoring.evaluation.clear()
    scoring.by_domain.clear()
    monkeypatch.setattr(scoring, "project_table", lambda *_: made_table())
    monkeypatch.setattr(scoring, "compare_scores", lambda *_, **options: made_comparison())
    monkeypatch.setattr(scoring, "evaluate_project", lambda *_, **options: made_evaluation())


def press(app, label: str):
    next(each for each in app.button if each.label == label).click()
    app.run()
    assert not app.exception
    return app


def test_nothing_is_computed_before_it_is_asked_for(open_page, monkeypatch):  # noqa: F811
    def never(*_, **options):
        raise AssertionError("computed unasked")

    monkeypatch.setattr(scoring, "compare_scores", never)
    monkeypatch.setattr(scoring, "evaluate_project", never)
    app = open_page("scores")
    assert strong(app) == ["Compare"]
    assert "Why the draws must be joint" in words(app)


def test_scores_say_what_their_figures_are_of(open_page, computed):  # noqa: F811
    app = press(open_page("scores"), "Compare")
    said = words(app)
    assert "Model 1 · 6 of 9 unanswered images · 3 target images · 4,096 joint draws" in said
    assert "τ = 10 · seed 0" in said
    assert "like 4,096 joint draws do: 0.50" in said
    assert "Noise floor" in said
    table = app.dataframe[0].value
    assert list(table["score"]) == [about.title for about in SCORES.values()]
    assert list(table["what it asks for"]) == [about.meaning for about in SCORES.values()]


def test_predictives_name_split_bins_seed_and_tau(open_page, computed):  # noqa: F811
    app = press(open_page("scores"), "Measure")
    said = words(app)
    assert "test split, 20 images · ECE with 15 bins · 1,024 draws of both heads · seed 0" in said
    assert "**25 %**" in said
    assert r"a \*note\*" in said
    assert list(app.dataframe[0].value["made with"]) == ["", "7 views", "τ = 10"]


def test_each_domain_has_its_own_lines_and_the_best_is_said(open_page, computed, monkeypatch):  # noqa: F811
    assert len(control(open_page("scores")).options) == 3, "one domain: there is nothing to tell apart"
    monkeypatch.setattr(repository, "domains", lambda *_: {"a*b": 20, None: 20})
    app = open_page("scores")
    control(app).select("domains")
    app = press(app, "Measure")
    said = words(app)
    assert "test split of each domain, τ and temperature chosen on its validation split · ECE with 15 bins" in said
    assert "splits by seed 3" in said
    best = r"Lowest NLPD: **MAP, temperature scaled** on a\*b; **Posterior, probit** on no domain."
    assert f"{best} Augmentation encodes each image 7 times." in said
    table = app.dataframe[0].value
    assert list(table["domain"]) == ["a*b", "a*b", "no domain", "no domain"]
    assert list(table["made with"]) == ["", "temperature 2.00", "7 views", "τ = 30"]
    assert r"a \*note\*" in said


def control(app):
    return next(each for each in app.button_group if each.label == "Measured on")


def test_what_cannot_be_compared_is_said_and_the_rest_stays(open_page, computed, monkeypatch):  # noqa: F811
    def refuse(*_, **options):
        raise NotReady("1 unanswered images are left in the pool")

    monkeypatch.setattr(scoring, "compare_scores", refuse)
    app = press(open_page("scores"), "Compare")
    assert "1 unanswered images are left" in app.error[0].value
    assert "How good are its probabilities?" in words(app)


def test_without_a_model_it_leads_to_the_projects(open_page, site):  # noqa: F811
    with site.database.write() as session:
        other = repository.create_project(
            session, name="new", root=str(site.root), model="mini", prompt="{class}", classes=["a", "b"]
        )
    assert strong(open_page("scores", project=other)) == ["See the projects"]


def test_images_without_a_score_are_counted():
    assert scoring.broken(made_comparison()) is None
    assert "EPIG 2" in scoring.broken(made_comparison(broken=2))


def test_chosen_images_come_with_both_scores_highest_first():
    found = made_comparison()
    assert scoring.captions(found, [1, 4], [0, 1]) == [(f"{4:064x}", "0.04 · 0.1"), (f"{1:064x}", "0.01 · 0.07")]


def test_charts_hold_every_score_and_image():
    found = made_comparison()
    heat = score_charts.correlations(scoring.titles(found), found.correlation)
    assert len(heat.data[0].z) == len(heat.data[0].x) == len(Acquisition)
    marks = score_charts.scatter(found.values[0].tolist(), found.values[1].tolist(), "a", "b")
    assert list(marks.data[0].customdata) == list(range(N))


def test_the_figure_of_the_draws_falls_only_where_they_are_independent():
    points = scoring.demonstration()
    (joint, apart) = score_charts.draw_counts(points).data
    assert 0.7 < joint.y[0] / joint.y[-1] < 1.4
    assert apart.y[0] / apart.y[-1] > 30
    assert math.isclose(points["K"].iloc[-1] / points["K"].iloc[0], 100)
