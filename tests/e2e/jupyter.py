# timeout: 900
# long
"""The wheel in Jupyter: %%hpctop runs a cell as a recorded job, %hpctop shows report and page in the notebook, as nbconvert
executes them; an interrupted cell ends its job; a kernel that uses MPI itself is a job, and after a restart another one;
engines of ipyparallel under MPI are recorded."""
import glob
import html
import json
import os
import re

from common import TOP, check, end, environment, hpctop, make, report, run, skip, skip_all, traces, wait_for

PYTHON = "/usr/bin/python3"  # the one that Debian's packages are for
missing = run([PYTHON, "-c", "import nbconvert, ipykernel, mpi4py"])
if missing.code != 0:
    skip_all("Jupyter or mpi4py is missing: " + missing.err.strip()[-100:])
packages = os.path.abspath("packages")
made = make("wheel", "PACKAGES=" + packages)
wheel = glob.glob(packages + "/*.whl")
installed = run([PYTHON, "-m", "pip", "install", "-q", "--no-index", "--no-deps", "--target", "site"] + wheel)
if not check("the wheel is installed", made.code == 0 and len(wheel) == 1 and installed.code == 0, (made, installed)):
    end()
SITE = os.path.abspath("site")
RECORD = [SITE + "/hpctop/bin/hpctop", "record", "-q"]
ENV = {k: v for k, v in environment(preload=False, PYTHONPATH=SITE, JUPYTER_CONFIG_DIR=os.path.abspath("jupyter"),
                                    IPYTHONDIR=os.path.abspath("ipython")).items() if not k.startswith("HPCTOP_")}

ADDS = """%%hpctop -n 2 -- seven
import sys
from mpi4py import MPI
total = MPI.COMM_WORLD.allreduce(MPI.COMM_WORLD.rank + 1)
if MPI.COMM_WORLD.rank == 0:
    print("sum", total, sys.argv[1])"""
FAILS = """%%hpctop -n 2 -o failing
from mpi4py import MPI
MPI.COMM_WORLD.Barrier()
raise SystemExit(3)"""


def execute(name, cells, *options, prefix=()):
    """Runs a notebook; returns what nbconvert did and the outputs of each cell."""
    book = {"nbformat": 4, "nbformat_minor": 4, "metadata": {"kernelspec": {"name": "python3", "display_name": "Python 3"}},
            "cells": [{"cell_type": "code", "metadata": {}, "source": cell, "outputs": [], "execution_count": None} for cell in cells]}
    with open(name + ".ipynb", "w") as f:
        json.dump(book, f)
    done = run([*prefix, PYTHON, "-m", "nbconvert", "--to", "notebook", "--execute", *options, "--output", name + "-out", name + ".ipynb"],
               ENV, 300)
    if not os.path.exists(name + "-out.ipynb"):
        return done, [[]] * len(cells)
    with open(name + "-out.ipynb") as f:
        return done, [cell["outputs"] for cell in json.load(f)["cells"]]


def text(outputs):
    return "".join("".join(o.get("text", [])) + "\n".join(o.get("traceback", [])) for o in outputs)


def magics():
    done, out = execute("book", ["%load_ext hpctop", "%hpctop", ADDS, "%hpctop", "%hpctop report --all", FAILS, "%hpctop report",
                                 "%hpctop hpctop-cell-1", "%hpctop nonsense", "%%hpctop?"], "--allow-errors")
    check("the notebook runs", done.code == 0, done)
    check("before a first run it says that there is none", "nothing was recorded here yet" in text(out[1]), text(out[1]))
    check("the output of the cell's job is shown", "sum 3 seven\n" in text(out[2]), text(out[2]))
    check("so is what hpctop says of it", "look with: hpctop hpctop-cell-1" in text(out[2]), text(out[2]))
    check("the report is of the run", "hpctop-cell-1/cell.py seven" in text(out[3]), text(out[3]))
    check("another command is of it, too, and names the line of the cell", re.search(r"cell\.py:3", text(out[4])), text(out[4]))
    page = [o["data"] for o in out[3] if "text/html" in o.get("data", {})]
    frame = re.search('srcdoc="([^"]*)"', "".join(page[0]["text/html"])) if page else None
    data = re.search('<script[^>]* id="data">(.*?)</script>', html.unescape(frame.group(1)), re.S) if frame else None
    check("the page of the run is in the notebook", data and json.loads(data.group(1))["report"]["job"]["ranks"] == 2, page and page[0].keys())
    check("a job that fails is an error of the cell, in one line",
          [o["evalue"] for o in out[5] if o["output_type"] == "error"] in ([], ["the job ended with status 3; %hpctop has the report"])
          and "the job ended with status 3" in text(out[5]) and "Traceback" not in text(out[5]), out[5])
    check("the last run is the one that -o names", "failing/cell.py" in text(out[6]), text(out[6]))
    check("%hpctop DIR shows that run", "cell.py seven" in text(out[7]), text(out[7]))
    check("an unknown command is said so", "nonsense" in text(out[8]) and "Traceback" not in text(out[8]), text(out[8]))
    done, out = execute("stops", ["%load_ext hpctop", FAILS.replace("failing", "failing-2"), "open('later', 'w')"])
    check("a notebook stops at a job that fails", done.code != 0 and not os.path.exists("later"), done)


def in_kernel(script, *prefix):
    """Runs a script that has a kernel `k`, its manager `m` and `say(code)`, which prints status and output of a cell."""
    with open("client.py", "w") as f:
        f.write("""import atexit, os, threading, time
from jupyter_client.manager import start_new_kernel
m, k = start_new_kernel(kernel_name="python3")
atexit.register(m.shutdown_kernel, now=True)
def say(code):
    out = []
    reply = k.execute_interactive(code, timeout=100, output_hook=lambda o: out.append(o["content"].get("text", "")), allow_stdin=False, stop_on_error=False)
    print(reply["content"]["status"], "".join(out), flush=True)
""" + script)
    return run([*prefix, PYTHON, "client.py"], ENV, 150)


def is_alive(pid):
    try:
        with open("/proc/%d/stat" % pid) as f:
            return f.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def interrupt():
    done = in_kernel(r"""
def stop():
    while not os.path.exists("started"):
        time.sleep(0.1)
    m.interrupt_kernel()
say("%load_ext hpctop")
threading.Thread(target=stop, daemon=True).start()
say(r'''%%hpctop -n 2 -o interrupted
import os, time
from mpi4py import MPI
os.write(1, b"job %d\n" % os.getpid())
MPI.COMM_WORLD.Barrier()
if MPI.COMM_WORLD.rank == 0:
    open("started", "w").close()
    time.sleep(1000)
MPI.COMM_WORLD.Barrier()''')
say("print(1 + 1)")
""")
    pids = [int(pid) for pid in re.findall(r"job (\d+)", done.out)]
    check("an interrupted cell ends with its job", done.code == 0 and len(pids) == 2 and "the job was interrupted" in done.out and
          wait_for(lambda: not any(is_alive(pid) for pid in pids)), done)
    check("hpctop has looked at it", "look with: hpctop interrupted" in done.out, done)
    check("the kernel runs on", "ok 2" in done.out, done)


def restart():
    """Each kernel that starts MPI is a job of one rank."""
    use = "from mpi4py import MPI; MPI.COMM_WORLD.Barrier(); %sprint(MPI.COMM_WORLD.allreduce(5))"
    done = in_kernel("say(%r)\nm.restart_kernel(now=False)\nk.wait_for_ready(timeout=60)\nsay(%r)\n" %
                     (use % "MPI.COMM_WORLD.Barrier(); ", use % ""), *RECORD, "-o", "kernels", "--")
    job = report("kernels")
    check("each kernel has a trace file", done.code == 0 and done.out.count("ok 5") == 2 and len(traces("kernels")) == 2, done)
    barriers = [c["calls"] for c in job["calls"] if c["name"] == "MPI_Barrier"] if job else None
    check("a restarted kernel is a job of its own, the one that is shown", job and job["job"]["ranks"] == 1 and barriers == [1], (job and job["job"], barriers))
    said = " ".join(hpctop("report", "--all", "kernels").out.split())
    check("the report says that there was an earlier one", "1 file of an earlier run in the same folder left out" in said, said[-800:])


def engines():
    if run([PYTHON, "-c", "import ipyparallel"]).code != 0:
        skip("engines of ipyparallel", "ipyparallel is missing")
        return
    done, out = execute("engines", ["""import ipyparallel as ipp
cluster = ipp.Cluster(engine_launcher_class="mpi", n=2)
view = cluster.start_and_connect_sync()[:]
view.block = True""", """def work():
    from mpi4py import MPI
    return MPI.COMM_WORLD.allreduce(MPI.COMM_WORLD.rank + 1)
print(view.apply(work))""", "cluster.stop_cluster_sync()"], prefix=RECORD + ["-o", "engines", "--"])
    job = report("engines")
    check("engines of ipyparallel under MPI are one job", done.code == 0 and "[3, 3]" in text(out[1]) and job and job["job"]["ranks"] == 2,
          (str(done), text(out[0]), text(out[1]), job and job["job"]))


magics()
interrupt()
restart()
engines()
end()
