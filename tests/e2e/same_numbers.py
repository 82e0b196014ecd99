# timeout: 240
"""Each number has one source: screens at two sizes, the report, its JSON, HTML, CSV, metrics, TALP, watch, show, the
list of jobs, an agent's answer and a diff of the job with itself say the same of each of some thirty jobs: simulated, made up, recorded with both MPIs, cut off and live."""
import json
import os
import shutil
import subprocess

import one_truth
import views
import views_more
from common import BUILD, HPCTOP, TOP, check, end, environment, hpctop, mpirun, run, start, stop, together, traces, wait_for, workload

SIZES = ("200x50", "80x24")
QUESTION = '{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "report", "arguments": {"dir": %s}}}\n'
HERE = environment(preload=False, LC_ALL="C.UTF-8")


def made():
    """Jobs that no MPI runs; returns their folders."""
    many, yardstick = os.path.join(BUILD, "tests/many/many"), os.path.join(BUILD, "tests/yardstick/yardstick")
    for seed in range(1, 15):
        os.makedirs("simulated-%d" % seed)
        run([yardstick, "-w", str(seed), "-r", "simulated-%d" % seed])
    for name, options in (("late", "--ranks 12 --hosts 3 --files --late-rank 7 --late-host 1"), ("hung", "--ranks 8 --hosts 2 --hang 5"),
                          ("dead", "--ranks 8 --hosts 2 --dead 1"), ("long", "--ranks 3 --rounds 3000 --late-rank 2:1.5")):
        run([many, *options.split(), name])
    return ["simulated-%d" % seed for seed in range(1, 15)] + ["late", "hung", "dead", "long"]


def recorded():
    """Jobs of real MPIs; returns their folders."""
    double = os.path.join(BUILD, "gpu_double")
    for name, ranks, command, more in (
            ("planted", 4, ["planted", "one"], {}), ("spikes", 3, ["planted", "spikes"], {}), ("sizes", 2, ["pingpong", "500", "sizes"], {}),
            ("mix", 3, ["random_mix", "1"], {}), ("io", 2, ["io"], {}), ("threads", 2, ["regions", "threads"], {}), ("killed", 3, ["kill_self"], {}),
            ("horovod", 3, ["hvd_standin", "-r", "2", "-c", "50"], {}), ("persistent", 2, ["p2p_persistent"], {}),
            ("probes", 2, ["p2p_mprobe"], {}), ("gpu", 2, ["nccl/overlap"], {"LD_LIBRARY_PATH": double})):
        if os.path.exists(workload(command[0])):
            mpirun(ranks, [workload(command[0])] + command[1:], name, **more)
    if shutil.which("mpicc.mpich") and shutil.which("mpirun.mpich"):
        subprocess.run(["mpicc.mpich", "-D_GNU_SOURCE", "-g", "-w", "-o", "mix.mpich", os.path.join(TOP, "workloads/random_mix.c"), "-lm"], check=True)
        run(["mpirun.mpich", "-n", "2", "./mix.mpich", "2", "200"], environment("mpich"))
    return [name for name in ("planted", "spikes", "sizes", "mix", "io", "threads", "killed", "horovod", "persistent", "probes", "gpu", "mpich")
            if traces(name)]


def cut_off():
    """The files of a job without their ends, as after a crash of the file system."""
    shutil.copytree("planted", "cut")
    for path in traces("cut"):
        with open(path, "r+b") as f:
            f.truncate(os.path.getsize(path) * 2 // 3)
    return ["cut"]


def say(*arguments):
    return hpctop(*arguments, env=HERE).out


def compare(folder):
    """Holds all views of a job against its report; returns how many rows of tables were compared."""
    rep = json.loads(say("report", "--json", folder))
    job = views.Job(rep, folder == "threads")
    page = say("report", "--all", folder)
    found = one_truth.disagreements(rep) + views.of_page(page, job)
    more, rows = views.of_tables(page, job)
    found += more
    say("export", "--format", "csv", "-o", folder + ".csv", folder)
    found += views.of_csv(folder + ".csv", job)
    for size in SIZES:
        screens = say("--script", "keys", "--size", size, folder)
        more, shown = views.of_screens(screens, size, job)
        found, rows = found + more + of_moments(folder, screens.split("---- %s\n" % size)[-3:], job), rows + shown
    say("jobs", "--db", folder + ".db", "--add", folder)
    found += views_more.of_jobs(*(say("jobs", "--db", folder + ".db", *more) for more in ((), ("--json",))), job)
    found += views_more.of_agent(subprocess.run([HPCTOP, "mcp"], input=QUESTION % json.dumps(folder), stdout=subprocess.PIPE, text=True, env=HERE).stdout, job)
    if hpctop("export", "--format", "talp", "-o", folder + ".talp", folder, env=HERE).code == 0:
        found += views.of_talp(folder + ".talp", job)
    found += views.of_html(say("report", "--html", folder), job) + views.of_metrics(say("metrics", folder), job)
    found += views.of_show(say("show", "--json", folder), job) + views.of_diff(say("diff", "--json", folder, folder), job)
    if all(rank["calls"] is not None for rank in rep["ranks"]):
        found += views.of_window(say("report", "--json", "--from", "0", "--to", "%.3f" % (job.seconds + 1), folder), job)
    if rep["job"]["state"] in ("finished", "aborted"):
        found += views.of_watch(say("watch", "--json", folder).strip().split("\n")[-1], job)
    check("%s: all views agree" % folder, not found, "; ".join(found[:8]))
    return rows


def of_moments(folder, screens, job):
    """Holds the screens Iterations, Timeline and the pane of its cursor against the report, the events and `show`."""
    iterations, timeline, pane = screens
    asked = []
    moments.append(asked)

    def ask(where):
        asked.append(json.loads(say("show", "--json", folder, where)))
        return asked[0], say("show", folder, where)

    found = views_more.of_iterations(folder + ".csv", iterations, job) + views_more.of_timeline(timeline, pane, ask)
    return found + [wrong for said in asked for wrong in views_more.of_events(folder + ".csv", said)]


def live():
    """While a job runs, each screen's sums lie between those of a report before and one after it, and a column of the last second says so."""
    job = start(2, [workload("accounts"), "open"], "live")
    waits = wait_for(lambda: len(traces("live")) == 2 and json.loads(say("report", "--json", "live"))["job"]["state"] == "running" and
                     any(r["inside"] for r in json.loads(say("report", "--json", "live"))["ranks"]))
    before, screens, after = (say("report", "--json", "live"), say("--script", "keys", "--size", "200x50", "live"), say("report", "--json", "live"))
    texts = screens.split("---- 200x50\n")[1:]
    shown = views.table(texts[1].split("\n"), views.SCREENS[1][1])
    for name in ("calls", "bytes_sent", "mpi_s"):
        check("live: %s only grows" % name, waits and all(a[name] <= b[name] for a, b in zip(json.loads(before)["ranks"], json.loads(after)["ranks"])))
    between = [views.Job(json.loads(text)) for text in (before, after)]
    for row, a, b in zip(shown or [], *(j.rep["ranks"] for j in between)):
        for title in ("MPI%", "CALLS/s", "SENT/s"):
            low, high = sorted(views.RANKS[title](r, j) for r, j in zip((a, b), between))
            check("live: %s of rank %d is of the whole run" % (title, a["rank"]), row[title].low <= high and low <= row[title].high, (row[title].text, low, high))
    check("live: both ranks were seen", shown and len(shown) == 2, screens)
    wrong, cells = views_more.of_growing(texts, *between)
    check("live: sums of screens lie between two reports", not wrong and cells >= 20, (cells, wrong))
    stop(job)


with open("keys", "w") as f:
    f.write("".join("key %s\nscreen\n" % screen[0] for screen in views.SCREENS))
rows, moments, folders = [], [], made() + recorded()
folders += cut_off()
check("there are some thirty jobs", len(folders) >= 30, folders)
together([lambda folder=folder: rows.append(compare(folder)) for folder in folders], 4)  # a job that hangs is looked at twice each time
check("thousands of rows were compared", sum(rows) > 3000, rows)
check("a moment of nearly each job was compared", sum(map(bool, moments)) >= 1.5 * len(folders), moments)
live()
end()
