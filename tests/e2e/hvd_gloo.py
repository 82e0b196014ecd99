# timeout: 240
# waits
"""The stand-in for Horovod over Gloo, without MPI: classes of Horovod's names, hidden from the loader's symbols as in its
library.  Its faults are named as over MPI, and what it says, counts and carries is the same."""
import os
import re
import shutil
from functools import partial

from common import TOP, check, end, environment, hpctop, run, skip_all, together
from hvd import FAULTS, HOLD, Hung, look, verdict

HERE = os.path.join(TOP, "tests/e2e/gloo")
LAUNCH = os.path.join(HERE, "launch")
if not shutil.which("g++") or not os.path.exists("/usr/include/gloo/allreduce.h"):
    skip_all("g++ or libgloo-dev is missing")
for command in (["g++", "-w", "-g", "-O1", "-fno-devirtualize", "-fPIC", "-shared", "-Wl,-Bsymbolic-functions,-z,relro,-z,now",
                 "-o", "libstandin.so", HERE + "/standin/controller.cc", "-lgloo"],
                ["gcc", "-D_GNU_SOURCE", "-w", "-g", "-O1", "-I" + HERE + "/standin", "-o", "standin",
                 TOP + "/workloads/hvd_standin.c", "-ldl", "-lpthread"]):
    built = run(command)
    if not check(command[-3] + " is built", built.code == 0, built):
        end()
STANDIN = os.path.abspath("standin")


def hung(name):
    job = Hung(name, name, 3, 1, "-c", "4000", program=STANDIN, launcher=[LAUNCH])
    job.live(1.5, 60)
    job.over()


def trains(name, *more):
    done = run([LAUNCH, "-n", "3", STANDIN, "-s", "60"] + list(more), environment(name))
    plain = run([LAUNCH, "-n", "3", STANDIN, "-s", "60"] + list(more), environment(None, False))
    check(name + ": it ends as without libtrace.so", (done.code, len(done.out)) == (0, len(plain.out)), done)
    found = look(name, 30) or {"sets": [], "verdict": {}}
    check(name + ": healthy", found["verdict"].get("state") == "healthy" and len(found["sets"]) == 1, found)
    for s in found["sets"]:
        wanted = {"allreduce.layer%d.weight" % i: 60 for i in range(4)}
        check(name + ": every tensor, so often as it was reduced", {t["name"]: t["done"] for t in s["tensors"]} == wanted, s["tensors"])
        check(name + ": 60 steps, by Gloo", (s["steps"], s["library"]) == (60, "gloo"), (s["steps"], s["library"]))
    carried, volume = found.get("gradients") or {}, 3 * 60 * 4 * sum(range(1000, 1004))
    check(name + ": all gradients went by Gloo, as the control did",
          (carried.get("bytes"), carried.get("gloo_bytes"), carried.get("control")) == (volume, volume, "gloo"), carried)
    reduced = re.findall(r" gloo::allreduce .* sent=(\d+) received=(\d+) flags=coll ", hpctop("dump", name).out)
    check(name + ": bytes of all tensors", sum(int(n) for n, _ in reduced) == volume, reduced[:5])


def scattered():
    run([LAUNCH, "-n", "3", STANDIN, "-s", "5"], environment("scattered", STANDIN_SCATTER="1"))
    lines = hpctop("dump", "scattered").out
    reduced = [int(n) for n in re.findall(r" gloo::allreduce .* sent=(\d+) received=\d+ flags=coll ", lines)]
    seen = [tuple(map(int, pair)) for pair in re.findall(r" gloo::reduce_scatter .* sent=(\d+) received=(\d+) flags=coll ", lines)]
    check("reduce_scatter: as often as allreduce, with its bytes", reduced and sorted(seen) ==
          sorted((n, part) for n in reduced[:len(reduced) // 3] for part in (4, 4, n - 8)), (reduced[:3], seen[:6]))


def killed():
    """All lose their connections at once: the rank that lost none was killed."""
    run([LAUNCH, "-n", "3", STANDIN, "-f", "kill", "-s", "1000"], environment("kill"))
    found = verdict("kill", 30) or {}
    check("kill: who was killed", (found.get("class"), found.get("culprits")) == ("dead-rank", [1]) and
          "lost their connections" in " ".join(found["evidence"]), found)
    failed = re.findall("gloo::allreduce .*failed", hpctop("dump", "kill").out)
    check("kill: calls of the others failed", len(failed) == 2, failed)


together([partial(hung, name) for name in FAULTS] + [partial(trains, "plain"), partial(trains, "uncached", "-k", "0"), scattered, killed])
end()
