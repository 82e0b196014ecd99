# timeout: 300
# waits
"""A real Slurm on this machine: slurmctld, munged and two slurmd, each a node with a host name of its own.  srun with
PMIx and with PMI-2, sbatch with a job script, all through hpctop record; every number must be right."""
import json
import os
import shutil

from common import HPCTOP, check, end, readme_commands, release, report, run, skip, traces, workload
from compare import differences
from results import record
from slurm_cluster import HERE, NODES, cluster, step

def mpich_ring():
    r = run(["mpicc.mpich", "-std=c11", "-D_GNU_SOURCE", "-O1", "-g", "-o", "ring-mpich",
             os.path.join(os.environ["TOP"], "workloads/ring.c")]) if shutil.which("mpicc.mpich") else None
    return os.path.join(HERE, "ring-mpich") if r and r.code == 0 else None


def right(name, folder, truth, job, launcher):
    """A trace of four ranks on both nodes with the right numbers, and its job's id in the report."""
    rep = report(folder) if len(traces(folder)) == 4 else None
    if not check(name + ": a file a rank in one folder", rep, "%d files in %s" % (len(traces(folder)), folder)):
        return
    with open(truth) as f:
        wrong = differences(json.load(f), rep)
    check(name + ": its numbers", not wrong, "; ".join(wrong[:8]))
    check(name + ": the job's id", rep["job"]["batch"] == job and
          job in run([HPCTOP, "report", "--all", folder]).out, rep["job"])
    if len(rep["job"]["hosts"]) == 2:
        check(name + ": both nodes", sorted(rep["job"]["hosts"]) == list(NODES), rep["job"]["hosts"])
    record("launchers", rep["job"]["mpi"], "C", "-", launcher, release(), "failed" if wrong else "passed", "; ".join(wrong[:1]))


def under_srun(pmi, program):
    name, truth = "srun --mpi=" + pmi, os.path.join(HERE, pmi + ".json")
    r = step([HPCTOP, "record", "-o", pmi, "--", "srun", "--mpi=" + pmi, "-N2", "-n4", program], dict(os.environ, TRUTH=truth))
    if check(name + " runs", r.code == 0, r):
        right(name, pmi, truth, report(pmi)["job"]["id"].split(".")[0], name)
    r = step([HPCTOP, "record", "-o", "four", "--", "srun", "-n1", "sh", "-c", "exit 4"])
    check(name + ": exit status", r.code == 4, r)


def analyzed(pmi, folder):
    """srun starts hpctop itself on both nodes: the index is that of one process."""
    alone = run([HPCTOP, "analyze", "-j", "1", folder])
    with open(os.path.join(folder, "index/analysis"), "rb") as f:
        one = f.read()
    shutil.rmtree(os.path.join(folder, "index"))
    done = step(["srun", "--mpi=" + pmi, "-N2", "-n3", HPCTOP, "analyze", folder])
    with open(os.path.join(folder, "index/analysis"), "rb") as f:
        check("srun --mpi=%s hpctop analyze" % pmi, alone.code == 0 and done.code == 0 and f.read() == one and
              done.out == alone.out and not done.err, done)


def under_sbatch():
    ring = workload("ring")
    with open("job.sh", "w") as f:
        f.write("#!/bin/bash\n#SBATCH -N2 -n4 -o out\nTRUTH={0}/one.json srun --mpi=pmix {1} || exit 1\n"
                "TRUTH={0}/two.json mpirun -n 4 --map-by node {1} || exit 2\nexit 5\n".format(HERE, ring))
    r = step([HPCTOP, "record", "--", "sbatch", "--parsable", "--wait", "job.sh"])
    out = open("out").read() if os.path.exists("out") else "no output"
    if not check("sbatch: exit status", r.code == 5, "%s %s" % (r, out)):
        return
    job = r.out.strip()
    folders = sorted((d for d in os.listdir(".") if d.startswith("hpctop-")), key=lambda d: traces(d)[0:1] and os.path.getmtime(traces(d)[0]))
    if check("sbatch: a folder for each launch", len(folders) == 2 and folders[0] == "hpctop-%s.0" % job, folders):
        right("sbatch, srun", folders[0], "one.json", job, "sbatch, srun --mpi=pmix")
        right("sbatch, mpirun", folders[1], "two.json", job, "sbatch, mpirun")
    r = step([HPCTOP, "record", "-o", "named", "--", "sbatch", "--parsable", "--wait", "--export=NONE", "--wrap",
             "PATH=%s srun --mpi=pmix -n4 %s" % (os.environ["PATH"], ring), "-N2", "-n4", "-o", "out"])
    check("sbatch --export=NONE --wrap, into a named folder", len(traces("named")) == 4, "%s %s" % (r, open("out").read()))


def as_the_readme_says():
    os.mkdir("readme")
    shutil.copy(workload("ring"), "readme/ring")
    with open("readme/job.sh", "w") as f:
        f.write("#!/bin/bash\n#SBATCH -N2 -n4\nsrun --mpi=pmix ./ring\n")
    commands = readme_commands("slurm")
    check("README has commands for Slurm", len(commands) >= 2, commands)
    before = 0
    for command in commands:
        r = step(["bash", "-c", command], dict(os.environ, PATH=os.path.dirname(HPCTOP) + ":" + os.environ["PATH"]), cwd="readme")
        count = sum(len(files) for _, _, files in os.walk("readme"))
        check("README: " + command, r.code == 0 and count >= before + 4, r)
        before = count


if not cluster():
    logs = " ".join(open(f, errors="replace").read()[-300:] for f in sorted(os.listdir(".")) if f.endswith(".log"))
    check("the cluster comes up", False, logs)
    end()
pmix = run(["srun", "--mpi=list"])
pmix = "pmix" in pmix.out + pmix.err
if pmix:
    under_srun("pmix", workload("ring"))
    analyzed("pmix", "pmix")
ring = mpich_ring()
if ring:
    under_srun("pmi2", ring)
    analyzed("pmi2", "pmi2")
else:
    skip("srun --mpi=pmi2", "no mpicc.mpich here")
if pmix:
    under_sbatch()
    as_the_readme_says()
else:
    skip("srun --mpi=pmix, sbatch", "this Slurm has no plugin for PMIx")
end()
