"""The line in which those who write to an SQLite file stand."""

import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby
from threading import Barrier, Thread

from db.turns import turn
from tests.conftest import ROOT

HOLD = """
import sys
from db.turns import turn
with turn(sys.argv[1]):
    print("mine", flush=True)
    sys.stdin.read()
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
    """Two threads that always want to write take turns: neither gets far ahead of the other."""
    order, start = [], Barrier(2)

    def write(name):
        start.wait()
        for _ in range(40):
            with turn(str(tmp_path / "db")):
                order.append(name)
                time.sleep(0.003)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(write, "ab"))
    assert max(len(list(run)) for _, run in groupby(order[:60])) <= 10
