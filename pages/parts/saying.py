"""What was done, said after the page was drawn anew: a toast of a run that ends in a rerun may never be seen."""

import streamlit as st

_KEY = "done"


def say_and_rerun(words: str) -> None:
    """Draw the page anew, with these words on it. Ends the run."""
    st.session_state[_KEY] = words
    st.rerun()


def show_said() -> None:
    """What the run before this one did."""
    if words := st.session_state.pop(_KEY, ""):
        st.toast(words, duration="long")
