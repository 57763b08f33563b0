"""What is simulated next: the choices, what they cost, and the start; or how far a simulation is that runs."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from core.jobs import JobRow
from core.queue import MEASURE
from core.simulation.curve import SimulationConfig
from core.simulation.strategies import STRATEGIES
from core.simulation.study import find_study
from core.simulation.summary import RANDOM
from db import repository
from db.repository import ProjectRow, SimulationRow
from pages.parts import working
from pages.parts.sim_study import USUAL, title
from pages.parts.sim_words import PROTOCOLS, VALIDATIONS
from pages.parts.state import database, go
from pages.parts.text import count, duration
from pages.parts.who import Role, may

KIND = "simulate"
PAUSE = 2.0  # seconds between two looks for a new curve
FIRST = (USUAL, "entropy-wasserstein")
EVERY = "all domains"
SEEDS = "Each repeats everything with other chances; an interval needs 2 or more."
Parts = Mapping[tuple[str, str | None], int]  # images with a known class, by split and domain


def enough(known: Parts) -> bool:
    """Whether there is something to ask and something to measure with."""
    return all(_images(known, split) for split in ("pool", "test"))


def nothing_known(project: ProjectRow, known: Parts) -> None:
    """What to do where the oracle knows too little."""
    st.markdown("##### A simulation needs images whose class is known, and here are too few.")
    st.write(
        f"Known are {_images(known, 'pool'):,} images of the pool and {_images(known, 'test'):,} of the test split. "
        "The oracle answers with these, and every strategy is measured on the test split."
    )
    st.markdown(
        "- Label images: the more are answered, the more there is to ask again. Those of the test split come first "
        "under the order “to measure”.\n"
        "- Or take in a folder that has a folder for each class, or a table with classes, on the Projects page."
    )
    if st.button("Label images to measure with", type="primary", icon=":material/straighten:"):
        go("annotate", project.id, order=MEASURE)


def running(project: ProjectRow, job: JobRow) -> None:
    """How far the simulation is, and the way to stop it."""
    working.show_progress(job)
    st.caption(
        "A curve appears below as soon as it is whole. This goes on when the page is left; rounds of this project wait "
        "until it ends. Cancelled, it keeps its whole curves and can go on later."
    )


def await_curve(project: ProjectRow, asked: dict, seen: int, took: float) -> None:
    """Run the page again once other curves than `seen` are stored.

    `took` are the seconds of this run: most of the time none must run, or a press of a button waits.
    """
    st.fragment(run_every=max(PAUSE, 4 * took))(_again)(project, asked, seen)


def _again(project: ProjectRow, asked: dict, seen: int) -> None:
    if stored(project, asked) != seen:
        st.rerun(scope="app")


def stored(project: ProjectRow, asked: dict) -> int:
    """How many curves there are of what a job asked for; -1 before it has begun."""
    row = simulated(project, asked)
    if row is None:
        return -1
    with database().read() as session:
        return repository.count_simulated(session, row.id)


def simulated(project: ProjectRow, asked: dict) -> SimulationRow | None:
    """The simulation that a job of this payload fills."""
    target = asked.get("target", project.target_domain)
    return find_study(database(), project.id, target, SimulationConfig(**asked["config"]))


def stopped(project: ProjectRow, last: JobRow | None) -> None:
    """After a job that did not come to its end: why, what is kept, and the way on."""
    if last is None or last.state not in ("failed", "cancelled"):
        return
    whole, asked = max(0, stored(project, last.payload)), last.payload
    if last.state == "failed":
        working.show_failure(last)
    else:
        number = len({RANDOM, *asked["strategies"]}) * asked["seeds"]
        kept = f"{count(whole, 'whole curve')} of {number:,} {'is' if whole == 1 else 'are'} kept"
        st.info(f"The simulation was stopped: {kept}.", icon=":material/info:")
    words = "Go on" if last.state == "cancelled" else "Try again"
    if may(Role.REVIEWER) and st.button(words, type="primary", icon=":material/play_arrow:"):
        working.start(project.id, KIND, asked)
        st.rerun()


def form(project: ProjectRow, known: Parts, last: JobRow | None, first: bool) -> None:
    """The choices of a simulation. `first`: there is none yet, so the choices are open and their button is strong."""
    if not may(Role.REVIEWER):
        st.caption(":material/lock: Reviewers and owners start simulations; you can see them.")
        return
    with st.expander("Simulate", expanded=first, icon=":material/science:"):
        asked = _choices(project, known)
        with st.container(horizontal=True, vertical_alignment="center"):
            kind = "primary" if first else "secondary"
            if st.button("Start simulation", type=kind, icon=":material/play_arrow:"):
                working.start(project.id, KIND, asked)
                st.rerun()
            st.caption(_cost(asked, known, last))


def _choices(project: ProjectRow, known: Parts) -> dict:
    others = [name for name in STRATEGIES if name != RANDOM]
    strategies = st.multiselect(
        "Strategies, beside random",
        others,
        [name for name in FIRST if name in others],
        format_func=title,
        key=f"sim-strategies-{project.id}",
    )
    for name in strategies[:6]:
        st.caption(f"**{title(name)}**: {STRATEGIES[name].what}. When: {STRATEGIES[name].when}.")
    places = st.columns(3)
    seeds = places[0].number_input("Seeds", 1, 100, 5, help=SEEDS)
    batch = places[1].number_input("Answers in a batch", 1, 1000, 10)
    rounds = places[2].number_input("Rounds", 1, 100, 7)
    places = st.columns(3)
    targets = _targets(project, known)
    target = places[0].selectbox("Target", targets, format_func=lambda each: each or EVERY)
    protocol = places[1].selectbox("Protocol", list(PROTOCOLS), format_func=_protocol)
    usable = _images(known, "validation", target) > 0
    choices = list(VALIDATIONS) if usable else ["unused"]
    validation = places[2].selectbox("Validation split", choices, format_func=VALIDATIONS.get)
    config = {"protocol": protocol, "validation": validation, "batch": batch, "rounds": rounds}
    return {"strategies": [RANDOM, *strategies], "seeds": seeds, "target": target, "config": config}


def _protocol(name: str) -> str:
    return {"rounds": "Rounds: ", "batch": "One batch: ", "paper": "Online: "}[name] + PROTOCOLS[name]


def _targets(project: ProjectRow, known: Parts) -> list[str | None]:
    """The project's own target first; only what has images to ask and to measure with."""
    domains = sorted({domain for _, domain in known if domain})
    own = project.target_domain
    usable = [each for each in domains if _images(known, "test", each) and _images(known, "pool", each)]
    return list(dict.fromkeys([own, None, *usable])) if own in (None, *usable) else [None, *usable]


def _images(known: Parts, split: str, domain: str | None = None) -> int:
    return sum(number for (part, where), number in known.items() if part == split and domain in (None, where))


def _cost(asked: dict, known: Parts, last: JobRow | None) -> str:
    """What it takes, as far as it can be known before."""
    config, pool = asked["config"], _images(known, "pool")
    curves, answers = len(asked["strategies"]) * asked["seeds"], config["batch"] * config["rounds"]
    points = curves * (config["rounds"] + 1)
    parts = [f"{count(curves, 'curve')} of {count(answers, 'answer')}, from a pool of {count(pool, 'known image')}"]
    parts += [f"measured on {count(_images(known, 'test', asked['target']), 'test image')}"]
    if answers > pool:
        parts = [f"**the pool has only {count(pool, 'known image')}: the curves end there**", *parts]
    if last is not None and last.state == "done" and last.total and last.started_at and last.finished_at:
        each = (last.finished_at - last.started_at).total_seconds() / last.total
        parts.append(f"about {duration(points * each)} at the last one's pace")
    return f"{' · '.join(parts)} · what is stored is not computed again"
