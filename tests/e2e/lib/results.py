"""What was tested with which MPI, language, container and launcher, for the table in docs/tested.md (tests/table.py)."""
import json
import os

from common import TOP


def record(kind, mpi, language, container, launcher, release, result, why=""):
    """Appends one line to build/results/KIND.jsonl.  mpi: as the trace's head names it; container: "-" for none;
    release: of what the program ran in; result: passed, failed or skipped.  Of two lines that differ in result and why
    alone the later counts."""
    folder = os.path.join(TOP, "build/results")
    os.makedirs(folder, exist_ok=True)
    line = dict(mpi=mpi, language=language, container=container, launcher=launcher, release=release, result=result, why=why)
    with open(os.path.join(folder, kind + ".jsonl"), "a") as f:
        f.write(json.dumps(line) + "\n")
