"""Factors from an address, the hub or a folder."""

from types import SimpleNamespace

import huggingface_hub
import pytest

from core import fetch as module
from core.errors import FactorMismatch, InputError
from core.fetch import fetch
from core.official import FILES, load_official
from tests.site import serving
from tests.test_official import publish


@pytest.fixture
def server(tmp_path):
    with serving(publish(tmp_path / "site" / "factors").parent) as (address, _):
        yield address


def test_factors_come_from_an_address(server, tmp_path):
    said = []
    folder = fetch(f"{server}/factors/", tmp_path, allow_local=True, on_progress=lambda *each: said.append(each))
    assert sorted(path.name for path in folder.glob("*_analytic.*")) == sorted(FILES)
    assert load_official(folder)[0].A.shape == (3, 3)
    assert len(said) == len(FILES)


def test_this_machine_is_named_by_nobody_without_the_flag(server, tmp_path):
    with pytest.raises(InputError, match="no https address"):
        fetch(f"{server}/factors", tmp_path)
    with pytest.raises(InputError, match="no public address"):
        fetch(f"{server.replace('http:', 'https:')}/factors", tmp_path)


@pytest.mark.parametrize(
    "source", ["http://example.org/x", "https://user:secret@example.org", "https://", "https://a:b"]
)
def test_other_addresses_are_refused(source, tmp_path):
    with pytest.raises(InputError):
        fetch(source, tmp_path)


@pytest.fixture
def hub(tmp_path, monkeypatch):
    """A hub whose repository "owner/name" has the factors in hessians/x; what it was asked is recorded."""
    folder = publish(tmp_path / "hub" / "hessians" / "x")
    fake = SimpleNamespace(asked=[], size=1000)

    def take(repository, file, revision=None):
        fake.asked.append((repository, file, revision))
        if not (folder.parent.parent / file).exists():
            raise RuntimeError("404: no such entry")
        return str(folder.parent.parent / file)

    monkeypatch.setattr(huggingface_hub, "try_to_load_from_cache", lambda *_, **__: None)
    monkeypatch.setattr(huggingface_hub, "get_hf_file_metadata", lambda url: SimpleNamespace(size=fake.size))
    monkeypatch.setattr(huggingface_hub, "hf_hub_download", take)
    return fake


def test_factors_come_from_a_repository(hub, tmp_path):
    folder = fetch("hf-hub:owner/name/hessians/x@v1", tmp_path)
    assert load_official(folder)[1].A.shape == (4, 4)
    assert hub.asked[0] == ("owner/name", "hessians/x/A_img_analytic.pt", "v1")
    assert [asked[1].split("/")[-1] for asked in hub.asked] == list(FILES)


def test_what_the_hub_has_not_or_is_too_large_is_said(hub, tmp_path):
    with pytest.raises(InputError, match=r"hf-hub:owner/name: A_img_analytic\.pt could not be fetched .*no such entry"):
        fetch("hf-hub:owner/name", tmp_path)
    with pytest.raises(InputError, match="names no repository"):
        fetch("hf-hub:owner", tmp_path)
    hub.size = module.LARGEST_FILE + 1
    with pytest.raises(InputError, match="over the limit"):
        fetch("hf-hub:owner/name/hessians/x", tmp_path)


def test_a_folder_is_read_where_it_is(tmp_path):
    publish(tmp_path / "factors")
    assert fetch(str(tmp_path / "factors"), tmp_path) == tmp_path / "factors"
    (tmp_path / "factors" / FILES[1]).unlink()
    with pytest.raises(FactorMismatch, match="B_img"):
        load_official(tmp_path / "factors")
