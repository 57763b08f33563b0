"""Bring the files of published factors here: from a folder, a Hugging Face repository, or an https address.

An address may not lead into the network that this machine stands in: its name is resolved first, all that it resolves
to must be public, and the connection goes to what was checked. The same holds after each redirect.
"""

from __future__ import annotations

import http.client
import ipaddress
import socket
import ssl
from pathlib import Path
from urllib.parse import quote, urljoin, urlsplit

from core.errors import InputError
from core.official import FILES, LARGEST_FILE
from core.values import Progress, silent

HUB = "hf-hub:"
TIMEOUT = 30  # seconds without a byte
MOST_REDIRECTS = 5
PIECE = 1 << 20  # bytes
NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
REDIRECTS = (301, 302, 303, 307, 308)


def fetch(source: str, spare: Path, *, allow_local: bool = False, on_progress: Progress = silent) -> Path:
    """The folder that holds FILES of `source`: `source` itself, or `spare` with what was fetched into it.

    `allow_local` lets an address name 127.0.0.1, over http too. Raises InputError with the reason.
    """
    if source.startswith(HUB):
        return _from_hub(source.removeprefix(HUB), on_progress)
    if "://" in source:
        for number, name in enumerate(FILES):
            on_progress(number, len(FILES), "fetching factors")
            download(f"{source.rstrip('/')}/{quote(name)}", spare / name, allow_local=allow_local)
        return spare
    if not Path(source).is_dir():
        raise InputError(f"there is no folder {source} of published factors ({', '.join(FILES)})")
    return Path(source)


def download(url: str, path: Path, *, limit: int = LARGEST_FILE, allow_local: bool = False) -> None:
    """The body of `url`, at most `limit` bytes, as the file `path`. Raises InputError with the reason."""
    for _ in range(MOST_REDIRECTS):
        connection = _connect(url, allow_local)
        try:
            parts = urlsplit(url)
            connection.request("GET", (parts.path or "/") + (f"?{parts.query}" if parts.query else ""))
            answer = connection.getresponse()
            if answer.status not in REDIRECTS:
                return _save(answer, url, path, limit)
            url = urljoin(url, answer.getheader("Location", ""))
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise InputError(f"{url} could not be fetched ({type(error).__name__}: {error})") from error
        finally:
            connection.close()
    raise InputError(f"{url}: more than {MOST_REDIRECTS} redirects")


def _save(answer: http.client.HTTPResponse, url: str, path: Path, limit: int) -> None:
    if answer.status != 200:
        raise InputError(f"{url} could not be fetched: {answer.status} {answer.reason}")
    promised = answer.getheader("Content-Length", "")
    size = 0
    with path.open("wb") as file:
        while piece := answer.read(PIECE):
            size += len(piece)
            if size > limit:
                raise InputError(f"{url} has more than {limit:,} bytes: it is no factor")
            file.write(piece)
    if promised.isdigit() and size < int(promised):
        raise InputError(f"{url} ended after {size:,} of {promised} bytes: try again")


def _connect(url: str, allow_local: bool) -> http.client.HTTPConnection:
    """A connection to an address of `url`'s host that was found to be public."""
    parts = urlsplit(url)
    try:
        host, port = parts.hostname or "", parts.port
    except ValueError as error:
        raise InputError(f"{url} is no address ({error})") from error
    local = allow_local and host == "127.0.0.1"
    if parts.scheme != "https" and not (local and parts.scheme == "http"):
        raise InputError(f"{url} is no https address: factors are fetched over https only")
    if parts.username or parts.password:
        raise InputError("an address with a name or password in it is not fetched")
    port = port or (443 if parts.scheme == "https" else 80)
    address = host if local else _public(host, port)
    if parts.scheme == "http":
        return http.client.HTTPConnection(address, port, timeout=TIMEOUT)
    return _Pinned(host, address, port)


class _Pinned(http.client.HTTPSConnection):
    """HTTPS to one address, whatever the host's name resolves to by now; the certificate is the name's."""

    def __init__(self, host: str, address: str, port: int):
        super().__init__(host, port, timeout=TIMEOUT)
        self._address, self._tls = address, ssl.create_default_context()

    def connect(self) -> None:
        plain = socket.create_connection((self._address, self.port), TIMEOUT)
        self.sock = self._tls.wrap_socket(plain, server_hostname=self.host)


def _public(host: str, port: int) -> str:
    try:
        found = [str(entry[4][0]) for entry in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]
    except (OSError, UnicodeError) as error:
        raise InputError(f"{host or 'an address without a host'} cannot be found ({error})") from error
    hidden = [address for address in found if not _is_public(address)]
    if hidden or not found:
        raise InputError(f"{host} is {', '.join(hidden) or 'nowhere'}, which is no public address: copy the files here")
    return found[0]


def _is_public(address: str) -> bool:
    """Globally reachable, and no private IPv4 address in the guise of IPv6."""
    ip = ipaddress.ip_address(address.partition("%")[0])
    inside = [getattr(ip, "ipv4_mapped", None), getattr(ip, "sixtofour", None), *(getattr(ip, "teredo", None) or ())]
    if ip.version == 6 and ip in NAT64:
        inside.append(ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF))
    return all(each.is_global and not each.is_multicast for each in (ip, *filter(None, inside)))


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
