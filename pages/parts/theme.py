"""Colours: the eight of Okabe and Ito (2008), told apart by all eyes, and two greys for what is beside the point."""

from __future__ import annotations

BLUE, ORANGE, GREEN, PINK, SKY, RED, YELLOW, GREY = CATEGORIES = (
    "#0072B2",
    "#E69F00",
    "#009E73",
    "#CC79A7",
    "#56B4E9",
    "#D55E00",
    "#F0E442",
    "#8C8C8C",
)
QUIET = "rgba(128, 128, 128, 0.55)"  # reads on light and dark
LINES = "rgba(128, 128, 128, 0.22)"
