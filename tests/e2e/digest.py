# timeout: 200
# waits
"""The digest of a node: written by one recorder of the node while somebody watches, by another one when that stops; not at
all when nobody does.  Real ranks on this host, and many made-up ones that `hpctop watch` looks at."""
import atexit
import glob
import json
import os
import signal
import struct
import subprocess
import threading
import time

from common import BUILD, HPCTOP, check, end, pids, start, stop, together, traces, wait_for, workload

MANY = os.path.join(BUILD, "tests/many/many")
HEAD = struct.Struct("<8sIIQQQQII40s64s")
MASK = (1 << 64) - 1


def digest(folder):
    """(sequence, writer, ranks, size) of the one digest in a folder; None: there is none, or it is being written."""
    found = glob.glob(os.path.join(folder, "*.live"))
    if len(found) != 1:
        return None
    with open(found[0], "rb") as f:
        raw = f.read()
    if len(raw) < HEAD.size:
        return None
    magic, _, size, _, sequence, writer, _, _, ranks, _, host = HEAD.unpack(raw[:HEAD.size])
    good = magic == b"hplive\r\n" and size <= len(raw) and host.rstrip(b"\0").decode() == os.uname().nodename
    return (sequence, writer, ranks, size) if good else None


def number(pid):
    """What a process calls itself in a digest (trc_digest_sum of pid, start and pid namespace)."""
    with open("/proc/%d/stat" % pid) as f:
        began = int(f.read().rsplit(")", 1)[1].split()[19])
    total = 1
    for word in (pid, began, os.stat("/proc/%d/ns/pid" % pid).st_ino):
        total = (total ^ word) * 0x9e3779b97f4a7c15 & MASK
        total ^= total >> 29
    return total


def heartbeats(folder):
    with open(traces(folder)[0], "rb") as f:
        return f.read(4096)


def asker(folder, going):
    while going.is_set():
        with open(os.path.join(folder, "live.request"), "a"):
            os.utime(os.path.join(folder, "live.request"))
        time.sleep(1)


def written():
    folder, ranks = os.path.abspath("written"), 3
    job = start(ranks, [workload("stencil"), "600", "-1", os.path.abspath("enough")], folder)
    if not check("ranks run", wait_for(lambda: len(traces(folder)) == ranks), job):
        return
    before = heartbeats(folder)
    wait_for(lambda: heartbeats(folder) != before)
    time.sleep(4)  # twice the time between looks at the request
    check("nobody watches: nothing is written", not glob.glob(folder + "/*.live"), os.listdir(folder))
    going = threading.Event()
    going.set()
    asking = threading.Thread(target=asker, args=(folder, going), daemon=True)
    asking.start()
    if not check("somebody watches: there is a digest of all ranks", wait_for(lambda: (digest(folder) or (0, 0, 0))[2] == ranks), os.listdir(folder)):
        return
    first = digest(folder)
    check("it goes on", wait_for(lambda: (digest(folder) or first)[0] >= first[0] + 3), digest(folder))
    check("at most 200 bytes a rank", first[3] - HEAD.size <= 200 * ranks + 100, first)
    writers = {number(pid): pid for pid in pids(folder)}
    sequence, writer = (wait_for(lambda: digest(folder)) or first)[:2]
    if not check("one of the ranks writes it", writer in writers, (writer, writers)):
        return
    os.kill(writers[writer], signal.SIGSTOP)
    since = time.monotonic()
    other = wait_for(lambda: (lambda now: now if now and now[1] != writer and now[0] > sequence else None)(digest(folder)))
    print("# another writer after %.1f s" % (time.monotonic() - since))
    check("it stops: another goes on", other and other[1] in writers, (digest(folder), writers))
    os.kill(writers[writer], signal.SIGCONT)
    seen = set()
    wait_for(lambda: seen.add((digest(folder) or (0,))[0]) or len(seen) > 4)
    latest = [(digest(folder) or (0, 0))[1] for _ in range(20) if time.sleep(0.2) is None]
    check("it goes on as well: one of the two writes", len(set(latest[-5:]) - {0}) == 1, latest)
    going.clear()
    asking.join()
    check("nobody watches any more: it is removed", wait_for(lambda: not glob.glob(folder + "/*.live")), os.listdir(folder))
    open("enough", "w").close()
    job.wait()
    check("the job ends well", job.returncode == 0, job.returncode)


def bytes_read(pid):
    with open("/proc/%d/io" % pid) as f:
        return int(f.readline().split()[1])


def watched():
    """200 ranks, of which one hangs and one node dies: who does is named, by digests in place of pages."""
    ranks = 200
    job = subprocess.Popen([MANY, "--ranks", str(ranks), "--hosts", "8", "--live", "150", "--round", "500", "--hang", "33", "--dead", "5",
                            "--fault", "16", "many"], stdout=subprocess.PIPE, start_new_session=True)
    atexit.register(stop, job)
    job.stdout.readline()
    watch = subprocess.Popen([HPCTOP, "watch", "--json", "--every", "0.5", "many"], stdout=subprocess.PIPE, start_new_session=True)
    atexit.register(stop, watch)
    seen, costs, dead = [], [], set(range(125, 150))
    for line in watch.stdout:
        now = json.loads(line)
        seen.append(now)
        costs.append(bytes_read(watch.pid))
        if len(seen) == 3:
            check("watched: somebody asks", os.path.exists("many/live.request"))
        if now["verdict"] == "hung" and set(now["culprits"]) >= dead:
            break
        if now["state"] not in ("running", "hung"):
            break
    last = seen[-1]
    check("watched: digests are written", len(glob.glob("many/*.live")) == 8, os.listdir("many")[:5])
    check("watched: calls move while it runs", len({n["calls"] for n in seen}) > 5)
    check("watched: who hangs and who is gone is named", last["verdict"] == "hung" and set(last["culprits"]) <= dead | {33}, last)
    check("watched: no rank was taken for gone that is there", all(n["ranks_gone"] <= len(dead) for n in seen), [n["ranks_gone"] for n in seen])
    # Where all run, three looks together read less than the pages of idle ranks would be.
    runs = [b - a for a, b, n in zip(costs, costs[1:], seen[1:]) if n["culprits"] == [] and (n["quiet_s"] or 0) < 1]
    least = min((sum(runs[i:i + 3]) for i in range(len(runs) - 2)), default=None)
    check("watched: looks read less than the ranks' pages", least is not None and least < ranks * 2400, runs)


together([written, watched])
end()
