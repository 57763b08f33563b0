"""The random curve beside a project's own rounds: simulated on its images whose class is known, and marked so."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from core.simulation.summary import RANDOM, Band, band
from db import repository
from pages.parts.sim_study import Study, study_of
from pages.parts.state import database, go
from pages.parts.text import count
from pages.parts.view import EVERY, View


@dataclass(frozen=True, slots=True)
class Baseline:
    """Random by simulation, over answers: what is spent on validation is left out, as a round's own count leaves it."""

    study: Study

    def of(self, metric: str) -> Band:
        found, spent = band(self.study.curves, RANDOM, metric), self.study.spent
        return Band(tuple(each - spent for each in found.labels), found.mean, found.low, found.high)

    @property
    def words(self) -> str:
        seeds, settings = len({seed for name, seed in self.study.curves if name == RANDOM}), self.study.row.settings
        images = count(self.study.row.about["images"], "image")
        return (
            f"Grey, dashed: random, **simulated** on the {images} whose class is known, {count(seeds, 'seed')}, "
            f"batches of {settings['batch']}; nobody gave these answers"
        )


def baseline(view: View) -> Baseline | None:
    """The newest simulation that is measured as this view is: its domain, all classes as they are now."""
    if view.label is not None:
        return None
    with database().read() as session:
        rows = repository.simulations(session, view.project.id)
    for row in rows:
        alike = (row.about.get("target") or EVERY) == (view.domain or EVERY) and row.about["classes"] == view.names
        if alike and row.settings["protocol"] == "rounds":
            study = study_of(view.project, row)
            if RANDOM in study.strategies:
                return Baseline(study)
    return None


def way_to_one(view: View) -> None:
    """Where there is no such simulation: the page that makes one."""
    if view.label is None and st.button("Compare with random", icon=":material/science:", type="tertiary"):
        go("simulation", view.project.id)
