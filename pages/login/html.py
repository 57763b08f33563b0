"""The sign-in page and the account's page as HTML: forms that work without a script, in the pages' colours."""

from __future__ import annotations

from datetime import UTC, datetime
from html import escape
from string import Template
from urllib.parse import quote

from starlette.responses import HTMLResponse

from core.accounts import MAY
from core.passwords import LONGEST, SHORTEST
from db.repository.accounts import LoginRow
from pages.login.oidc import DEFAULT
from pages.parts.text import duration

HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
}

_PAGE = Template("""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>$title · Penumbra</title>
<link rel="icon" href="/login/mark.svg"><link rel="stylesheet" href="/login/style.css">
</head>
<body><main>
<p class="name"><img src="/login/mark.svg" alt="" width="28" height="28">Penumbra</p>
<h1>$title</h1>
$notes
$body
</main></body>
</html>
""")

_SIGN_IN = Template("""<form method="post" action="/login">
<input type="hidden" name="form" value="$form"><input type="hidden" name="next" value="$next">
<label>Name<input name="name" value="$name" autocomplete="username" autocapitalize="none" required maxlength="100" \
$focus_name></label>
<label>Password<input name="password" type="password" autocomplete="current-password" required maxlength="$longest" \
$focus_password></label>
<button class="strong">Sign in</button>
</form>
$providers
<p class="quiet">No account, or the password is lost? An owner of this server can help.</p>
""")

_ACCOUNT = Template("""<p>The role <b>$role</b> may $may. Signed in for another $left.</p>
$password
<section class="out">
<form method="post" action="/logout"><input type="hidden" name="form" value="$form">
<button>Sign out</button></form>
<form method="post" action="/logout"><input type="hidden" name="form" value="$form">
<button name="everywhere" value="1">Sign out on all devices</button></form>
</section>
<p><a href="/">Back to the projects</a></p>
""")

_PASSWORD = Template("""<form method="post" action="/account">
<h2>Change the password</h2>
<input type="hidden" name="form" value="$form">
<input hidden name="username" value="$name" autocomplete="username">
<label>Present password<input name="old" type="password" autocomplete="current-password" required></label>
<label>New password<input name="new" type="password" autocomplete="new-password" required \
minlength="$shortest" maxlength="$longest"></label>
<label>New password again<input name="again" type="password" autocomplete="new-password" required></label>
<p class="quiet">$shortest characters or more. Other devices are signed out.</p>
<button>Change it</button>
</form>
""")

_CLEAR = "This connection is not encrypted: others on the network can read the password. Put HTTPS in front."


def sign_in_page(
    form: str, *, next_: str, name: str = "", error: str = "", clear: bool, providers: list[str], status: int = 200
) -> HTMLResponse:
    """The form; `clear`: the password would travel unencrypted."""
    focus = {"focus_name": "" if name else "autofocus", "focus_password": "autofocus" if name else ""}
    values = {"form": form, "next": escape(next_), "name": escape(name), "longest": LONGEST, **focus}
    body = _SIGN_IN.substitute(values, providers="".join(_provider(each) for each in providers))
    return _page("Sign in", body, error=error, warning=_CLEAR if clear else "", status=status)


def account_page(login: LoginRow, form: str, *, error: str = "", done: str = "", status: int = 200) -> HTMLResponse:
    """Who one is, another password, the way out."""
    account = login.account
    values = {"form": form, "name": escape(account.name), "longest": LONGEST, "shortest": SHORTEST}
    password = _PASSWORD.substitute(values) if account.has_password else ""
    left = duration((login.expires_at - datetime.now(UTC)).total_seconds())
    body = _ACCOUNT.substitute(form=form, role=account.role, may=MAY[account.role], left=left, password=password)
    return _page(account.name, body, error=error, done=done, status=status)


def _provider(name: str) -> str:
    label = "your organisation" if name == DEFAULT else escape(name.capitalize())
    return f'<p><a class="button" href="/?sign-in={quote(name)}">Sign in with {label}</a></p>'


def _page(title: str, body: str, status: int, **notes: str) -> HTMLResponse:
    said = "".join(f'<p class="{kind}" role="alert">{escape(text)}</p>' for kind, text in notes.items() if text)
    return HTMLResponse(_PAGE.substitute(title=escape(title), notes=said, body=body), status, HEADERS)
