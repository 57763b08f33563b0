"""ProLIP: texts and images as Gaussians: how sure the model is of each, and what includes what."""

import streamlit as st

from core.errors import PenumbraError
from pages.parts import prolip, prolip_hierarchy, prolip_images, prolip_prompts, prolip_texts
from pages.parts.state import project_in_address
from pages.parts.text import escape

TABS = {
    "Texts": prolip_texts.show,
    "Images": prolip_images.show,
    "Hierarchy": prolip_hierarchy.show,
    "Prompts": prolip_prompts.show,
}


def main() -> None:
    project = project_in_address()
    encoder = prolip.header(project)
    if encoder is None:
        return
    for name, tab in zip(TABS, st.tabs(list(TABS), key="tab", on_change="rerun", bind="query-params"), strict=True):
        if not tab.open:  # only what is looked at is computed
            continue
        with tab:
            try:
                TABS[name](project, encoder)
            except PenumbraError as error:
                st.error(escape(str(error)), icon=":material/error:")


main()
