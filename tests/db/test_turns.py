"""The line in which those who write to an SQLite file stand."""

import subprocess
import sys
from itertools import groupby
from threading import Thread

from db.turns import turn
from tests.conftest import ROOT

HOLD = """
import sys
from db.turns import turn
with turn(sys.argv[1]):
    print("mine", flush=True)
    sys.stdin.read()
"""

EAGER = """
import sys, time
from db.turns import turn
print("ready", flush=True)
sys.stdin.read()
for _ in range(60):
    with turn(sys.argv[1]), open(sys.argv[2], "a") as order:
        order.write(sys.argv[3])
        time.sleep(0.003)
"""


def _holder(file) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, "-c", HOLD, str(file)], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )


def test_threads_and_processes_have_their_turn_one_at_a_time(tmp_path):
    file, inside, most = tmp_path / "db", [], []

    def write():
        for _ in range(50):
            with turn(str(file)):
                inside.append(1)
                most.append(len(inside))
                inside.pop()

    writers = [Thread(target=write) for _ in range(8)]
    with _holder(file) as other:
        assert other.stdout.readline() == b"mine\n"
        for each in writers:
            each.start()
        writers[0].join(0.3)
        assert most == []  # the other process has it
        other.stdin.close()
        for each in writers:
            each.join(30)
    assert (len(most), max(most)) == (400, 1)


def test_a_killed_process_gives_its_turn_back(tmp_path):
    with _holder(tmp_path / "db") as other:
        assert other.stdout.readline() == b"mine\n"
        other.kill()
    with turn(str(tmp_path / "db")):
        pass


def test_who_comes_back_at_once_stands_at_the_end(tmp_path):
    """Three processes that always want to write take turns: none gets far ahead of the others."""
    order = tmp_path / "order"
    command = [sys.executable, "-c", EAGER, str(tmp_path / "db"), str(order)]
    writers = [
        subprocess.Popen([*command, name], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE) for name in "abc"
    ]
    for each in writers:
        assert each.stdout.readline() == b"ready\n"
    for each in writers:
        each.stdin.close()  # go
    assert [each.wait(60) for each in writers] == [0, 0, 0]
    longest = max(len(list(run)) for _, run in groupby(order.read_text()[10:150]))
    assert longest <= 6
