"""Runs of workloads/changed.c for tests of `hpctop diff`: two at a time, so that what else the machine does disturbs both."""
import json
import os
import re
import tempfile

from common import LONG, TOP, hpctop, start, workload

HELD_UP = {}  # by folder: seconds
QUIET = {"OMPI_MCA_mpi_yield_when_idle": "1", "OMPI_MCA_hwloc_base_binding_policy": "none"}  # ranks that wait leave the cores to others


def line(mark):
    with open(TOP + "/workloads/changed.c") as f:
        return next("changed.c:%d" % n for n, text in enumerate(f, 1) if "/* line: %s */" % mark in text)


def at_once(*runs):
    """Records runs (folder, ranks, command) that begin at the same time, however long each launcher takes.  Returns
    whether all ended well; HELD_UP says then for how long their ranks waited for cores."""
    jobs, together = [], tempfile.mktemp(dir=".")
    meet = "%d:%s" % (sum(ranks for _, ranks, _ in runs), os.path.abspath(together))
    for folder, ranks, command in runs:
        place = os.path.abspath("tmp-" + folder)  # a launcher that ends takes away what another one is about to use
        os.makedirs(place, exist_ok=True)
        jobs.append(start(ranks, command, folder, OMPI_MCA_orte_tmpdir_base=place, TMPDIR=place,
                          CHANGED_TOGETHER=meet, **QUIET))
    for (folder, _, _), job in zip(runs, jobs):
        if job.wait(timeout=LONG) != 0:
            job.said.seek(0)
            print("%s: exit %d: %s" % (folder, job.returncode, job.said.read()[-800:]))
        job.said.seek(0)
        HELD_UP[folder] = sum(float(word) for word in re.findall(rb"held up ([0-9.]+) s", job.said.read()))
    return all(job.returncode == 0 for job in jobs)


def changed(iterations, percent, rank=-1, program="changed"):
    return [program if "/" in program else workload(program), str(iterations), str(percent), str(rank)]


def sure(found):
    """Findings with a confidence; the others may be the machine's."""
    return [f for f in found["findings"] if f["confidence"] is not None]


def false(found):
    """Those of two equal runs, except what the machine has made differ: its kernel says for how long it held up which run."""
    held_up = abs(HELD_UP[found["before"]["name"]] - HELD_UP[found["after"]["name"]])

    def by_the_machine(f):
        seconds = abs((f["after_s"] or 0) - (f["before_s"] or 0)) * len(f["ranks"]) * found["before"]["iterations"]
        return held_up >= 0.5 * seconds

    return [f for f in sure(found) if not by_the_machine(f)]


def diff(*arguments):
    """`hpctop diff --json` as a dict, or None (what went wrong is printed)."""
    r = hpctop("diff", "--json", *arguments)
    try:
        if r.code == 0:
            return json.loads(r.out)
    except ValueError as e:
        print("diff --json is not JSON: %s" % e)
    print("hpctop diff %s: %s" % (" ".join(arguments), r))
    return None
