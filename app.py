"""Entry of `streamlit run app.py`: pages and images on one server, the database and the worker behind it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import streamlit as st
import torch
from starlette.middleware import Middleware

from pages.login import routes as login
from pages.login.gate import Gate, reason_not_to_serve
from pages.parts import export_routes, reasons, routes
from pages.parts.state import database
from pages.parts.working import keep_worker


@asynccontextmanager
async def start(_: st.App) -> AsyncIterator[None]:
    """Before the first request: the database at its newest version, and a worker for what takes long."""
    torch.set_num_threads(1)  # many small products: more threads each would fight for the cores
    database()
    keep_worker()
    yield


every = [*routes.routes(), *reasons.routes(), *export_routes.routes(), *login.routes()]
app = st.App("pages/main.py", routes=every, middleware=[Middleware(Gate)], lifespan=start)
if reason := reason_not_to_serve(st.get_option("server.address")):
    raise SystemExit(reason)

if __name__ == "__main__":
    app.run()
