"""`python -m core user …`: accounts by hand. A password comes from the terminal or from stdin, never as an argument."""

from __future__ import annotations

import argparse
import getpass
import sys
from collections.abc import Callable

from core.errors import InputError

ROLES = ("annotator", "reviewer", "owner")


def add_user_commands(parser: argparse.ArgumentParser, common: argparse.ArgumentParser) -> None:
    """The sub-commands of `user`."""
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def command(name: str, run: Callable) -> argparse.ArgumentParser:
        added = commands.add_parser(name, parents=[common], help=run.__doc__, description=run.__doc__)
        added.set_defaults(run=run)
        return added

    adding = command("add", add)
    adding.add_argument("name")
    adding.add_argument("--role", choices=ROLES, default="annotator")
    adding.add_argument("--email", metavar="ADDRESS", help="for a login provider (OpenID Connect)")
    adding.add_argument("--no-password", action="store_true", help="by the provider alone; needs --email")
    command("list", list_)
    changing = command("role", role)
    changing.add_argument("name")
    changing.add_argument("role", choices=ROLES)
    for name, run in (("passwd", passwd), ("disable", disable), ("enable", enable)):
        command(name, run).add_argument("name")


def add(args) -> dict:
    """Give a person an account; the password is asked for, or read from stdin."""
    from core.accounts import Role, add_account

    password = None if args.no_password else _password()
    return _shown(add_account(_database(), args.name, Role(args.role), password=password, email=args.email))


def list_(args) -> dict:
    """All accounts."""
    from core.accounts import accounts

    return {"accounts": [_shown(each) for each in accounts(_database())]}


def role(args) -> dict:
    """Give an account another role."""
    from core.accounts import Role, set_role

    return _shown(set_role(_database(), args.name, Role(args.role)))


def passwd(args) -> dict:
    """Give an account another password, and sign it out everywhere."""
    from core.accounts import set_password

    return _shown(set_password(_database(), args.name, _password()))


def disable(args) -> dict:
    """Cut an account off at once; its answers stay."""
    from core.accounts import set_disabled

    return _shown(set_disabled(_database(), args.name, True))


def enable(args) -> dict:
    """Let a disabled account in again."""
    from core.accounts import set_disabled

    return _shown(set_disabled(_database(), args.name, False))


def _database():
    from core.config import database_url
    from db.session import open_database

    return open_database(database_url())


def _password() -> str:
    """Typed twice at a terminal; otherwise the first line of stdin. Raises InputError for two that differ."""
    if not sys.stdin.isatty():
        return sys.stdin.readline().rstrip("\r\n")
    typed = getpass.getpass("Password: ")
    if typed != getpass.getpass("Again: "):
        raise InputError("the two passwords differ: nothing was changed")
    return typed


def _shown(account) -> dict:
    about = {"name": account.name, "role": str(account.role), "email": account.email}
    return about | {"password": account.has_password, "disabled": account.disabled}
