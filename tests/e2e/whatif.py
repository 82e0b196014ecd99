# timeout: 400
"""hpctop export --format ti and chakra: SimGrid replays the actions of real and of made jobs to their end, with the messages and bytes of the
report.  hpctop whatif: a planted straggler away, another network, more ranks.  How near it comes is measured by
tests/bench/whatif.py; here is what can be counted."""
import collections
import glob
import json
import os
import re

import exported
from common import BUILD, check, end, hpctop, mpirun, report, run, skip, start, stop, traces, wait_for, workload

INNER = 1 << 30  # tags from here on are of collectives
PROGRAMS = [("random_mix", 4), ("stencil 0.3", 4), ("p2p_blocking", 3), ("p2p_nonblocking", 3), ("p2p_persistent", 3), ("p2p_mprobe", 3), ("communicators", 4),
            ("collectives_blocking", 4), ("collectives_nonblocking", 4), ("collectives_vw", 4), ("neighborhood", 4), ("many_comms", 3), ("ring", 5),
            ("polling", 2), ("planted turns", 3)]
PROTOBUF = exported.protobuf_python()
SIMGRID = (glob.glob("/usr/lib/*/simgrid/smpimain") + glob.glob("/usr/lib/simgrid/smpimain") + [None])[0]


def actions(path):
    with open(path) as f:
        return [line.split() for line in f if not line.startswith("#")]


def pairs_of(lines):
    """Messages and bytes that the ranks send, by source and destination.  One of no bytes for which nobody waits answers a receive
    that was cancelled."""
    pairs, open_ones = collections.defaultdict(lambda: [0, 0]), collections.Counter()
    for rank, word, *rest in lines:
        if word in ("send", "isend") and int(rest[1]) < INNER:
            pair = pairs[int(rank), int(rest[0])]
            pair[0] += 1
            pair[1] += int(rest[2])
            open_ones[(int(rank), int(rest[0]), rest[1])] += word == "isend"
        elif word == "wait" and rest[0] == rank and int(rest[2]) < INNER:
            open_ones[(int(rank), int(rest[1]), rest[2])] -= 1
    for (source, destination, _), n in open_ones.items():
        pairs[source, destination][0] -= n if source != destination else 0
    return dict(pairs)


def replayed(path, ranks):
    """The seconds that SimGrid takes the run for; None: it did not end."""
    with open("hosts", "w") as f:
        f.writelines("r%d\n" % i for i in range(ranks))
    with open("list", "w") as f:
        f.write(path + "\n")
    with open("platform.xml", "w") as f:
        f.write("<?xml version='1.0'?><!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\"><platform version=\"4.1\">"
                "<cluster id=\"c\" prefix=\"r\" suffix=\"\" radical=\"0-%d\" speed=\"1Gf\" bw=\"1GBps\" lat=\"1us\"/></platform>" % (ranks - 1))
    r = run([SIMGRID, SIMGRID.replace("smpimain", "smpireplaymain"), "--cfg=smpi/hostfile:hosts", "--cfg=smpi/replay:list", "--cfg=smpi/privatization:no",
             "--cfg=smpi/host-speed:1Gf", "platform.xml"])
    found = re.search(r"Simulation time (\S+)", r.out + r.err)
    return float(found.group(1)) if r.code == 0 and found else print(r) and None


def chakra(name, folder, ranks, pairs, work):
    """The same as Chakra's nodes, each of which comes after such as were there before."""
    if not PROTOBUF:
        return
    r = hpctop("export", "--format", "chakra", "-o", folder + ".et", folder)
    if not check("%s: export to Chakra" % name, r.code == 0, r):
        return
    r = run([PROTOBUF, os.path.join(os.path.dirname(exported.__file__), "exported_chakra.py"), folder + ".et"])
    found = json.loads(r.out) if check("%s: Chakra's nodes are read" % name, r.code == 0, r) else {}
    check("%s: nodes come after others" % name, found.get("ranks") == ranks and not found["wrong"], found.get("wrong"))
    beside = found.get("beside", {})
    check("%s: only what was started has others beside it" % name, all(call.startswith("MPI_I") or "_i" in call for call in beside) and
          (name != "collectives_nonblocking" or beside), beside)
    sent, received = ({tuple(map(int, pair.split())): value for pair, value in found.get(key, {}).items()} for key in ("pairs", "received"))
    wrong = {pair: (sent.get(pair), pairs.get(pair)) for pair in set(sent) | set(pairs) if sent.get(pair, [0, 0])[1] != pairs.get(pair, [0, 0])[1]}
    check("%s: Chakra's bytes" % name, not wrong, wrong)
    check("%s: Chakra's work" % name, abs(found.get("work_micros", 0) / 1e6 - work) <= 2e-6 * ranks, (found.get("work_micros"), work))
    check("%s: as many receives as sends" % name, not is_complete(name) or {k: v[0] for k, v in sent.items()} == {k: v[0] for k, v in received.items()}, (sent, received))


def is_complete(name):
    """Whether all that was sent was received: not in programs of the yardstick that hang."""
    return not name.startswith("seed")


def hold(name, folder, ranks, complete=True, ends=True):
    r = hpctop("export", "--format", "ti", "-o", folder + ".ti", folder)
    if not check("%s: export" % name, r.code == 0, r):
        return
    lines = actions(folder + ".ti")
    want = {pair: value for pair, value in exported.of_report(folder)["pairs"].items()}
    found = pairs_of(lines)
    check("%s: messages and bytes of the report" % name, not complete or found == want, {k: (found.get(k), want.get(k)) for k in set(found) | set(want)
                                                                                        if found.get(k) != want.get(k)})
    each = collections.Counter(word for _, word, *_ in lines)
    check("%s: each rank begins and ends" % name, each["init"] == each["finalize"] == ranks, each)
    work = sum(float(rest[0]) for _, word, *rest in lines if word == "compute") / 1e9
    chakra(name, folder, ranks, found, work)
    if SIMGRID and ends:
        took = replayed(folder + ".ti", ranks)
        check("%s: SimGrid replays it" % name, took is not None and took * ranks >= work * 0.999, (took, work))


def real():
    for command, ranks in PROGRAMS:
        program, *arguments = command.split()
        folder = program
        r = mpirun(ranks, [workload(program)] + arguments, folder)
        if check("%s runs" % command, r.code == 0, r):
            hold(command, folder, ranks)


def made():
    """Random programs: no message of theirs is lost, and those that ended are replayed to their end."""
    replays = 0
    for seed in range(1, 13):
        folder = "made%d" % seed
        os.mkdir(folder)
        r = run([os.path.join(BUILD, "tests/yardstick/yardstick"), "-w", str(seed), "-r", folder])
        if check("seed %d is made" % seed, r.code == 0, r):
            ends = hpctop("verdict", folder).code == 0
            replays += ends
            hold("seed %d" % seed, folder, len(glob.glob(folder + "/*.hpctop")), complete=False, ends=ends)
    check("some of them ended", replays)


def answer(*arguments):
    """What whatif says: what it took, the replay of that, what it would take, in seconds."""
    r = hpctop("whatif", *arguments)
    found = re.search(r"^it took +(\S+) s.*^replayed +(\S+) s.*^it would +take (\S+) s", r.out, re.S | re.M)
    check("whatif %s" % " ".join(arguments), r.code == 0 and found and not r.err, r)
    return [float(group) for group in found.groups()] if found else [1, 1, 1]


def changes():
    """The planted delay is ten times the work: without it the run takes less than a third.  More ranks do as much each, and no
    more; a network of half the speed takes longer."""
    for mode, rank in (("one", 1), ("chain", 0)):
        r = mpirun(3, [workload("planted"), mode], mode)
        check("planted %s runs" % mode, r.code == 0, r)
        took, same, would = answer("--without-delay", "rank:%d" % rank, mode)
        check("without the delay of %s" % mode, would < took / 3, (took, same, would))
        other = answer("--without-delay", str((rank + 1) % 3), mode)
        check("another rank is not to blame for %s" % mode, other[2] > took / 2, other)
        would = answer("--ranks", "12", mode)
        check("four times the ranks of %s" % mode, would[1] * 0.99 < would[2] < 2 * would[1], would)
    r = mpirun(2, [workload("pingpong"), "200", "1000000"], "large")
    check("large messages", r.code == 0, r)
    took = answer("--network", "0.5x", "large")
    check("on half of the network", took[2] > 1.2 * took[0], took)
    took = answer("--network", "2", "large")
    check("on twice the network", took[2] < 0.9 * took[0], took)
    r = hpctop("whatif", "--json", "--network", "2", "large")
    said = json.loads(r.out) if r.code == 0 else {}
    check("the same as JSON", said and abs(said["was_s"] - took[0]) < 1e-5 * took[0] and not r.err and
          abs(said["would_take_s"] - said["was_s"] * (1 + said["change"])) < 1e-9 and said["network"]["messages"] > 0 and
          abs(said["change"] - (took[2] / took[0] - 1)) < 0.01 and said["reliable"] == (abs(said["replay_error"]) <= 0.1), (took, r))


def manners():
    for name, code, arguments in (("no change", 64, ["one"]), ("no change, as JSON", 64, ["--json", "one"]), ("no folder", 64, ["--ranks", "6"]), ("a word for a factor", 64, ["--network", "fast", "one"]),
                                  ("no network at all", 64, ["--network", "0", "one"]), ("ranks that are no multiple", 2, ["--ranks", "4", "one"]),
                                  ("a rank that there is not", 2, ["--without-delay", "rank:7", "one"]),
                                  ("a folder that there is not", 2, ["--network", "2x", "nowhere"])):
        r = hpctop("whatif", *arguments)
        check("%d for: %s" % (code, name), r.code == code and len(r.err.splitlines()) == 1 and not r.out, r)
    r = hpctop("export", "--format", "ti", "--from", "0.01", "-o", "part.ti", "one")
    check("no part of the time", r.code == 2 and len(r.err.splitlines()) == 1 and not os.path.exists("part.ti"), r)
    r = hpctop("whatif", "--network", "2x", "one", env=dict(os.environ, PATH="/nowhere"))
    check("without SimGrid it says what to install", r.code == 2 and "libsimgrid-dev" in r.err and len(r.err.splitlines()) == 1, r)
    job = start(2, workload("hang_recv"), "stopped")
    wait_for(lambda: len(traces("stopped")) == 2 and all(r["calls"] for r in report("stopped")["ranks"]))
    hung = hpctop("whatif", "--network", "2x", "stopped", env=dict(os.environ, TMPDIR=os.getcwd()))
    stop(job)
    check("a run that cannot end is not replayed, and that is told", hung.code == 2 and len(hung.err.splitlines()) == 1 and "end" in hung.err, hung)
    check("nothing is left of a replay", not glob.glob("hpctop-whatif-*"), glob.glob("hpctop-whatif-*"))


if not PROTOBUF:
    skip("chakra", "no Python here has protobuf")
real()
made()
if SIMGRID:
    changes()
    manners()
else:
    skip("whatif", "SimGrid is not here (Debian: libsimgrid-dev)")
end()
