"""Runs of workloads/changed.c for tests of `hpctop diff`: two at a time, so that what else the machine does disturbs both."""
import json
import os
import tempfile

from common import LONG, TOP, hpctop, start, workload

QUIET = {"OMPI_MCA_mpi_yield_when_idle": "1", "OMPI_MCA_hwloc_base_binding_policy": "none"}  # ranks that wait leave the cores to others


def line(mark):
    with open(TOP + "/workloads/changed.c") as f:
        return next("changed.c:%d" % n for n, text in enumerate(f, 1) if "/* line: %s */" % mark in text)


def at_once(*runs):
    """Records runs (folder, ranks, command) that begin at the same time, however long each launcher takes.  Returns
    whether all ended well."""
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
    return all(job.returncode == 0 for job in jobs)


def changed(iterations, percent, rank=-1, program="changed", mode="sleep"):
    return [program if "/" in program else workload(program), str(iterations), str(percent), str(rank), mode]


def sure(found):
    """Findings with a confidence: the machine is not the cause."""
    return [f for f in found["findings"] if f["confidence"] is not None]


def claims(found):
    """Returns all that is claimed of two equal runs: each is false."""
    answer = [found["words"]] if found["answer"] in ("slower", "faster") else []
    return answer + sure(found)


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
