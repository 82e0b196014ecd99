# timeout: 300
# waits
"""A site that records every job: three lines in the slurm.conf of a real Slurm, and `hpctop jobs` has a row a job with a true
verdict; jobs without MPI, and such as do not want it, leave nothing."""
import json
import os
import re
import sqlite3
import subprocess
import tempfile
import time

from common import HPCTOP, check, end, run, skip, wait_for, workload
import slurm_site
from slurm_site import DB, SITE, ended, jobs, submit


def of_slurm():
    if not slurm_site.start():
        return
    srun = slurm_site.SRUN
    ring, planted, stuck = (workload(name) for name in ("ring", "planted", "hang_recv"))
    well = submit(srun + ring)
    late = submit(srun + "-n3 " + planted + " one")
    plain = submit("srun hostname; exit 3")
    own = submit("export HPCTOP_DISABLE=1; " + srun + ring)
    steps = submit(srun + ring + "; " + srun + planted + " one; " + srun + ring)
    hung = submit(srun + stuck)
    if not check("jobs are taken", all((well, late, plain, own, steps, hung)), (well, late, plain, own, steps, hung)):
        return
    check("jobs end", wait_for(lambda: all(ended(job) for job in (well, late, plain, own, steps))))
    check("the one that hangs is recorded while it runs", wait_for(lambda: len(os.listdir(os.path.join(SITE, hung))) == 4
                                                                   if os.path.isdir(os.path.join(SITE, hung)) else False))
    time.sleep(3)
    run(["scancel", hung])
    each = [steps + ".%d" % i for i in range(3)]
    there = {well, late, hung, *each}
    check("a row for each that was recorded, and for each step", wait_for(lambda: set(jobs()) == there, 90), (sorted(jobs()), there))
    rows = jobs()
    if set(rows) != there:
        return
    check("steps are told apart", "rank 1" in rows[each[1]]["answer"] and [os.path.basename(rows[step]["command"]) for step in each] == ["ring", "planted one", "ring"] and
          len({rows[step]["page"] for step in each}) == 3 and all(rows[step]["state"] == "finished" and rows[step]["ranks"] == 4 for step in each),
          [rows[step] for step in each])
    check("of jobs that ended well Slurm says nothing", all(rows[job]["said"] is None for job in (well, late, *each)), [row["said"] for row in rows.values()])
    check("one that ended well", rows[well]["verdict"] in ("healthy", "slow") and rows[well]["state"] == "finished" and rows[well]["ranks"] == 4 and
          rows[well]["nodes"] == 2, rows[well])
    check("one that was late", "rank 1" in rows[late]["answer"] and rows[late]["saves_s"] > 0.3, rows[late])
    check("one that hung and was cancelled", rows[hung]["verdict"] in ("hung", "aborted") and rows[hung]["state"] != "finished", rows[hung])
    for job, row in rows.items():
        check("the page of %s says the same" % row["verdict"], slurm_site.says(row), row["page"])
        size = max(os.path.getsize(os.path.join(row["folder"], name)) for name in os.listdir(row["folder"]) if name.endswith(".hpctop"))
        check("at most 8 MB a rank", size <= 8 << 20, size)
    check("jobs without MPI leave nothing", wait_for(lambda: not any(os.path.exists(os.path.join(SITE, job)) for job in (plain, own))), os.listdir(SITE))
    check("what went wrong", set(jobs("--trouble")) == {job for job, row in rows.items() if row["verdict"] != "healthy"})
    text = run([HPCTOP, "jobs", "--db", DB])
    listed = re.findall(r"^\d{4}-\S+ \S+ (\S+) ", text.out, re.M)
    check("as text", text.code == 0 and sorted(listed) == sorted(rows), text)


def by_hand():
    """The list by itself: many at once, again, hostile, read-only, not there."""
    folders = ["many%d" % i for i in range(8)]
    made = [run([os.path.join(os.environ["BUILD"], "tests/many/many"), "--ranks", "3", "--hosts", "1", "--rounds", "5", folder]) for folder in folders]
    at_once = [subprocess.Popen([HPCTOP, "jobs", "--db", "list.db", "--add", folder], stderr=subprocess.PIPE) for folder in folders]
    codes = [(p.wait(), p.stderr.read()) for p in at_once]
    listed = json.loads(run([HPCTOP, "jobs", "--db", "list.db", "--json"]).out)["jobs"]
    check("eight at once", all(m.code == 0 for m in made) and all(code == 0 for code, _ in codes) and len(listed) == 8, codes)
    told = run([HPCTOP, "jobs", "--db", "list.db", "--said", "Slurm: <OutOfMemory>", "--add", "many1"])
    rows = json.loads(run([HPCTOP, "jobs", "--db", "list.db", "--json"]).out)["jobs"]
    row = [row for row in rows if row["folder"].endswith("many1")][0]
    check("what the batch system says stands in row and page", told.code == 0 and row["said"] == "Slurm: <OutOfMemory>" and slurm_site.says(row) and
          "[Slurm: <OutOfMemory>]" in run([HPCTOP, "jobs", "--db", "list.db"]).out and sum(r["said"] is None for r in rows) == 7, (told, rows))
    with sqlite3.connect("list.db") as db:
        db.execute("ALTER TABLE jobs DROP COLUMN said")
    older = run([HPCTOP, "jobs", "--db", "list.db", "--json"])
    check("a list of an older version is read", older.code == 0 and {r["said"] for r in json.loads(older.out)["jobs"]} == {None}, older)
    again = run([HPCTOP, "jobs", "--db", "list.db", "--add", "nothere", *folders])
    listed = json.loads(run([HPCTOP, "jobs", "--db", "list.db", "--json"]).out)["jobs"]
    check("one that is not there does not keep the others out", again.code == 2 and again.err.count("\n") == 1 and len(listed) == 8, again)
    with sqlite3.connect("list.db") as db:
        db.execute("UPDATE jobs SET answer = ?, user = 'eve' WHERE folder LIKE '%many3'", ("\x1b]0;evil\x07\u202e",))
    text = run([HPCTOP, "jobs", "--db", "list.db"])
    check("hostile text is cleaned", text.code == 0 and "\x1b" not in text.out and "\u202e" not in text.out and "evil" in text.out, text)
    check("by user", len(json.loads(run([HPCTOP, "jobs", "--db", "list.db", "--json", "--user", "eve"]).out)["jobs"]) == 1)
    with sqlite3.connect("list.db") as db:
        db.execute("UPDATE jobs SET begin_s = ? WHERE folder LIKE '%many5'", (int(time.time()) - 10 * 86400,))
    for days, there in (("9", 0), ("11", 1)):
        listed = json.loads(run([HPCTOP, "jobs", "--db", "list.db", "--json", "--since", days]).out)["jobs"]
        check("since %s days" % days, sum("many5" in job["folder"] for job in listed) == there, len(listed))
    for line, code in ((["--db", "no.db"], 2), (["--add"], 64), (["--since", "x"], 64), (["here"], 64), (["--trubel"], 64), (["--said", "x"], 64),
                       (["--db", "/nowhere/x.db", "--add", "many0"], 2), (["--db", "many0/report.html"], 2)):
        done = run([HPCTOP, "jobs"] + line)
        check("jobs %s" % " ".join(line), done.code == code and done.err.count("\n") == 1, done)


def of_another():
    """Root reads what is another's with his rights alone: links in his folder lead nowhere."""
    if os.geteuid() != 0:
        skip("another's folder", "only root can become its owner")
        return
    with tempfile.TemporaryDirectory(dir="/tmp") as open_to_all:  # others may not enter the test's own
        os.chmod(open_to_all, 0o755)
        folder, mine = os.path.join(open_to_all, "job"), os.path.join(open_to_all, "mine")
        run([os.path.join(os.environ["BUILD"], "tests/many/many"), "--ranks", "3", "--hosts", "1", "--rounds", "5", folder])
        with open(mine, "w") as f:
            f.write("root's own\n")
        for name in os.listdir(folder):
            os.chown(os.path.join(folder, name), 65534, 65534)
        for name in ("report.html", "report.html.part"):
            os.symlink(mine, os.path.join(folder, name))
        os.chown(folder, 65534, 65534)
        done = run([HPCTOP, "jobs", "--db", "other.db", "--add", folder])
        rows = json.loads(run([HPCTOP, "jobs", "--db", "other.db", "--json"]).out)["jobs"]
        page = os.lstat(os.path.join(folder, "report.html"))
        check("another's job is added", done.code == 0 and len(rows) == 1 and rows[0]["ranks"] == 3 and rows[0]["user"] == "nobody", (done, rows))
        check("its page is the owner's, for him alone", page.st_uid == 65534 and page.st_mode == 0o100600, oct(page.st_mode))
        with open(mine) as f:
            check("a link in his folder leads nowhere", f.read() == "root's own\n")


LITTLE = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <sys/resource.h>
int setrlimit(__rlimit_resource_t what, const struct rlimit *limit)
{
    int (*real)(__rlimit_resource_t, const struct rlimit *) = dlsym(RTLD_NEXT, "setrlimit");
    struct rlimit little = {64 << 20, 64 << 20};
    if (what == RLIMIT_AS)
        fprintf(stderr, "asks for %lu\n", (unsigned long)limit->rlim_max);
    return real(what, what == RLIMIT_AS ? &little : limit);
}
"""


def of_another_with_little_memory():
    """The process that reads another's folder limits its memory to half of the machine's; where that is used up, its line
    names the folder, and the next folder is added."""
    if os.geteuid() != 0:
        skip("another's folder that needs too much memory", "only root can become its owner")
        return
    with open("little.c", "w", encoding="ascii") as f:
        f.write(LITTLE)
    built = run(["cc", "-shared", "-fPIC", "-o", "little.so", "little.c", "-ldl"])
    with tempfile.TemporaryDirectory(dir="/tmp") as open_to_all:
        os.chmod(open_to_all, 0o755)
        folder, small = os.path.join(open_to_all, "job"), os.path.join(open_to_all, "small")
        for where, ranks in ((folder, 200), (small, 2)):
            run([os.path.join(os.environ["BUILD"], "tests/many/many"), "--ranks", str(ranks), "--hosts", "1", "--rounds", "5", where])
        os.chown(folder, 65534, 65534)
        for name in os.listdir(folder):
            os.chown(os.path.join(folder, name), 65534, 65534)
        add = [HPCTOP, "jobs", "--db", "little.db", "--add", folder, small]
        done = run(add, env=dict(os.environ, LD_PRELOAD=os.path.abspath("little.so")))
        listed = json.loads(run([HPCTOP, "jobs", "--db", "little.db", "--json"]).out)["jobs"]
        half = os.sysconf("SC_PHYS_PAGES") // 2 * os.sysconf("SC_PAGESIZE")
        check("another's job that needs too much memory is refused by name, and the next one added", built.code == 0 and done.code == 2 and
              done.err == "asks for %d\nhpctop: %s: out of memory\n" % (half, folder) and [os.path.basename(row["folder"]) for row in listed] == ["small"],
              (built, done, listed))
        done = run(add)
        listed = json.loads(run([HPCTOP, "jobs", "--db", "little.db", "--json"]).out)["jobs"]
        check("half of the machine's memory is enough for both", done.code == 0 and len(listed) == 2, (done, listed))


def of_any_numbers():
    """Rows with numbers beyond reason are listed."""
    with sqlite3.connect("list.db") as db:
        db.execute("UPDATE jobs SET begin_s = 9000000000000000000, ranks = -5 WHERE folder LIKE '%many2'")
    for form in ([], ["--json"]):
        done = run([HPCTOP, "jobs", "--db", "list.db", *form])
        check("numbers beyond reason %s" % " ".join(form), done.code == 0, done)


by_hand()
of_any_numbers()
of_another()
of_another_with_little_memory()
of_slurm()
end()
