"""Bring the files of published factors here: from a folder, a Hugging Face repository, or an https address."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

from core.errors import InputError
from core.official import FILES, LARGEST_FILE
from core.values import Progress, silent
from core.web import Reach, download

HUB = "hf-hub:"


def fetch(source: str, spare: Path, *, allow_local: bool = False, on_progress: Progress = silent) -> Path:
    """The folder that holds FILES of `source`: `source` itself, or `spare` with what was fetched into it.

    `allow_local` lets an address name 127.0.0.1, over http too. Raises InputError with the reason.
    """
    if source.startswith(HUB):
        return _from_hub(source.removeprefix(HUB), on_progress)
    if "://" in source:
        reach = Reach.LOCAL if allow_local else Reach.PUBLIC
        for number, name in enumerate(FILES):
            on_progress(number, len(FILES), "fetching factors")
            download(f"{source.rstrip('/')}/{quote(name)}", spare / name, limit=LARGEST_FILE, reach=reach)
        return spare
    if not Path(source).is_dir():
        raise InputError(f"there is no folder {source} of published factors ({', '.join(FILES)})")
    return Path(source)


def _from_hub(name: str, on_progress: Progress) -> Path:
    """Where the hub's client keeps FILES of `owner/name[/folder][@revision]`, fetched unless they lie there."""
    import huggingface_hub as hub

    path, _, revision = name.partition("@")
    owner, _, rest = path.partition("/")
    repository, _, folder = rest.partition("/")
    if not owner or not repository:
        raise InputError(f"{HUB}{name} names no repository: write {HUB}owner/name or {HUB}owner/name/folder")
    found = []
    for number, file in enumerate(FILES):
        on_progress(number, len(FILES), "fetching factors")
        inside = f"{folder.strip('/')}/{file}".lstrip("/")
        try:
            found.append(_from_repository(hub, f"{owner}/{repository}", inside, revision or None))
        except InputError:
            raise
        except Exception as error:  # whatever the hub's client raises: it has no common root
            raise InputError(
                f"{HUB}{name}: {inside} could not be fetched ({type(error).__name__}: {str(error)[:200]}). It needs "
                f"{', '.join(FILES)}; check the name, or copy the files here and name their folder"
            ) from error
    return found[0].parent


def _from_repository(hub, repository: str, file: str, revision: str | None) -> Path:
    kept = hub.try_to_load_from_cache(repository, file, revision=revision)
    if isinstance(kept, str):
        return Path(kept)
    about = hub.get_hf_file_metadata(hub.hf_hub_url(repository, file, revision=revision))
    if (about.size or 0) > LARGEST_FILE:
        raise InputError(f"{file} of {repository} has {about.size:,} bytes, over the limit of {LARGEST_FILE:,}")
    return Path(hub.hf_hub_download(repository, file, revision=revision))
