"""The Prompts tab of the ProLIP page: which prompts are vague, what each should weigh, what that does, "Use these"."""

from __future__ import annotations

import streamlit as st
from torch import Tensor

from core import class_texts, prompting
from core.encoders import GaussianEncoder
from core.errors import InputError, PenumbraError
from core.gaussians import encoded
from core.prolip.prompts import PromptMethod, PromptWeights, equal_weights, filtered_weights, kept
from core.prolip.prompts import vagueness as vagueness_of
from core.prompting import Shots
from core.values import ProlipEmbeddings
from db import repository
from db.repository import ProjectRow, Split
from pages.parts import prolip, prolip_charts, prompts_in_use
from pages.parts.prompt_tables import (
    AMOUNTS,
    FILTERS,
    MEASURES,
    Study,
    against,
    classes_said,
    cut_words,
    effect_table,
    export_rows,
    vague_words,
    whole,
)
from pages.parts.state import database, go
from pages.parts.text import count, escape

MOST_CLASSES = 40  # rows of a heat map
SHOWN = 160  # letters of a prompt as the model reads it
SINGLE, IN_USE = "One prompt", "In use"
EDIT = "One a line, {class} where the class name goes; leave the box or press Ctrl+Enter to read them"
VAGUE = "A vague prompt says little of its class: its Gaussian is wide. The filter leaves out what is crossed."
BPRW = (
    "Bayesian prompt re-weighting: of each class's prompts, those weigh most that its answered images most likely came "
    "from. A prior pulls towards equal weights, so a class without answers keeps those."
)
EFFECT = "Each way to weigh the prompts, on images that no weight was made from. NLPD: how surprised it is, in nats."


def show(project: ProjectRow | None, encoder: GaussianEncoder) -> None:
    if prolip.needs_project(project, "the prompts"):
        return
    assert project is not None
    prompts_in_use.show(project)
    templates = _templates(project)
    if templates is None:
        return
    for line in cut_words(encoder, prompting.class_names(project), templates):
        st.warning(line, icon=":material/content_cut:")
    about = (encoder.fingerprint, project.id, templates)
    prompts = prolip.waited("prompts", about, lambda p: prompting.prompt_gaussians(project, encoder, templates, p))
    if prompts is None:
        return
    equal = equal_weights(prompting.class_names(project), templates)
    study = Study(project, encoder, prompts, vagueness_of(prompts, len(templates)), equal)
    _vague(study)
    shots = prompting.answered(database(), project, encoder)
    judged = {split: prompting.judged(database(), project, encoder, split, shots) for split in MEASURES}
    _images(study, [shots, *judged.values()])
    _weights(study, shots)
    _effects(study, shots, judged)
    _adopt(study, shots)
    st.divider()
    prolip.take_away("prompts", *export_rows(study), whole(study))


def _templates(project: ProjectRow) -> tuple[str, ...] | None:
    chosen = class_texts.adopted(project)
    usual = prompting.usual_templates(project) if chosen is None else chosen.templates
    edit, said = st.columns([1, 1], gap="large")
    with edit:
        text = st.text_area(
            "Prompts", "\n".join(usual), height=260, key=f"prompts-{project.id}", persist_state="session", help=EDIT
        )
    try:
        templates = prompting.checked_templates((text or "").splitlines())
    except InputError as error:
        said.error(escape(str(error)), icon=":material/error:")
        return None
    if project.classes:
        read = [class_texts.fill(each, project.classes[0].name) for each in templates]
        said.caption(f"{EDIT}. As the model reads them for the first class:")
        said.markdown("  \n".join(escape(each[:SHOWN]) + ("…" if len(each) > SHOWN else "") for each in read))
    return templates


# --- vague ones --------------------------------------------------------------------------------------------------


def _vague(study: Study) -> None:
    st.subheader("Which prompts are vague?")
    st.caption(VAGUE)
    st.markdown(vague_words(study))
    _filter(study)
    rows = study.vaguest(MOST_CLASSES)
    if len(rows) < len(study.names):
        st.caption(f"The {len(rows)} vaguest of {len(study.names):,} classes; the export holds all.")
    dropped = ~study.keep[rows]
    names = [study.names[row] for row in rows]
    chart = prolip_charts.vagueness(names, study.templates, study.uncertainty[rows].tolist(), dropped.tolist())
    alt = "Uncertainty of each class's prompts"
    st.plotly_chart(chart, config=prolip.picture("prompt-uncertainty"), key="prompts-vague", alt=alt)


def _filter(study: Study) -> None:
    which_place, amount_place, said = st.columns([1.6, 1, 2.2], vertical_alignment="bottom")
    which = which_place.selectbox(
        "Keep", list(FILTERS), format_func=FILTERS.__getitem__, key="prompts-filter", persist_state="session"
    )
    usual, least, most, step = AMOUNTS[which](study.uncertainty)
    amount = amount_place.number_input(
        "Amount",
        least,
        most,
        usual,
        step,
        key=f"prompts-amount-{which.name}-{most}",
        persist_state="session",
        disabled=least == most,
    )
    study.keep = kept(study.uncertainty, which, float(amount))
    study.filter = {"keep": which.value, "amount": amount}
    left = int(study.keep.sum())
    said.caption(f"{left:,} of {count(study.keep.numel(), 'prompt')} stay; each class keeps one at least.")


# --- weights -----------------------------------------------------------------------------------------------------


def _images(study: Study, shots: list[Shots]) -> None:
    """The way to Gaussians of images that have an answer or are measured with; none is needed without one missing."""
    missing = 0
    if any(each.missing for each in shots):
        with database().read() as session:
            missing = encoded(study.encoder, repository.items(session, study.project.id))[1]
    prolip.needs_images(study.project, study.encoder, missing)


def _weights(study: Study, shots: Shots) -> None:
    st.subheader("What should each prompt weigh?")
    st.caption(BPRW)
    if not len(shots):
        _no_answers(study, shots)
        return
    st.markdown(classes_said(study.names, shots.by_class(len(study.names))))
    about = (study.encoder.fingerprint, study.templates, _answers(shots))
    parts = (shots, study.prompts, study.equal, study.project.seed)
    study.bprw = prolip.waited("weights", about, lambda p: prompting.weigh(*parts, p, _class_weights))
    if study.bprw is None:
        return
    rows = study.vaguest(MOST_CLASSES)
    names, weights = [study.names[row] for row in rows], study.bprw.weights[rows].tolist()
    chart = prolip_charts.weights(names, study.templates, weights)
    st.plotly_chart(chart, config=prolip.picture("prompt-weights"), key="prompts-weights", alt="Weight of each prompt")


def _no_answers(study: Study, shots: Shots) -> None:
    if shots.missing:
        st.write(f"{count(shots.missing, 'answered image')} must be read by {escape(study.encoder.name)} first, above.")
        return
    st.write("No image of the pool has an answer yet: weights need a few of each class. The filter works without.")
    if st.button("Label images", icon=":material/label:", key="prompts-label"):
        go("annotate", study.project.id)


def _answers(shots: Shots) -> tuple:
    return tuple(zip((item.id for item in shots.items), shots.labels.tolist(), strict=True))


def _content(gaussians: ProlipEmbeddings) -> bytes:
    return gaussians.mean.numpy().tobytes() + gaussians.log_variance.numpy().tobytes()


@st.cache_data(max_entries=5000, show_spinner=False, hash_funcs={ProlipEmbeddings: _content})
def _class_weights(images: ProlipEmbeddings, prompts: ProlipEmbeddings, seed: int) -> Tensor:
    return prompting.class_weights(images, prompts, seed)


# --- what they do ------------------------------------------------------------------------------------------------


def _effects(study: Study, shots: Shots, judged: dict[Split, Shots]) -> None:
    st.subheader("What does it do?")
    st.caption(EFFECT)
    study.candidates = _candidates(study)
    usable = [split for split in judged if len(judged[split])]
    if not usable:
        missing = sum(each.missing for each in judged.values())
        st.write(
            f"{count(missing, 'image')} to measure with must be read first, above."
            if missing
            else "Neither the test nor the validation split has an image with a known class: label some to measure."
        )
        return
    choice, start = st.columns([3, 2], vertical_alignment="bottom")
    split = choice.segmented_control(
        "Measured on",
        usable,
        default=usable[0],
        required=True,
        format_func=MEASURES.get,
        key="prompts-split",
        persist_state="session",
    )
    on = judged[split]
    asked = f"prompts-own-{study.project.id}"
    if start.button("Measure with the project's own model too", icon=":material/straighten:", width="stretch"):
        st.session_state[asked] = True
    study.effects = [prompting.effect(study.project, study.encoder, each, on) for each in study.candidates.values()]
    study.measured_on = f"{split} split"
    own = _own(study, on) if st.session_state.get(asked) else None
    digits = {name: st.column_config.NumberColumn(format="%.3f") for name in ("accuracy", "NLPD")}
    if own is not None:
        digits |= {f"{name}, model {own[0]}": digits[name] for name in ("accuracy", "NLPD")}
    table = effect_table(study, own)
    st.dataframe(table, hide_index=True, width="stretch", height="content", column_config=digits)
    st.caption(_basis(study, shots, on, own))


def _candidates(study: Study) -> dict[str, PromptWeights]:
    ways = {
        SINGLE: prompting.single(study.project),
        "Plain average": study.equal,
        "Filtered": filtered_weights(study.equal, study.keep),
    }
    if study.bprw is not None:
        ways["BPRW"] = study.bprw
    now = _in_use(study)
    if now is not None and not any(_same(now, each) for each in ways.values()):
        ways[IN_USE] = now
    return ways


def _in_use(study: Study) -> PromptWeights | None:
    """What the project's classes say now, where that was adopted; a class that came later weighs its prompts alike."""
    chosen = class_texts.adopted(study.project)
    if chosen is None:
        return None
    return PromptWeights(study.names, chosen.templates, class_texts.weights(study.project), chosen.method)


def _same(a: PromptWeights, b: PromptWeights) -> bool:
    return a.templates == b.templates and a.method is b.method and a.weights.equal(b.weights)


def _own(study: Study, on: Shots):
    """(number of the project's newest model, its effects), or None where it cannot judge, which is said."""
    ways = list(study.candidates.values())
    about = (study.project.id, tuple(study.templates))
    try:
        found = prolip.waited(
            "own", about, lambda p: prompting.own_effects(database(), study.project, ways, on, on_progress=p)
        )
    except PenumbraError as error:
        st.caption(f"The project's own model cannot judge: {escape(str(error))}")
        return None
    return None if found is None else (found[0].number, found[1])


def _basis(study: Study, shots: Shots, on: Shots, own) -> str:
    domain = f" of {escape(study.project.target_domain)}" if study.project.target_domain else ""
    made = f"weights from {count(len(shots), 'answer')} in the pool" if study.bprw else "no weights from answers"
    beside = "" if own is None else f" · model {own[0]} as it is, with each way's texts, without learning again"
    model = escape(study.encoder.name)
    return (
        f"{study.measured_on}, {count(len(on), 'image')}{domain} · {model} as it is, nothing learned · {made}{beside}"
    )


# --- adopt -------------------------------------------------------------------------------------------------------


def _adopt(study: Study, shots: Shots) -> None:
    ways = {name: each for name, each in study.candidates.items() if name not in (SINGLE, IN_USE)}
    choice, press, said = st.columns([1.4, 1.6, 2.6], vertical_alignment="bottom")
    name = choice.selectbox(
        "Use", list(ways), index=len(ways) - 1, key=f"prompts-use-{len(ways)}", persist_state="session"
    )
    now = _in_use(study)
    if now is not None and _same(now, ways[name]):
        press.button("In use", disabled=True, icon=":material/check:", width="stretch", key="prompts-in-use")
        said.caption("The project's classes say these. The way back is at the top.")
        return
    strength = "primary" if study.effects else "secondary"  # one strong button: before, it is the way to images
    if press.button("Use these for the project", type=strength, icon=":material/check:", width="stretch"):
        images = len(shots) if ways[name].method is PromptMethod.BPRW else 0
        prompting.adopt(database(), study.project.id, ways[name], encoder=study.encoder.name, images=images)
        st.rerun()
    said_now = next((way for way, each in study.candidates.items() if now and _same(now, each)), SINGLE)
    effect = against(study, name, said_now)
    said.caption(f"{effect} The next round learns and ranks with them; models until then keep theirs.".strip())
