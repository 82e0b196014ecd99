# timeout: 200
"""Made-up jobs of many ranks (tests/many): every count follows from the plan, and whoever was planted is named, in
finished jobs, in such as hang, and live."""
import atexit
import json
import os
import random
import re
import shutil
import subprocess

from common import BUILD, check, end, hpctop, report, run, stop, wait_for

MANY = os.path.join(BUILD, "tests/many/many")


def make(folder, ranks, hosts, rounds, *more):
    shutil.rmtree(folder, ignore_errors=True)
    made = run([MANY, "--ranks", str(ranks), "--hosts", str(hosts), "--rounds", str(rounds), *more, folder])
    if made.code != 0:
        raise SystemExit("%s" % made)
    return report(folder)


def verdict(folder):
    return json.loads(hpctop("verdict", "--json", "--hang", "3", folder).out)


def neighbours(ranks, hosts):
    return 0 if ranks < 3 else 4 if hosts > 2 and ranks // hosts > 1 else 2


def counts():
    """Jobs of any size: calls, messages, bytes, files, hosts."""
    chance = random.Random(15)
    for i in range(12):
        ranks, rounds = chance.randint(1, 150), chance.randint(1, 40)
        hosts = chance.randint(1, min(ranks, 9))
        n, name = neighbours(ranks, hosts), "%d ranks, %d hosts, %d rounds" % (ranks, hosts, rounds)
        rep = make("counts", ranks, hosts, rounds, "--files")
        writes = rounds // 10
        calls = 1 + rounds * (2 * n + (n > 0) + 1) + writes
        check("calls: " + name, [r["calls"] for r in rep["ranks"]] == [calls] * ranks, rep["ranks"][0])
        check("hosts: " + name, len(rep["job"]["hosts"]) == hosts and len({r["host"] for r in rep["ranks"]}) == hosts)
        sent = rounds * (n * 8192 + 8) + writes * (1 << 20)
        check("bytes: " + name, all(r["bytes_sent"] == sent and r["bytes_received"] == rounds * (n * 8192 + 8)
                                    for r in rep["ranks"]), rep["ranks"][0])
        check("messages: " + name, sum(p["messages"] for p in rep["pairs"]) == ranks * rounds * n)
        seen = hpctop("report", "--all", "counts").out
        check("pairs are complete: " + name, "without their other end" not in seen, seen[-300:])


def fits(name, folder, culprits):
    """The report fits a ticket, each rank is in one row of it, and the first row is of a rank to blame: of a node that died
    all may be, as the ranks that waited for it have ended with it."""
    said = hpctop("report", folder).out
    check("at most 60 lines: " + name, 20 < said.count("\n") <= 60, said)
    first = re.search(r"^RANKS.*\n.*\n +(\d+) node", said, re.M)
    check("the first row is a culprit's: " + name, first and int(first.group(1)) in culprits, said)
    rows = [int(n) for n in re.findall(r"^ +(\d+) node\d", said, re.M)]
    ranks = sum(int(n) for n in re.findall(r"and (\d+) more that behave alike", said)) + len(rows)
    check("each rank is in one row: " + name, "more kinds of ranks" in said or ranks == len(report(folder)["ranks"]), (ranks, said))


def planted():
    """Whoever is late, hangs or is gone is to blame, and nobody else."""
    chance = random.Random(16)
    for i in range(3):
        ranks, hosts = chance.randint(40, 160), chance.randint(2, 8)
        rank, host, name = chance.randrange(ranks), chance.randrange(hosts), "%d, of %d" % (i, ranks)
        make("planted", ranks, hosts, 150, "--late-rank", str(rank))
        found = verdict("planted")
        check("late rank " + name, found["state"] == "slow" and found["culprits"] == [rank] and
              "rank %d is late" % rank in found["summary"], found)
        fits("late rank " + name, "planted", [rank])
        make("planted", ranks, hosts, 40, "--hang", str(rank))
        found = verdict("planted")
        check("rank that hangs " + name, found["class"] == "missing-in-collective" and found["culprits"] == [rank], found)
        fits("rank that hangs " + name, "planted", [rank])
        rep = make("planted", ranks, hosts, 40, "--dead", str(host))
        there = [r["rank"] for r in rep["ranks"] if r["host"] == "node%03d" % host]
        found = verdict("planted")
        check("dead node " + name, found["class"] == "dead-rank" and sorted(found["culprits"]) == there, found)
        fits("dead node " + name, "planted", range(ranks))


def silent():
    """A node that died seconds ago: nobody knows it yet, and no message is said to be lacking that was sent."""
    chance = random.Random(18)
    for i in range(4):
        ranks, hosts = chance.randint(50, 400), chance.randint(3, 8)
        host, name = chance.randrange(hosts), "%d, of %d" % (i, ranks)
        rep = make("silent", ranks, hosts, 12, "--dead", str(host), "--round", "1000", "--lasts", "4")
        there = [r["rank"] for r in rep["ranks"] if r["host"] == "node%03d" % host]
        found = verdict("silent")
        check("silent node " + name, found["class"] != "unmatched-receive" and set(found["culprits"]) <= set(there), found)


def screens(*lines, size="80x24"):
    """What a script shows, screen by screen."""
    with open("keys", "w") as f:
        f.write("\n".join(lines) + "\n")
    return hpctop("--script", "keys", "--size", size, "screens").out.split("---- ")[1:]


def shown():
    """Who was planted has a row of the first screen, whatever the rows and their order."""
    chance = random.Random(17)
    for i in range(3):
        ranks, hosts = chance.randint(150, 300), chance.randint(4, 8)
        rank, host = chance.randrange(ranks), chance.randrange(hosts)
        rep = make("screens", ranks, hosts, 40, "--late-rank", str(rank), "--late-host", str(host))
        of = {r["rank"]: r["host"] for r in rep["ranks"]}
        late = sum(h == "node%03d" % host for r, h in of.items() if r != rank)
        name, row = "%d, of %d" % (i, ranks), "%d " % rank
        seen = screens("key 2", "screen", *["key s", "screen"] * 15, "key b", "screen", *["key s", "screen"] * 15,
                       "key b", "screen", *["key I s", "screen"] * 15)
        first = r"^[ >]+%d +\S" % rank  # HOST may be out of view, where a column far to the right is sorted by
        missing = [s for s in seen if not re.search(first, s, re.M)]
        check("culprit in Ranks " + name, len(seen) == 48 and not missing, missing[:1])
        check("late node in Ranks " + name, re.search(r"^ +x%d node%03d " % (late, host), seen[0], re.M), seen[0])
        for heat in range(3):
            seen = screens("key 6" + " m" * heat, "screen", "key b", "screen", "key b", "screen")
            check("culprit in Timeline %d " % heat + name, all(re.search(r"^! +%s" % row, s, re.M) for s in seen), seen)
            check("late node in Timeline %d " % heat + name, re.search(r"^! +x%d node%03d " % (late, host), seen[0], re.M)
                  and re.search(r"^ +\+%d others " % (ranks - late - 1), seen[0], re.M) and "their max" in seen[0], seen[0])
        rates = [re.findall(r"^ (sent|recv|calls|in MPI) +([\d.]+ ?\S+)", s, re.M) for s in screens("key 1", "screen", "key 6", "screen", size="200x50")]
        check("rates below Timeline, as in Overview " + name, len(rates[0]) == 4 and rates[0] == rates[1], rates)
        seen = screens("key 4", "screen", "key Enter", "screen", size="%dx%d" % (ranks + 9, ranks // 2 + 20))
        check("each rank has its cells " + name, "cells of" not in seen[0], seen[0][:300])
        check("blocks end with nodes " + name, "ranks, by node" in screens("key 4", "screen")[0], name)


def live(name, arguments, wanted, look):
    """Looks at a job while it is written, until it is as wanted."""
    shutil.rmtree(name, ignore_errors=True)
    job = subprocess.Popen([MANY, "--ranks", "60", "--hosts", "5", "--live", "60", "--round", "200", *arguments, name],
                           stdout=subprocess.PIPE, start_new_session=True)
    atexit.register(stop, job)
    job.stdout.readline()
    seen = []
    check("live: " + name, wait_for(lambda: seen.append(look(name)) or seen[-1] == wanted or job.poll() is not None)
          and job.poll() is None, seen[-1:])
    stop(job)


def progress(folder):
    rep = report(folder)
    calls = [r["calls"] for r in rep["ranks"]]
    return rep["job"]["state"] == "running" and min(calls) > 30 and max(calls) - min(calls) < 3 * 10


def blamed(folder):
    found = verdict(folder)
    return found["state"], found["culprits"]


counts()
planted()
silent()
shown()
live("runs", [], True, progress)
live("hangs", ["--hang", "33", "--fault", "5"], ("hung", [33]), blamed)
live("dies", ["--dead", "2", "--fault", "5"], ("hung", list(range(24, 36))), blamed)
end()
