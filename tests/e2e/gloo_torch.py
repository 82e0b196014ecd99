# timeout: 600
# long
# waits
"""PyTorch on Gloo: its collectives with the Python lines that ask for them, though other threads run them; a group of some
ranks; DistributedDataParallel; who has not come."""
import os
import re

from common import HPCTOP, TOP, check, end, environment, hpctop, python_with_torch, report, run, skip_all
from verdicts import count, hang, hung

HERE = os.path.join(TOP, "tests/e2e/gloo")
LAUNCH, TRAIN = os.path.join(HERE, "launch"), os.path.join(HERE, "train.py")
python = python_with_torch()
if not python:
    skip_all("no PyTorch is here (python3-torch)")
done = run([LAUNCH, "-n", "3", python, TRAIN], environment("ok"))
check("it ends as without libtrace.so", done.code == 0 and done.out.count("done") == 3, done)
rep = report("ok")
got = {c["name"]: (c["calls"], c["bytes_sent"]) for c in rep["calls"]}
# 3 ranks: 1000 floats and those of 20 sizes; 100 of a pair; 5 steps with 110 gradients each.
check("all-reduces, with their bytes", got.get("gloo::allreduce") == (3 * 21 + 2 + 3 * 5, 4 * (3 * (1000 + 210 + 5 * 110) + 200)), got)
check("ranks are those of the environment", [r["rank"] for r in rep["ranks"]] == [0, 1, 2], rep["ranks"])
check("messages, with their bytes", (got.get("gloo::send"), got.get("gloo::recv")) == ((12, 48000), (12, 0)), got)
places = {segment[end] for segment in rep["segments"] for end in ("from", "to")}
check("places are lines of the program, not of PyTorch", places and all(p.startswith("train.py:") for p in places), places)
check("messages have their ends", sorted((p["src"], p["dst"], p["messages"], p["bytes"]) for p in rep["pairs"]) ==
      [(0, 1, 4, 16000), (1, 2, 4, 16000), (2, 0, 4, 16000)], rep["pairs"])
dump = hpctop("dump", "ok").out
named = [line.split("identity=")[1].split()[0] for line in dump.splitlines() if line.startswith("comm ")]
check("a group has one name on its ranks", sorted(map(named.count, set(named))) == [2, 3], named)
with open(TRAIN) as f:
    lines = f.read().splitlines()
for text in ("dist.broadcast(data, 1)", ".backward()", "async_op=True", "group=pair"):
    at = next(i for i, line in enumerate(lines, 1) if text in line)
    check("a path leads to " + text, "train.py:%d" % at in dump, [line for line in dump.splitlines() if "train.py" in line])
done = run([LAUNCH, "-n", "3", python, TRAIN, "timeout"], environment("timeout"))
dump = hpctop("dump", "timeout").out
check("a collective that Gloo ends by an exception has failed", done.out.count("an exception came through") == 3 and
      "gloo::allreduce" in "".join(line for line in dump.splitlines() if "failed" in line), done)
done = run([HPCTOP, "record", "-o", "alone", "--", LAUNCH, "-n", "2", python, TRAIN, "alone"])
said = "rank [01] had libtorch_cpu[^ ]* loaded, but made no call of MPI, NCCL or Gloo that can be seen"
check("a rank in which nothing was recorded says so", done.code == 0 and re.search("nothing was recorded: " + said, done.err), done)
done = hpctop("report", "--all", "alone")
check("the report says so", done.code == 2 and re.search("no trace files .* here: " + said, done.err), done)
with open("alone/unseen.txt") as f:
    check("once each", len(re.findall(said, f.read())) == 2)
port = 20000 + os.getpid() % 12000  # below those of connections
for restart in (0, 1):  # as torchrun starts all ranks again when one has failed
    done = run([LAUNCH, "-n", "2", python, os.path.join(HERE, "again.py")],
               environment("again", TORCHELASTIC_RESTART_COUNT=restart, MASTER_PORT=port))
    check("elastic: start %d runs" % restart, done.code == 0, done)
rep = report("again")
check("elastic: the last start is shown", rep["job"]["ranks"] == 2 and
      [c["calls"] for c in rep["calls"] if c["name"] == "gloo::allreduce"] == [20], rep["calls"])
check("elastic: the report says that there was an earlier one", "2 files of an earlier run in the same folder left out" in
      " ".join(hpctop("report", "--all", "again").out.split()))
hang("owed", 3, hung("unmatched-receive", [0, 1], says="from rank 1"), [python, TRAIN, "owed"], launcher=LAUNCH)
hang("late", 3, hung("missing-in-collective", [1], says="rank 1 has not come to gloo::barrier on gloo"), [python, TRAIN, "late"], launcher=LAUNCH)
hang("groups", 3, hung("missing-in-collective", [2], says="rank 2 has left out gloo::allreduce on gloo"), [python, TRAIN, "groups"], launcher=LAUNCH)
hang("pipeline", 3, hung("wait-cycle", [2], says="3 ranks wait for each other"), [python, TRAIN, "pipeline"], launcher=LAUNCH)
count.show()
end()
