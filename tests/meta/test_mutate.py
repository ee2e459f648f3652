"""`make mutate` samples the same mutants each time, and kills those that a test sees."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from scripts.mutate import PACKAGE, ROOMS, ROOT, Mutant, mutants, reasons

MODULE = '''
def doubled(number: int) -> int:
    """Twice the number."""
    return number + number


def unit() -> str:
    return "ms"


UNIT = unit()
'''
TESTS = """
from small.sums import UNIT, doubled

def test_it_doubles():
    assert doubled(2) == 4

def test_the_unit():
    assert UNIT == "ms"
"""
JUDGE = """
import shutil
import sys
from functools import partial
from pathlib import Path

from scripts import mutate

root = Path(sys.argv[1])
mutate.ROOT, mutate.BUILD, mutate.TREE, mutate.PACKAGE = root, root / "build", root / "build/tree", "src"
for name in ("src", "tests", "pytest.ini"):
    (shutil.copytree if (root / name).is_dir() else shutil.copy)(root / name, mutate.TREE / name)
mutate.ROOMS = {"room": mutate.Room("small", ("tests",))}
text = (root / "src/small/sums.py").read_text()
plan = [
    mutate.Mutant("src/small/sums.py", "", line, inside, old, new, 0, partial(text.replace, old, new))
    for old, new, line, inside in {changes}
]
mutate.judge("room", plan)
"""
PLANTED = [
    ("number + number", "number * number", 4, True),  # no test sees it
    ("number + number", "number - number", 4, True),
    ('"ms"', '"s"', 8, True),  # runs on import
    ("UNIT = unit()", "UNIT = None", 11, False),
]


def a_tree(folder: Path) -> Path:
    files = {
        "build/tree/.keep": "",
        "src/small/__init__.py": "",
        "src/small/sums.py": MODULE,
        "tests/test_sums.py": TESTS,
    }
    for name, text in {**files, "pytest.ini": "[pytest]\naddopts = -p no:randomly\n"}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    return folder


@pytest.mark.slow
def test_a_planted_mutant_is_killed_and_one_that_nothing_sees_survives(tmp_path: Path) -> None:
    script = JUDGE.replace("{changes}", repr(PLANTED))
    command = [sys.executable, "-c", script, str(a_tree(tmp_path))]
    subprocess.run(command, cwd=ROOT, check=True, timeout=200)
    kept = json.loads((tmp_path / "build/room.verdicts.json").read_text("utf-8"))
    assert [found["verdict"] for found in kept.values()] == [
        "survived",
        "tests/test_sums.py::test_it_doubles",
        "tests/test_sums.py::test_the_unit",
        "tests/test_sums.py::test_the_unit",
    ]
    assert (tmp_path / "src/small/sums.py").read_text("utf-8") == MODULE


def test_the_sample_depends_on_the_seed_and_not_on_lines() -> None:
    one, below = (Mutant("a.py", "f", line, True, "<", "<=", 0, str) for line in (1, 9))
    assert one.rank(1) == below.rank(1) != one.rank(2)


def test_the_mutants_of_a_module_are_the_same_each_time_and_each_changes_it() -> None:
    pytest.importorskip("mutmut", reason="mutmut is in the dependency group mutate")
    made = list(mutants("sums.py", MODULE))
    again = list(mutants("sums.py", MODULE))
    assert [one.key for one in made] == [one.key for one in again]
    assert len({one.key for one in made}) == len(made) > 2
    assert MODULE not in {one.write() for one in made}
    assert not any("Twice" in one.before for one in made)


def test_the_tests_of_each_room_exist() -> None:
    for room in ROOMS.values():
        assert [
            name for name in (f"{PACKAGE}/{room.source}", *room.tests) if not (ROOT / name).exists()
        ] == []


def test_each_mutant_that_is_explained_is_of_a_file_and_explained_once() -> None:
    files = [key.partition(" ")[0] for key in reasons()]
    assert [name for name in files if not (ROOT / name).is_file()] == []
