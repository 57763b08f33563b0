"""An export goes out as a zip to owners alone, and nothing but a whole export goes out."""

import io
import json
import zipfile
from dataclasses import replace
from types import SimpleNamespace

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from core.projects import get_project
from db import repository
from db.repository import Role
from pages.login.gate import Gate
from pages.login.visitor import ANYBODY, CLOSED, GUEST, Visitor
from pages.parts.export_place import file_name, finished, folder_of
from pages.parts.export_routes import address, routes


@pytest.fixture
def client(site):
    return TestClient(Gate(Starlette(routes=routes())), base_url="http://127.0.0.1")


@pytest.fixture
def exported(site):
    project = get_project(site.database, site.project)
    folder = folder_of(project, "csv")
    (folder / "Mug <b>").mkdir(parents=True)
    (folder / "Mug <b>" / "ü#?.csv").write_text("path\n")
    (folder / "manifest.json").write_text(json.dumps({"images": 12}))
    return project


def test_an_export_comes_as_a_zip_that_names_the_project(client, exported):
    reply = client.get(address(exported, "csv"))
    assert (reply.status_code, reply.headers["content-type"]) == (200, "application/zip")
    assert reply.headers["content-disposition"] == f'attachment; filename="{exported.id}-Tiny-b-csv.zip"'
    assert reply.headers["cache-control"] == "no-store"
    assert zipfile.ZipFile(io.BytesIO(reply.content)).namelist() == ["manifest.json", "Mug <b>/ü#?.csv"]
    assert finished(exported, "csv").manifest == {"images": 12}


@pytest.mark.parametrize(
    "path", ["{}/coco.zip", "{}/..%2fcsv.zip", "{}/nothing.zip", "99/csv.zip", "{}0000000/csv.zip"]
)
def test_all_else_is_missing(client, exported, path):
    assert client.get(f"/export/{path.format(exported.id)}").status_code == 404


def test_a_folder_without_a_manifest_is_no_export(client, exported):
    (folder_of(exported, "csv") / "manifest.json").write_text("{")
    assert client.get(address(exported, "csv")).status_code == 404


def test_a_deleted_project_is_not_given_out(client, exported, site):
    with site.database.write() as session:
        repository.delete_project(session, exported.id)
    assert client.get(address(exported, "csv")).status_code == 404


def signed_in(role: Role) -> Visitor:
    return Visitor("login 1", SimpleNamespace(account=SimpleNamespace(role=role)))


@pytest.mark.parametrize(
    ("visitor", "status"),
    [(GUEST, 403), (None, 403), (CLOSED, 403), (ANYBODY, 200)]
    + [(signed_in(role), 200 if role is Role.OWNER else 403) for role in Role],
)
def test_only_owners_get_it(exported, visitor, status):
    async def around(scope, receive, send):
        scope["visitor"] = visitor
        await Starlette(routes=routes())(scope, receive, send)

    assert TestClient(around).get(address(exported, "csv")).status_code == status


@pytest.mark.parametrize(
    ("name", "said"),
    [("../../etc", "etc"), ("日本", ""), ("a" * 200, "a" * 40), ("CON", "CON"), ('"; rm', "rm")],
)
def test_a_file_name_has_letters_and_digits_alone(exported, name, said):
    assert file_name(replace(exported, name=name)) == f"{exported.id}-{said}".rstrip("-")
