"""The Prompts tab as Streamlit runs it: templates, weights from answers, their effect, adopting and the way back."""

import pytest
import torch

from core import class_texts, gaussians, jobs, prompting
from core.projects import get_project
from core.prolip.prompts import PromptMethod, PromptWeights
from db import repository
from db.repository import NewLabel, Split
from pages.parts.prompt_tables import classes_said
from tests.gaussian import ToyGaussians
from tests.pages.conftest import CLASSES
from tests.pages.test_pages import open_page, strong, words  # noqa: F401 (a fixture)


@pytest.fixture
def encoder(monkeypatch) -> ToyGaussians:
    made = ToyGaussians()
    monkeypatch.setattr("core.gaussians._loaded", lambda name: made)
    return made


@pytest.fixture
def read(site, encoder) -> int:
    """The project with its images as Gaussians."""
    gaussians.encode_project(site.database, site.project, "toy-gaussians")
    return site.project


def answer(site, n: int = 6) -> None:
    with site.database.write() as session:
        person = repository.person(session, "Ada")
        classes = repository.project(session, site.project).classes
        items = repository.items(session, site.project, Split.POOL)[:n]
        events = [
            NewLabel(f"t:{item.id}", item.id, "answer", classes[i % 2].id, source="csv") for i, item in enumerate(items)
        ]
        repository.record(session, site.project, person, events)


def prompts_tab(open_page):  # noqa: F811
    return open_page("prolip", tab="Prompts")


def button(app, label: str):
    return next(each for each in app.button if each.label == label)


def adopted(site) -> PromptWeights | None:
    return class_texts.adopted(get_project(site.database, site.project))


def test_without_a_project_it_leads_to_the_projects(open_page, site, encoder):  # noqa: F811
    with site.database.write() as session:
        repository.delete_project(session, site.project)
    assert strong(open_page("prolip", project=None, tab="Prompts")) == ["See the projects"]


def test_prompts_are_shown_with_the_vague_ones_before_any_image_is_read(open_page, site, encoder):  # noqa: F811
    app = prompts_tab(open_page)
    said = words(app)
    assert "read by one prompt: “a photo of a \\{class\\}”" in said
    assert "is the vaguest" in said
    assert "No image of the pool has an answer yet" in said
    assert "images to measure with must be read first" in said
    assert "Read the images" in strong(app)
    assert "12 of 24 prompts stay" in said


def test_weights_come_from_answers_with_the_number_of_each_class(open_page, site, read):  # noqa: F811
    answer(site)
    app = prompts_tab(open_page)
    said = words(app)
    assert "From **6 answered images**: cat 3 · dog \\*bold\\* 3" in said
    assert "Without any, weights stay equal: \\!\\[spy\\]" in said
    table = app.dataframe[0].value
    assert list(table["way"]) == ["One prompt", "Plain average", "Filtered", "BPRW"]
    assert "test split, 3 images" in said
    assert "weights from 6 answers in the pool" in said


def test_the_filter_changes_what_stays(open_page, site, read):  # noqa: F811
    app = prompts_tab(open_page)
    app.number_input[0].set_value(1).run()
    assert not app.exception
    assert "3 of 24 prompts stay" in words(app)
    assert list(app.dataframe[0].value["prompts used"]) == [3, 24, 3]


@pytest.mark.parametrize(("typed", "said"), [("a dog", "has no \\{class\\}"), ("", "0 prompts came")])
def test_templates_that_cannot_be_used_say_why(open_page, site, read, typed, said):  # noqa: F811
    app = prompts_tab(open_page)
    app.text_area(key=f"prompts-{site.project}").set_value(typed).run()
    assert not app.exception
    assert said in app.error[0].value
    assert not app.dataframe


def test_one_click_adopts_and_another_goes_back(open_page, site, read):  # noqa: F811
    answer(site)
    app = prompts_tab(open_page)
    button(app, "Use these for the project").click().run()
    assert not app.exception
    chosen = adopted(site)
    assert chosen.method is PromptMethod.BPRW
    assert chosen.classes == CLASSES
    assert len(chosen.templates) == 8
    said = words(app)
    assert "**8 prompts, weighed by BPRW**" in said
    assert "from 6 answers" in said
    assert "Texts changed since model 1" in app.info[0].value
    assert button(app, "In use").disabled
    assert list(app.dataframe[0].value["way"])[-1] == "BPRW", "what is in use stands there once"
    button(app, "Start round").click().run()
    assert jobs.latest(site.database, site.project, "round").state == "queued"
    button(app, "Back to the single prompt").click().run()
    assert adopted(site) is None
    assert "read by one prompt" in words(app)
    assert not app.info


def test_a_filter_can_be_adopted_without_any_answer(open_page, site, read):  # noqa: F811
    app = prompts_tab(open_page)
    app.selectbox(key="prompts-use-2").set_value("Filtered").run()
    button(app, "Use these for the project").click().run()
    assert not app.exception
    assert adopted(site).method is PromptMethod.FILTERED
    assert "the vague ones left out" in words(app)


def test_what_is_in_use_is_measured_beside_other_prompts(open_page, site, read):  # noqa: F811
    answer(site)
    app = prompts_tab(open_page)
    button(app, "Use these for the project").click().run()
    app.text_area(key=f"prompts-{site.project}").set_value("a {class}\nthe {class}").run()
    assert not app.exception
    table = app.dataframe[0].value.set_index("way")
    assert list(table.index) == ["One prompt", "Plain average", "Filtered", "BPRW", "In use"]
    said, new, old = words(app), table.loc["BPRW"], table.loc["In use"]
    assert f"its accuracy is {new['accuracy']:.3f}, {old['accuracy']:.3f} now" in said
    assert f"NLPD {new['NLPD']:.3f}, {old['NLPD']:.3f} now" in said


def test_a_prompt_that_is_cut_is_named_and_so_is_a_class_name_that_is_lost(open_page, site, read):  # noqa: F811
    app = prompts_tab(open_page)
    long = "very " * 12
    app.text_area(key=f"prompts-{site.project}").set_value(f"a {{class}}\n{long}{{class}}\n{{class}} {long}").run()
    assert not app.exception
    lost, cut = (each.value for each in app.warning)
    assert "the class name is not among them" in lost
    assert cut.endswith("is cut: the model reads 10 tokens of it.")


def test_prompts_that_are_all_alike_have_no_vaguest(open_page, site, read, monkeypatch):  # noqa: F811
    monkeypatch.setattr("pages.parts.prolip_prompts.vagueness_of", lambda prompts, n: torch.ones(3, n) / 2)
    said = words(prompts_tab(open_page))
    assert "all prompts are equally vague (Σσ² 0.5)" in said
    assert "All classes are equally vague (Σσ² 0.5)" in said
    assert "the vaguest" not in said.lower()


def test_a_model_that_cannot_judge_is_said_and_the_rest_stays(open_page, site, read, monkeypatch):  # noqa: F811
    monkeypatch.setattr("core.rounds.encoder_for", lambda name: ToyGaussians())
    app = prompts_tab(open_page)
    button(app, "Measure with the project's own model too").click().run()
    assert not app.exception
    assert "own model cannot judge" in words(app)
    assert len(app.dataframe[0].value) == 3


def test_the_own_model_stands_beside(open_page, site, read, monkeypatch):  # noqa: F811
    class Newest:
        number = 1

    def judge(database, project, candidates, shots, on_progress):
        from core.prolip.prompts import PromptEffect

        return Newest, [PromptEffect(0.5, 1.0, len(shots)) for _ in candidates]

    monkeypatch.setattr(prompting, "own_effects", judge)
    app = prompts_tab(open_page)
    button(app, "Measure with the project's own model too").click().run()
    assert not app.exception
    assert list(app.dataframe[0].value["accuracy, model 1"]) == [0.5] * 3


def test_classes_with_few_answers_are_named():
    said = classes_said(("a", "*b*", "c"), [5, 1, 0])
    assert said == (
        "From **6 answered images**: a 5 · \\*b\\* 1 · c 0. Without any, weights stay equal: c. "
        "Fewer than 3, so mostly the prior: \\*b\\*."
    )


def test_weights_of_many_classes_are_said_in_short():
    assert "and 88 more" in classes_said(tuple(f"c{i}" for i in range(100)), torch.zeros(100).int().tolist())
