"""Bring one file here from an https address that may not lead into the network that this machine stands in.

Its name is resolved first, all that it resolves to must be public, and the connection goes to what was checked. The
same holds after each redirect.
"""

from __future__ import annotations

import http.client
import ipaddress
import socket
import ssl
import time
from enum import Enum
from pathlib import Path
from urllib.parse import quote, urljoin, urlsplit

from core.errors import InputError

TIMEOUT = 30  # seconds without a byte
LONGEST = 1800  # seconds for one file
MOST_REDIRECTS = 5
PIECE = 1 << 20  # bytes
NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
REDIRECTS = (301, 302, 303, 307, 308)
HEADERS = {"User-Agent": "penumbra", "Accept": "*/*"}
AS_THEY_ARE = "/%:@!$&'()*+,;=~[]"
PRIVATE = tuple(
    ipaddress.ip_network(each)
    for each in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "127.0.0.0/8", "fc00::/7", "::1/128")
)


class Reach(Enum):
    """Where an address may lead: https to public addresses; 127.0.0.1 too, by name; or private networks, http too.

    Whatever is allowed, link-local addresses are not: there a cloud tells a machine its secrets.
    """

    PUBLIC = "public"
    LOCAL = "local"
    PRIVATE = "private"


def download(url: str, path: Path, *, limit: int, reach: Reach = Reach.PUBLIC) -> None:
    """The body of `url`, at most `limit` bytes, as the file `path`. Raises InputError with the reason."""
    for _ in range(MOST_REDIRECTS):
        connection = _connect(url, reach)
        try:
            connection.request("GET", _target(url), headers=HEADERS)
            answer = connection.getresponse()
            if answer.status not in REDIRECTS:
                return _save(answer, url, path, limit)
            url = urljoin(url, answer.getheader("Location", ""))
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise InputError(f"{url} could not be fetched ({type(error).__name__}: {error})") from error
        finally:
            connection.close()
    raise InputError(f"{url}: more than {MOST_REDIRECTS} redirects")


def _target(url: str) -> str:
    """What is asked of the host; spaces and letters beyond ASCII, which people write into lists, are quoted."""
    parts = urlsplit(url)
    path, query = quote(parts.path or "/", safe=AS_THEY_ARE), quote(parts.query, safe=AS_THEY_ARE + "?")
    return f"{path}?{query}" if query else path


def _save(answer: http.client.HTTPResponse, url: str, path: Path, limit: int) -> None:
    if answer.status != 200:
        raise InputError(f"{url} could not be fetched: {answer.status} {answer.reason}")
    promised = answer.getheader("Content-Length", "")
    size, started = 0, time.monotonic()
    with path.open("wb") as file:
        while piece := answer.read1(PIECE):
            size += len(piece)
            if size > limit:
                raise InputError(f"{url} has more than {limit:,} bytes: that is over the limit")
            if time.monotonic() - started > LONGEST:
                raise InputError(f"{url} did not end within {LONGEST // 60} minutes: try again")
            file.write(piece)
    if promised.isdigit() and size < int(promised):
        raise InputError(f"{url} ended after {size:,} of {promised} bytes: try again")


def _connect(url: str, reach: Reach) -> http.client.HTTPConnection:
    """A connection to an address of `url`'s host that was found to be one that may be reached."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError as error:
        raise InputError(f"{url} is no address ({error})") from error
    local = reach is Reach.LOCAL and host == "127.0.0.1"
    if parts.scheme != "https" and not (parts.scheme == "http" and (local or reach is Reach.PRIVATE)):
        raise InputError(f"{url} is no https address: files are fetched over https only")
    if parts.username or parts.password:
        raise InputError("an address with a name or password in it is not fetched")
    port = port or (443 if parts.scheme == "https" else 80)
    address = host if local else _checked(host, port, reach)
    if parts.scheme == "http":
        return _Pinned(host, address, port)
    return _PinnedTls(host, address, port)


class _Pinned(http.client.HTTPConnection):
    """HTTP to one address, whatever the host's name resolves to by now."""

    def __init__(self, host: str, address: str, port: int):
        super().__init__(host, port, timeout=TIMEOUT)
        self._address = address

    def connect(self) -> None:
        self.sock = socket.create_connection((self._address, self.port), TIMEOUT)


class _PinnedTls(_Pinned):
    """The same over TLS; the certificate is the name's."""

    def connect(self) -> None:
        super().connect()
        self.sock = ssl.create_default_context().wrap_socket(self.sock, server_hostname=self.host)


def _checked(host: str, port: int, reach: Reach) -> str:
    try:
        found = [str(entry[4][0]) for entry in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]
    except (OSError, UnicodeError) as error:
        raise InputError(f"{host or 'an address without a host'} cannot be found ({error})") from error
    refused = [address for address in found if not _may_be_reached(address, reach)]
    if refused or not found:
        raise InputError(
            f"{host} is {', '.join(refused) or 'nowhere'}, which is no public address: copy the files here"
        )
    return found[0]


def _may_be_reached(address: str, reach: Reach) -> bool:
    """Globally reachable, and no private IPv4 address in the guise of IPv6; or of a private network where allowed."""
    ip = ipaddress.ip_address(address.partition("%")[0])
    if reach is Reach.PRIVATE and any(ip in network for network in PRIVATE):
        return True
    inside = [getattr(ip, "ipv4_mapped", None), getattr(ip, "sixtofour", None), *(getattr(ip, "teredo", None) or ())]
    if ip.version == 6 and ip in NAT64:
        inside.append(ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF))
    return all(each.is_global and not each.is_multicast for each in (ip, *filter(None, inside)))
