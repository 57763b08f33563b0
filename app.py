"""Entry of `streamlit run app.py`: pages and images on one server, the database and the worker behind it."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import streamlit as st
import torch

from core.worker import ensure_worker
from pages.parts.routes import routes
from pages.parts.state import database


@asynccontextmanager
async def start(_: st.App) -> AsyncIterator[None]:
    """Before the first request: the database at its newest version, and a worker for what takes long.

    The worker outlives this server, so that work goes on; with PENUMBRA_TIED it ends with it.
    """
    torch.set_num_threads(1)  # many small products: more threads each would fight for the cores
    database()
    ensure_worker(tied_to=os.getpid() if os.environ.get("PENUMBRA_TIED") else None)
    yield


app = st.App("pages/main.py", routes=routes(), lifespan=start)

if __name__ == "__main__":
    app.run()
