"""A store of objects for tests: moto's server on this machine, which needs no network."""

import logging
import uuid
from contextlib import contextmanager
from pathlib import Path

from core.data.buckets import filesystem


@contextmanager
def serving():
    """The address of a server that speaks S3."""
    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


def new_bucket(address: str, monkeypatch) -> str:
    keys = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_DEFAULT_REGION": "us-east-1"}
    for name, value in {"AWS_ENDPOINT_URL": address, **keys}.items():
        monkeypatch.setenv(name, value)
    bucket = f"s3://test-{uuid.uuid4().hex[:12]}"
    store, name = filesystem(bucket)
    store.mkdir(name)
    return bucket


def put(folder: Path, address: str) -> None:
    """All files of a folder as objects below the address."""
    store, key = filesystem(address)
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            store.pipe(f"{key}/{path.relative_to(folder).as_posix()}", path.read_bytes())
