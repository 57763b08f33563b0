"""What holds when processes are killed or many work at once: real processes, real signals."""

import os
import signal
import subprocess
import sys

from sqlalchemy import func, select

from db.models import Label, now
from db.repository import LEASE, leased
from tests.conftest import ROOT
from tests.db.conftest import make_small

HEAD = """
import itertools, os, signal, sys
from datetime import timedelta
from db.models import now
from db.repository import LEASE, NewLabel, claim, person, record
from db.session import Database
database = Database(sys.argv[1])
project, items, class_id, name = int(sys.argv[2]), [int(each) for each in sys.argv[3].split(",")], *sys.argv[4:6]
def label(i):
    return NewLabel(f"{name}:{i}", items[i % len(items)], "answer", int(class_id), source="epig")
with database.write() as s:
    me = person(s, name)
"""

ENDLESS = """
for i in itertools.count():
    with database.write() as s:
        record(s, project, me, [label(i)])
    os.write(1, f"{name}:{i}\\n".encode())
"""

KILLED_AT_ONCE = """
with database.write() as s:
    record(s, project, me, [label(0)])
os.kill(os.getpid(), signal.SIGKILL)
"""

KILLED_BEFORE = """
with database.write() as s:
    record(s, project, me, [label(0)])
    os.kill(os.getpid(), signal.SIGKILL)
"""

GREEDY = """
while True:
    with database.write() as s:
        got = claim(s, project, me, items, 7, now() + LEASE)
    os.write(1, "".join(f"{each}\\n" for each in got).encode())
    if not got:
        break
    with database.write() as s:  # the first ones are answered, the rest stays on the screen
        answered = [NewLabel(f"{name}:{each}", each, "answer", int(class_id), source="epig") for each in got[:3]]
        record(s, project, me, answered)
    items = [each for each in items if each not in got]
"""


def _start(code, database, project, name="Ada"):
    items = ",".join(map(str, project.items))
    arguments = [database.url, str(project.id), items, str(project.classes[0]), name]
    return subprocess.Popen([sys.executable, "-c", HEAD + code, *arguments], cwd=ROOT, stdout=subprocess.PIPE)


def _keys(database):
    with database.read() as s:
        return list(s.scalars(select(Label.event_key).order_by(Label.id)))


def test_a_stored_label_survives_kill_9_of_its_process(database, small):
    child = _start(KILLED_AT_ONCE, database, small)
    assert child.wait(60) == -signal.SIGKILL
    assert _keys(database) == ["Ada:0"]


def test_every_label_that_was_acknowledged_survives_kill_9(database, small):
    child = _start(ENDLESS, database, small)
    acknowledged = [child.stdout.readline() for _ in range(50)]
    os.kill(child.pid, signal.SIGKILL)
    acknowledged += child.stdout.readlines()
    child.wait(60)
    keys = _keys(database)
    assert keys[: len(acknowledged)] == [line.decode().strip() for line in acknowledged]
    assert len(keys) <= len(acknowledged) + 1  # one may have been stored and not yet acknowledged


def test_a_process_killed_within_a_transaction_leaves_nothing_and_no_lock(database, small):
    child = _start(KILLED_BEFORE, database, small)
    assert child.wait(60) == -signal.SIGKILL
    assert _keys(database) == []
    with database.write() as s:
        assert s.scalar(select(func.count()).select_from(Label)) == 0


def test_eight_processes_get_no_image_twice(database):
    project = make_small(database, "many", pool=396)
    children = [_start(GREEDY, database, project, f"person {i}") for i in range(8)]
    got = [[int(line) for line in child.communicate(timeout=120)[0].split()] for child in children]
    assert [child.returncode for child in children] == [0] * 8
    everything = [item for each in got for item in each]
    assert len(everything) == len(set(everything))
    assert set(everything) == set(project.items)
    answered = len(_keys(database))
    with database.read() as s:
        assert len(leased(s, project.id)) == len(project.items) - answered
        assert leased(s, project.id, now() + LEASE) == {}
