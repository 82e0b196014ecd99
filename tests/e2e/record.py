# timeout: 120
"""hpctop record: what it makes of a command line (--dry-run, over stand-ins of launchers and runtimes that are not
installed), what it refuses, and real jobs under the launchers that are."""
import json
import os
import re
import shlex
import shutil
import signal
import stat
import subprocess

from common import HPCTOP, LIBTRACE, TOP, check, end, hpctop, release, report, run, skip, start, stop, traces, wait_for, workload
from compare import differences
from results import record

LIB = os.path.realpath(LIBTRACE)
STANDINS = os.path.abspath("bin")
HERE = os.getcwd()
DIR = os.path.join(HERE, "t")


def stand_in(name, says):
    os.makedirs(STANDINS, exist_ok=True)
    path = os.path.join(STANDINS, name)
    with open(path, "w") as f:
        f.write("#!/usr/bin/env perl\nprint \"%s\\n\";\n" % says)
    os.chmod(path, 0o755)


def environment(**more):
    env = {k: v for k, v in os.environ.items() if k not in ("LD_PRELOAD", "HPCTOP_DIR") and not k.startswith("HPCTOP_")}
    env["PATH"] = STANDINS + ":" + env["PATH"]
    env.update(more)
    return env


def plan(command, **env):
    """What --dry-run prints, as (environment, words)."""
    r = hpctop("record", "-n", "-o", "t", "--", *shlex.split(command), env=environment(**env))
    if r.code != 0:
        return None, r
    words = shlex.split(r.out.replace("\\\n", ""))
    settings = {}
    while words and "=" in words[0] and words[0].split("=")[0].isidentifier():
        name, value = words.pop(0).split("=", 1)
        settings[name] = value
    return settings, " ".join(words)


X = "-x LD_PRELOAD=%s -x HPCTOP_DIR=%s" % (LIB, DIR)
GENV = "-genv LD_PRELOAD %s -genv HPCTOP_DIR %s" % (LIB, DIR)
ENV = "LD_PRELOAD=%s HPCTOP_DIR=%s" % (LIB, DIR)
EXPORT = "LD_PRELOAD=%s,HPCTOP_DIR=%s" % (LIB, DIR)
OURS = {"LD_PRELOAD": LIB, "HPCTOP_DIR": DIR}
INSIDE = {p + k: v for p in ("APPTAINERENV_", "SINGULARITYENV_") for k, v in OURS.items()}
BIND = {p + "_BIND": "%s,%s" % (LIB, DIR) for p in ("APPTAINER", "SINGULARITY")}
MORE = "".join(" -x %s=%s" % (k, v) for k, v in sorted({**INSIDE, **BIND}.items()))
MAKES = "sh -c mkdir -p \"$0\"; exec \"$@\" " + DIR  # the folder, before a runtime binds it

# Name, command, what is to become of it, what is to be in the environment, and what is there already.
PLANS = [
    ("a program alone", "true a", "true a", OURS, {}),
    ("a value that is there stays", "true", "true", {**OURS, "LD_PRELOAD": "/foo.so:" + LIB}, {"LD_PRELOAD": "/foo.so"}),
    ("preloaded already", "true", "true", OURS, {"LD_PRELOAD": LIB}),
    ("other options of ours go too", "mpiexec.hydra -n 2 true", "mpiexec.hydra %s -genv HPCTOP_LIMIT 1M -n 2 true" % GENV, {},
     {"HPCTOP_LIMIT": "1M"}),
    ("Open MPI by its name", "orterun -n 4 --map-by node true", "orterun %s -n 4 --map-by node true" % X, {}, {}),
    ("Open MPI by what it says", "mpirun -n 1 true", "mpirun %s -n 1 true" % X, {}, {}),
    ("Open MPI, two programs", "mpirun -n 1 true : -n 2 false", "mpirun %s -n 1 true : %s -n 2 false" % (X, X), {}, {}),
    ("Open MPI, the user's own preload", "orterun -x LD_PRELOAD=/foo.so -n 1 true",
     "orterun -x HPCTOP_DIR=%s -x LD_PRELOAD=/foo.so:%s -n 1 true" % (DIR, LIB), {}, {}),
    ("Open MPI, the user's own preload by name", "orterun -x LD_PRELOAD -n 1 true",
     "orterun -x HPCTOP_DIR=%s -x LD_PRELOAD=/foo.so:%s -n 1 true" % (DIR, LIB), {}, {"LD_PRELOAD": "/foo.so"}),
    ("Open MPI, a list instead of -x", "orterun --mca mca_base_env_list A=1 true",
     "orterun --mca mca_base_env_list A=1;LD_PRELOAD=%s;HPCTOP_DIR=%s true" % (LIB, DIR), {}, {}),
    ("Open MPI, a list in the environment", "orterun true", "orterun true",
     {"OMPI_MCA_mca_base_env_list": "A=1;LD_PRELOAD=%s;HPCTOP_DIR=%s" % (LIB, DIR)}, {"OMPI_MCA_mca_base_env_list": "A=1"}),
    ("Hydra", "mpiexec.hydra -n 2 true", "mpiexec.hydra %s -n 2 true" % GENV, {}, {}),
    ("Hydra by what it says", "mpiexec -n 2 true", "mpiexec %s -n 2 true" % GENV, {}, {}),
    ("Hydra, the user's own preload", "mpiexec.hydra -genv LD_PRELOAD /foo.so true",
     "mpiexec.hydra -genv HPCTOP_DIR %s -genv LD_PRELOAD /foo.so:%s true" % (DIR, LIB), {}, {}),
    ("mpirun_rsh", "mpirun_rsh -np 2 h1 h2 A=1 true", "mpirun_rsh -np 2 h1 h2 A=1 %s true" % ENV, {}, {}),
    ("srun", "srun -n 2 true", "srun --export=ALL,%s -n 2 true" % EXPORT, {}, {}),
    ("srun, NONE", "srun --export=NONE true", "srun --export=%s true" % EXPORT, {}, {}),
    ("srun, a list of the user's", "srun --export A,LD_PRELOAD=/foo.so true",
     "srun --export A,LD_PRELOAD=/foo.so:%s,HPCTOP_DIR=%s true" % (LIB, DIR), {}, {}),
    ("srun, a list in the environment", "srun true", "srun --export=A,%s true" % EXPORT, {}, {"SLURM_EXPORT_ENV": "A"}),
    ("jsrun", "jsrun -n 2 true", "jsrun -E LD_PRELOAD=%s -E HPCTOP_DIR=%s -n 2 true" % (LIB, DIR), {}, {}),
    ("aprun", "aprun -n 2 -N 1 true", "aprun -e LD_PRELOAD=%s -e HPCTOP_DIR=%s -n 2 -N 1 true" % (LIB, DIR), {}, {}),
    ("aprun, two programs", "aprun -n 1 true : -n 2 false",
     "aprun -e {0} -e {1} -n 1 true : -e {0} -e {1} -n 2 false".format(*ENV.split()), {}, {}),
    ("flux run", "flux run -N 2 -n 2 true", "flux run --env=LD_PRELOAD=%s --env=HPCTOP_DIR=%s -N 2 -n 2 true" % (LIB, DIR), {}, {}),
    ("flux, not to be started", "flux jobs", "flux jobs", OURS, {}),
    ("ibrun, at its place in the node", "ibrun -n 2 -o 4 true", "ibrun -n 2 -o 4 env %s true" % ENV, {}, {}),
    ("ibrun", "ibrun -n 2 true", "ibrun -n 2 env %s true" % ENV, {}, {}),
    ("horovodrun", "horovodrun --verbose -np 2 -H a:1,b:1 true", "horovodrun --verbose -np 2 -H a:1,b:1 env %s true" % ENV, {}, {}),
    ("wrappers before and behind", "timeout -s KILL 9 env A=1 orterun -n 1 nice -n 5 true",
     "timeout -s KILL 9 env A=1 orterun %s -n 1 nice -n 5 true" % X, {}, {}),
    ("an emptied environment", "orterun -n 1 env -i true", "orterun -n 1 env -i %s true" % ENV, {}, {}),
    ("an option that nobody knows", "orterun --no-such-option value true", "orterun %s --no-such-option value true" % X, {}, {}),
    ("a script", "sh -c true", "sh -c true", {**OURS, **INSIDE, **BIND}, {}),
    ("Apptainer", "apptainer exec -B /data i.sif ./app", "apptainer exec -B /data i.sif ./app", {**INSIDE, **BIND}, {}),
    ("Apptainer, the user's own values", "apptainer exec i.sif ./app", "apptainer exec i.sif ./app",
     {"APPTAINERENV_LD_PRELOAD": "/foo.so:" + LIB, "APPTAINER_BIND": "/data,%s,%s" % (LIB, DIR),
      "SINGULARITY_BIND": "/data,%s,%s" % (LIB, DIR)}, {"SINGULARITYENV_LD_PRELOAD": "/foo.so", "SINGULARITY_BIND": "/data"}),
    ("Apptainer, not to be started", "apptainer build i.sif", "apptainer build i.sif", OURS, {}),
    ("MPI inside the container", "apptainer exec i.sif mpirun -n 2 ./app", "apptainer exec i.sif mpirun -n 2 ./app",
     {**INSIDE, **BIND}, {}),
    ("a launcher of containers", "mpiexec.hydra -n 2 podman run --rm image ./app",
     "mpiexec.hydra -n 2 %s podman run -v {0}:{0} -v {1}:{1} -e LD_PRELOAD={1} -e HPCTOP_DIR={0} -e HPCTOP_IMAGE=image --rm image ./app".format(DIR, LIB) % MAKES,
     {}, {"LD_PRELOAD": "/outside.so"}),
    ("a launcher of Apptainer that hands no variables on", "ibrun apptainer exec i.sif ./app",
     "ibrun env %s %s apptainer exec i.sif ./app" % (" ".join("%s=%s" % pair for pair in {**INSIDE, **BIND}.items()), MAKES), {}, {}),
    ("a launcher of Charliecloud", "ibrun ch-run image -- ./app", "ibrun %s ch-run -b {0}:{0} -b {1}:{1} --set-env=LD_PRELOAD={1} "
     "--set-env=HPCTOP_DIR={0} image -- ./app".format(DIR, LIB) % MAKES, {}, {}),
    ("Charliecloud", "ch-run image -- ./app", "ch-run -b {0}:{0} -b {1}:{1} --set-env=LD_PRELOAD={1} --set-env=HPCTOP_DIR={0} "
     "image -- ./app".format(DIR, LIB), {}, {}),
    ("Shifter", "shifter --image=x ./app", "shifter --volume={0}:{0} --volume={1}:{1} --env=LD_PRELOAD={1} "
     "--env=HPCTOP_DIR={0} --image=x ./app".format(DIR, LIB), {}, {}),
]


def plans():
    stand_in("mpirun", "mpirun (Open MPI) 5.0.7")
    stand_in("orterun", "")
    stand_in("mpiexec", "HYDRA build details:")
    for name in ("mpiexec.hydra", "mpirun_rsh", "srun", "sbatch", "jsrun", "aprun", "flux", "ibrun", "horovodrun", "apptainer", "podman", "ch-run",
                 "shifter"):
        stand_in(name, "")
    for name, command, want, settings, present in PLANS:
        seen, words = plan(command, **present)
        check("plan: " + name, seen is not None and words == want and
              all(seen.get(k) == v for k, v in settings.items()) and (settings or not seen), "%s %s" % (seen, words))
    seen, words = plan("orterun -n 2 apptainer exec i.sif ./app")
    check("plan: a launcher of Apptainer", seen == {} and words.endswith(" -n 2 %s apptainer exec i.sif ./app" % MAKES) and
          sorted(words.split(" -n 2 ")[0].split(" -x ")[1:]) == sorted(MORE.split(" -x ")[1:]), words)
    with open("job.sh", "w") as f:
        f.write("#!/bin/sh\n#SBATCH --export=A,B\nsrun true\n")
    seen, words = plan("sbatch job.sh")
    check("plan: sbatch, with what the script says", words.startswith("sbatch --export=A,B,%s," % EXPORT) and
          words.endswith(" job.sh") and seen == BIND, "%s %s" % (seen, words))
    r = hpctop("record", "--dry-run", "--", "sbatch", "job.sh", env=environment())
    check("plan: each job of a script has its own folder", r.code == 0 and "LD_PRELOAD" in r.out and "HPCTOP_DIR" not in r.out, r)
    check("plan: nothing is made", not os.path.exists("t"))


# Launchers that Debian does not have, as their manuals have it: what stands before the program, which options have values,
# and how a variable gets into the program's environment.  Theirs is another machine: nothing else of ours gets there.
LAUNCHER = r"""#!/usr/bin/env python3
import getopt, os, re, subprocess, sys
name, words, given = os.path.basename(sys.argv[0]), sys.argv[1:], []
if "libtrace" in os.environ.get("LD_PRELOAD", ""):
    sys.exit(name + " itself has libtrace.so")
if name == "jsrun":    # -E VARIABLE=VALUE, again and again
    options, words = getopt.getopt(words, "n:p:a:c:g:r:d:b:E:h:k:o:t:l:M:", ["nrs=", "np=", "tasks_per_rs=", "cpu_per_rs=", "env=", "bind="])
    given = [v for o, v in options if o in ("-E", "--env")]
elif name == "aprun":  # -e VARIABLE=VALUE
    options, words = getopt.getopt(words, "n:N:d:S:j:m:L:e:bq", ["cc="])
    given = [v for o, v in options if o == "-e"]
elif name == "flux":   # --env=VARIABLE=VALUE after the subcommand
    assert words.pop(0) == "run"
    options, words = getopt.getopt(words, "n:N:c:g:t:q:o:lv", ["ntasks=", "nodes=", "cores-per-task=", "env=", "time-limit="])
    given = [v for o, v in options if o == "--env"]
elif name == "ibrun":  # whatever it hands on itself, the program is a command line
    options, words = getopt.getopt(words, "n:o:")
elif name == "mpirun_rsh":  # hosts one by one unless they are in a file, then VARIABLE=VALUE, then the program
    if "-hostfile" not in words:
        hosts = int(words[words.index("-np") + 1])
        words = words[2 + hosts:]
    else:
        words = words[4:]
    while re.match(r"\w+=", words[0]):
        given.append(words.pop(0))
there = {k: v for k, v in os.environ.items() if not re.match("LD_|HPCTOP_", k)}
there.update(g.split("=", 1) for g in given)
sys.exit(subprocess.call(words, env=there))
"""


def carried():
    """The variables come through, to the program alone: of one rank that each of them starts there is a trace."""
    os.makedirs("launchers")
    for name in ("jsrun", "aprun", "flux", "ibrun", "mpirun_rsh"):
        with open("launchers/" + name, "w") as f:
            f.write(LAUNCHER)
        os.chmod("launchers/" + name, 0o755)
    open("hosts", "w").close()
    env = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}
    env["PATH"] = os.path.abspath("launchers") + ":" + env["PATH"]
    for command in ("jsrun -n 2 -a 1 -c 4 -b packed:4", "jsrun --np=2", "aprun -n 2 -N 1 -d 2", "flux run -N 1 -n 2 --time-limit=10",
                    "ibrun", "ibrun -n 2 -o 4", "mpirun_rsh -np 2 h1 h2", "mpirun_rsh -np 2 -hostfile hosts A=1"):
        folder = os.path.abspath("carried-" + command.replace(" ", "_").replace("=", "_"))
        r = run([HPCTOP, "record", "-o", folder, "--"] + command.split() + [workload("selfcall"), "rank", "1000"], env)
        rep = report(folder) if r.code == 0 and traces(folder) else None
        check("carried by " + command, rep is not None and rep["job"]["ranks"] == 1 and
              any(c["name"] == "MPI_Comm_rank" and c["calls"] >= 1000 for c in rep["calls"]), r)


def systems():
    """Each command of docs/systems.md gets libtrace.so to its program, and each test that is named there exists."""
    with open(os.path.join(TOP, "docs/systems.md")) as f:
        text = f.read()
    commands = re.findall(r"`hpctop record -o traced -- ([^`]+)`", text)
    check("docs/systems.md has commands", len(commands) >= 7, commands)
    for name in ("ibrun", "jsrun", "shifter", "singularity", "srun", "horovodrun"):
        stand_in(name, name)
    for command in commands:
        settings, words = plan(command)
        check("docs/systems.md: " + command.split()[0], settings is not None and
              LIB in words + " ".join(v for k, v in settings.items() if k.endswith("_LD_PRELOAD") or k == "APPTAINERENV_LD_PRELOAD"), words)
        runtime = re.search(r"\b(?:apptainer|singularity) exec", words)
        check("docs/systems.md: %s: an image gets it from before its runtime" % command.split()[0], not runtime or
              LIB not in words[runtime.end():], words)
        check("docs/systems.md: %s: its launcher has it not" % command.split()[0], settings is not None and "LD_PRELOAD" not in settings, settings)
    missing = [name for name in set(re.findall(r"`(e2e/[a-z]+)`", text)) if not os.path.exists(os.path.join(TOP, "tests", name + ".py"))]
    check("docs/systems.md names tests that exist", not missing, missing)


def refusals():
    def refused(name, code, word, arguments, **env):
        r = hpctop("record", *arguments, env=environment(**env))
        check("refuses: " + name, r.code == code and word in r.err and len(r.err.strip().splitlines()) == 1 and not r.out, r)

    refused("no command", 64, "needs a command", [])
    refused("an unknown option", 64, "--no-such-option", ["--no-such-option", "--", "true"])
    refused("-o without a folder", 64, "-o", ["-o"])
    refused("no libtrace.so", 2, "/no/such/libtrace.so", ["--", "true"], HPCTOP_LIBTRACE="/no/such/libtrace.so")
    refused("ssh", 2, "ssh HOST .. hpctop record -- COMMAND", ["--", "env", "A=1", "ssh", "host", "mpirun", "-n", "2", "./app"])
    open("file", "w").close()
    refused("a folder that cannot be made", 2, "file/t", ["-o", "file/t", "--", "true"])
    prefix = os.path.join(HERE, "suid")
    os.makedirs(prefix + "/bin")
    os.makedirs(prefix + "/libexec/apptainer/bin")
    shutil.copy(os.path.join(STANDINS, "apptainer"), prefix + "/bin/apptainer")
    starter = prefix + "/libexec/apptainer/bin/starter-suid"
    open(starter, "w").close()
    os.chmod(starter, 0o755)
    command = ["-n", "--", prefix + "/bin/apptainer", "exec", "--cleanenv", "i.sif", "./app"]
    r = hpctop("record", *command, env=environment())
    check("--cleanenv without a setuid starter", r.code == 0, r)
    os.chmod(starter, stat.S_ISUID | 0o755)
    refused("--cleanenv with a setuid starter", 2, "--cleanenv", command)
    refused("--containall with a setuid starter", 2, "--containall", command[:4] + ["--containall"] + command[5:])
    r = hpctop("record", *(command[:4] + ["--userns"] + command[4:]), env=environment())
    check("--cleanenv with --userns", r.code == 0, r)
    with open("whole.c", "w") as f:
        f.write("int main(void){return 0;}\n")
    with open("inside.c", "w") as f:
        f.write("int PMPI_Init(void*a,void*b){return a==b;}\nint main(void){return PMPI_Init(0,0)!=1;}\n")
    if run(["cc", "-static", "-o", "whole", "whole.c"]).code == 0:
        refused("a static program", 2, "static", ["--", "orterun", "-n", "1", "./whole"])
    else:
        skip("refuses: a static program", "no static libc here")
    if check("a program with MPI in it", run(["cc", "-o", "inside", "inside.c"]).code == 0):
        refused("static MPI", 2, "static", ["--", "orterun", "-n", "1", "./inside"])


def quiet_lines(text):
    """The lines that hpctop has printed."""
    return [line for line in text.splitlines() if line.startswith("hpctop: ")]


def ends():
    """What record says at the end, and how it ends."""
    ring = workload("ring")
    r = run([HPCTOP, "record", "-o", "told", "--", "mpirun", "-n", "2", ring])
    said = quiet_lines(r.err)
    check("the end says how the job went, and how to look", r.code == 0 and 2 <= len(said) - 1 <= 5 and
          said[-1] == "hpctop: look with: hpctop told" and r.err.splitlines()[-1] == said[-1], r)
    check("the end has the headline of the report", said[1][len("hpctop: "):] in " ".join(hpctop("report", "--all", "told").out.split()), said)
    for turn in range(5):  # a run that waits for a processor is a longer one
        if "nothing stands out: too short" in said[1]:
            break
        said = quiet_lines(run([HPCTOP, "record", "-o", "told-%d" % turn, "--", "mpirun", "-n", "2", ring]).err)
    check("a run of milliseconds has no culprit", "nothing stands out: too short" in said[1], said)
    r = run([HPCTOP, "record", "-q", "-o", "silent", "--", "mpirun", "-n", "2", ring])
    check("-q says nothing", r.code == 0 and not quiet_lines(r.err) and traces("silent"), r)
    r = run([HPCTOP, "record", "-o", "fails", "--", "mpirun", "-n", "2", "sh", "-c", ring + "; exit 4"])
    check("the command failed, MPI did not", r.code == 4 and "the command failed, though its ranks ended MPI in order" in r.err, r)
    code = "import sys; from mpi4py import MPI; sys.exit(3 if MPI.COMM_WORLD.rank else 0)"
    r = run([HPCTOP, "record", "-o", "exits", "--", "mpirun", "-n", "2", "/usr/bin/python3", "-c", code])
    check("an exit code after MPI_Finalize", r.code == 3 and "rank 1 ended with exit code 3 after MPI_Finalize" in r.err, r)
    code = "import atexit, os; from mpi4py import MPI; atexit.register(lambda: MPI.COMM_WORLD.rank or (MPI.Finalize(), os.abort()))"
    r = run([HPCTOP, "record", "-o", "aborts", "--", "mpirun", "-n", "2", "/usr/bin/python3", "-c", code])
    check("a crash after MPI_Finalize", r.code and "rank 0 crashed by SIGABRT after MPI_Finalize" in r.err, r)
    code = ("import sys, time\nfrom mpi4py import MPI\nc = MPI.COMM_WORLD\nfor i in range(60):\n"
            "    time.sleep(.03 if c.rank else .002)\n    c.allreduce(1)\nsys.exit(3 if c.rank else 0)")
    r = run([HPCTOP, "record", "-o", "late", "--", "mpirun", "-n", "2", "/usr/bin/python3", "-c", code])
    check("an exit code after MPI_Finalize, and a late rank", r.code == 3 and "rank 1 is late" in r.err and
          "rank 1 ended with exit code 3 after MPI_Finalize" in r.err, r)
    r = run([HPCTOP, "record", "-o", "dies", "--", "mpirun", "-n", "2", workload("exit_no_finalize")])
    check("ranks that end without MPI_Finalize are the reason", r.code and "in order" not in r.err and "without MPI_Finalize" in r.err, r)
    r = run([HPCTOP, "record", "-o", "none", "--", "true"])
    check("nothing recorded: why", r.code == 0 and "nothing was recorded: no call" in r.err and "true is not linked" in r.err, r)
    r = run([HPCTOP, "record", "-o", "none", "--", "false"])
    check("nothing recorded: the command failed", r.code == 1 and "the command failed before" in r.err, r)
    r = run([HPCTOP, "record", "-o", "none", "--", "mpirun", "-n", "3", "true"])
    check("nothing recorded: as many processes ran the same", r.code == 0 and "true is not linked with them: 3 processes ran the same\n" in r.err, r)
    os.makedirs("two")
    r = run([HPCTOP, "record", "--", "sh", "-c", "mpirun -n 1 %s && mpirun -n 2 %s" % (ring, ring)], cwd="two")
    folders = [n for n in os.listdir("two") if n.startswith("hpctop-")]
    check("a script: each job", len(folders) == 2 and all("look with: hpctop %s\n" % f in r.err for f in folders), r)
    os.makedirs("four")
    r = run([HPCTOP, "record", "--", "sh", "-c", "; ".join(["mpirun -n 1 %s" % ring] * 4)], cwd="four")
    said = [line for line in quiet_lines(r.err) if "goes to" not in line and "go to" not in line]
    check("a script of four jobs: five lines", len(said) == 5 and said[-1] == "hpctop: and 2 more jobs in hpctop-*", r)
    r = run([HPCTOP, "record", "--", "sh", "-c", "mpirun -n 2 %s" % ring], cwd="two")
    check("a script: not the jobs before it", r.err.count("look with") == 1, r)
    r = run([HPCTOP, "record", "-q", "--", "sh", "-c", "kill -TERM $$"])
    check("the command's signal ends record, too", r.code == -signal.SIGTERM, r)

    def started(script):
        p = subprocess.Popen([HPCTOP, "record", "-q", "--", "sh", "-c", script], stdout=subprocess.PIPE)
        return p, int(p.stdout.readline())

    for number in (signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2):  # INT and HUP may be ignored where tests run
        name = number.name[3:]
        p, _ = started("trap 'exit 9' %s; echo $$; while :; do sleep 0.05; done" % name)
        p.send_signal(number)
        check("%s is forwarded" % number.name, p.wait(60) == 9)
    p, child = started("echo $$; exec sleep 1000")
    p.kill()
    p.wait(60)
    check("the command does not outlive record", wait_for(lambda: not os.path.exists("/proc/%d" % child) or
                                                         " Z " in open("/proc/%d/stat" % child).read()))


EVIDENCE = {"stacks.txt": "where they part", "verdict.txt": "tag 8", "report.html": "<html"}


def evidence(name, folder):
    for file, word in EVIDENCE.items():
        path = os.path.join(folder, file)
        text = open(path).read() if os.path.exists(path) else "missing"
        check("%s: %s" % (name, file), word in text, text[:300])


def alarms():
    """A job that hangs: what is written, and what ends it; one that waits is left alone."""
    r = run([HPCTOP, "record", "-o", "hung", "--kill-hung", "2", "--", "mpirun", "-n", "4", workload("hang_modes"), "tag"])
    check("--kill-hung ends a job that hangs, by SIGTERM", r.code not in (0, None) and
          re.search(r"hpctop: hung for \d+ s, and ended; \S+/hung has ", r.err), r)
    evidence("--kill-hung", "hung")
    r = run([HPCTOP, "record", "-o", "waits", "--kill-hung", "1", "--", "mpirun", "-n", "2", workload("hang_not"), "compute", "4"])
    check("--kill-hung leaves a job that waits", r.code == 0 and "hung for" not in r.err, r)
    for on in ("ended", "hung"):
        folder = os.path.abspath("on-" + on)
        job = start(4, [workload("hang_modes"), "tag"] if on == "hung" else workload("ring"), folder)
        wait_for(lambda: len(traces(folder)) == 4)
        watch = subprocess.Popen([HPCTOP, "watch", "--every", "0.3", "--on", on, 'echo "$1: $2" >said', folder], stdout=subprocess.DEVNULL)
        said = wait_for(lambda: open("said").read() if os.path.exists("said") and os.path.getsize("said") else None)
        check("watch --on %s runs the command" % on, said and said.startswith(folder + ": ") and (on == "ended" or "tag 8" in said), said)
        stop(job)
        watch.wait()
        os.remove("said")
    evidence("watch --on hung", "on-hung")
    job = start(2, [workload("hang_not"), "compute", "4"], os.path.abspath("on-wait"))
    wait_for(lambda: len(traces("on-wait")) == 2)
    r = hpctop("watch", "--every", "0.3", "--on", "hung", "echo alarm >said", "on-wait")
    check("watch --on hung leaves a job that waits", not os.path.exists("said") and not os.path.exists("on-wait/verdict.txt") and
          r.out, r)
    stop(job)
    code = ("import time\nfrom mpi4py import MPI\nc = MPI.COMM_WORLD\nwhile True:\n"
            "    time.sleep(.03 if c.rank else .002)\n    c.allreduce(1)")
    job = start(2, ["/usr/bin/python3", "-c", code], os.path.abspath("on-slow"))
    wait_for(lambda: len(traces("on-slow")) == 2)
    watch = subprocess.Popen([HPCTOP, "watch", "--every", "0.3", "--on", "slow", 'ls "$1" >listed; echo "$2" >said', "on-slow"],
                             stdout=subprocess.DEVNULL)
    said = wait_for(lambda: open("said").read() if os.path.exists("said") and os.path.getsize("said") else None)
    listed = open("listed").read().split() if said else []
    check("watch --on slow: the evidence is there before the command runs", said and "rank 1" in said and
          set(EVIDENCE) <= set(listed), (said, listed))
    stop(job)
    watch.wait()


def running():
    """Without a trace folder: the jobs of this machine."""
    os.makedirs("empty")
    other = start(2, ["sh", "-c", "sleep 1000; true"], preload=False)
    seen = start(2, [workload("stencil"), "100000000"], os.path.abspath("seen"))
    line = "hpctop %s\n" % os.path.abspath("seen")

    def listed():
        r = hpctop(cwd="empty")
        return r if line in r.err and "2 ranks of sleep" in r.err else None

    r = wait_for(listed) or hpctop(cwd="empty")
    check("a recorded job here", r.code == 2 and re.search(r"^  2 ranks of stencil \(pid \d+\) since \d\d:\d\d:\d\d: " + re.escape(line),
                                                           r.err, re.M), r)
    check("a job here that is not recorded", re.search(r"^  2 ranks of sleep .*: not recorded$", r.err, re.M), r)
    stop(other)
    stop(seen)


def commands():
    for words in (["mpirun", "-n", "2", "./a"], [workload("ring")]):
        r = hpctop(*words)
        check("a command in place of a folder: " + words[0], r.code == 64 and
              "did you mean hpctop record -- %s?" % " ".join(words) in r.err, r)


def jobs():
    r = run([HPCTOP, "record", "-o", "seven", "--", "sh", "-c", "echo out; echo err >&2; exit 7"])
    check("exit status and output are the command's", r.code == 7 and r.out == "out\n" and r.err.splitlines()[1] == "err", r)
    check("it says where the trace goes", os.path.join(HERE, "seven") in r.err.splitlines()[0], r)
    check("of an earlier job it says nothing, for there is none", "earlier" not in r.err, r.err)
    check("without a rank it leaves no folder", not os.path.exists("seven"))
    os.makedirs("of/mine")
    r = run([HPCTOP, "record", "-o", "of/mine/a/b", "--", "false"])
    check("nor one of those above it", r.code == 1 and os.listdir("of/mine") == [], (r, os.listdir("of/mine")))
    r = run([HPCTOP, "record", "-o", "of/mine", "--", "false"])
    check("a folder that was there stays", os.path.isdir("of/mine"), r)
    r = run([HPCTOP, "record", "-o", "of/mine/c", "--", "sh", "-c", "echo '#!/no/such/shell' >bad; chmod +x bad; exec ./bad"])
    r = run([HPCTOP, "record", "-o", "of/mine/c", "--", "./bad"])
    check("nor does a command that cannot be started", r.code in (126, 127) and os.listdir("of/mine") == [], (r, os.listdir("of/mine")))
    os.makedirs("seven")
    open(os.path.join("seven", "left.hpctop"), "w").close()
    r = run([HPCTOP, "record", "-o", "seven", "--", "true"])
    check("it says that the folder has traces already", "beside those of an earlier job" in r.err, r)
    r = run([HPCTOP, "record", "--", "./no-such-command"])
    check("a command that is not there", r.code == 127 and "no-such-command" in r.err, r)
    for launcher, compiler in (("mpirun.openmpi", None), ("mpiexec.hydra", "mpicc.mpich")):
        if not shutil.which(launcher) or (compiler and not shutil.which(compiler)):
            skip("a job under " + launcher, "not installed")
            continue
        ring = workload("ring")
        if compiler:
            source = os.path.join(os.environ["TOP"], "workloads/ring.c")
            r = run([compiler, "-std=c11", "-D_GNU_SOURCE", "-O1", "-g", "-o", "ring-" + compiler, source])
            if not check("ring with " + compiler, r.code == 0, r):
                continue
            ring = "./ring-" + compiler
        truth = os.path.join(HERE, launcher + ".json")
        r = run([HPCTOP, "record", "-o", launcher, "--", launcher, "-n", "2", ring], dict(os.environ, TRUTH=truth))
        if check("a job under " + launcher, r.code == 0 and len(traces(launcher)) == 2, r):
            with open(truth) as f:
                rep = report(launcher)
                wrong = differences(json.load(f), rep)
            check("its numbers under " + launcher, not wrong, "; ".join(wrong[:8]))
            record("launchers", rep["job"]["mpi"], "C", "-", launcher.split(".")[0] if compiler is None else launcher, release(),
                   "failed" if wrong else "passed", "; ".join(wrong[:1]))
        r = run([HPCTOP, "record", "-o", "three", "--", launcher, "-n", "1", "sh", "-c", "exit 3"])
        check("exit status through " + launcher, r.code == 3, r)
    r = run([HPCTOP, "record", "--", "sh", "-c", "mpirun.openmpi -n 2 %s && mpirun.openmpi -n 2 %s" % ((workload("ring"),) * 2)])
    folders = [d for d in os.listdir(".") if d.startswith("hpctop-")]
    check("a script with two jobs leaves two traces", r.code == 0 and len(folders) == 2 and
          all(len(traces(d)) == 2 for d in folders), "%s %s" % (folders, r))


plans()
carried()
systems()
refusals()
ends()
alarms()
running()
commands()
jobs()
end()
