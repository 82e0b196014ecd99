"""A site that records every job: the three lines of docs/site.md in the slurm.conf of a Slurm of the test's own."""
import json
import os

from common import HPCTOP, check, make, run, skip_all
from slurm_cluster import HERE, cluster

SITE = os.path.join(HERE, "site")
DB = os.path.join(SITE, "list/jobs.db")
PREFIX = os.path.join(HERE, "opt")
SRUN = "srun --mpi=pmix "


def start(*more):
    """Installs hpctop, starts Slurm with these lines more.  False: it does not come up."""
    made = make("install", "DESTDIR=", "PREFIX=" + PREFIX)
    os.mkdir(SITE, 0o755)
    for name in ("LD_PRELOAD", "HPCTOP_DIR"):
        os.environ.pop(name, None)
    slurm = PREFIX + "/share/hpctop/slurm/"
    with open(slurm + "site", "w") as f:
        f.write(SITE + "\n")
    with open("epilog", "w") as f:  # Slurm's commands look for the slurm.conf of this test
        f.write("#!/bin/sh\nSLURM_CONF=%s/slurm.conf exec %sepilog\n" % (HERE, slurm))
    os.chmod("epilog", 0o755)
    lines = ["PrologSlurmctld=%sprolog" % slurm, "TaskProlog=%stask-prolog" % slurm, "EpilogSlurmctld=%s/epilog" % HERE, *more]
    if not check("the site is set up", made.code == 0 and cluster(*lines), made):
        return False
    pmix = run(["srun", "--mpi=list"])
    if "pmix" not in pmix.out + pmix.err:
        skip_all("this Slurm has no plugin for PMIx")
    return True


def jobs(*more):
    """The rows of the list by their ids."""
    done = run([HPCTOP, "jobs", "--db", DB, "--json", "--all", *more])
    return {job["id"]: job for job in json.loads(done.out)["jobs"]} if done.code == 0 else {}


def submit(script, *more):
    """The number of the job."""
    done = run(["sbatch", "--parsable", "-n4", "-N2", "-o", "/dev/null", *more, "--wrap", script])
    return done.out.strip()


def ended(job):
    return run(["squeue", "-h", "-j", job]).out.strip() == ""


def says(row):
    """Whether the page of a row says what the row does."""
    with open(row["page"], encoding="utf-8") as f:
        text = f.read()
    return all(json.dumps(row[key])[1:-1].replace("<", "\\u003c").replace(">", "\\u003e") in text for key in ("answer", "said") if row[key])
