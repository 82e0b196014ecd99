# timeout: 900
"""A real torchrun, that of Debian trixie's PyTorch: ranks of one node and of two, DistributedDataParallel with the Python lines
of its collectives, and a rank that fails at the first start, after which torchrun starts all ranks again."""
import concurrent.futures
import os
import shutil
import tempfile

from common import TOP, check, end, hpctop, report
from root import PRELOAD, Root, unpack

root = Root(unpack("trixie", "torch", ["python3-torch", "python3-numpy"]), {"OMP_NUM_THREADS": "1", "USE_LIBUV": "0",
                                                                                     "TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1"})
for program in ("train.py", "again.py"):
    shutil.copy(os.path.join(TOP, "tests/e2e/gloo", program), ".")
with open("fails.py", "w") as f:
    f.write("import os, sys\nfirst = os.environ['TORCHELASTIC_RESTART_COUNT'] == '0'\nexec(open('again.py').read())\n"
            "sys.exit(first and os.environ['RANK'] == '1')\n")


def torchrun(folder, *words, before=()):
    return root.run([*before, "torchrun", *words], 150, **({"LD_PRELOAD": PRELOAD, "HPCTOP_DIR": os.path.abspath(folder)} if folder else {}))


def calls_of(folder):
    return {c["name"]: (c["calls"], c["bytes_sent"]) for c in report(folder)["calls"]}


def hold(where, folder, done, ranks):
    check(where + ": it ends as without libtrace.so", all(d.code == 0 for d in done) and "".join(d.out for d in done).count("done") == ranks, done)
    rep = report(folder)
    check(where + ": the ranks of one job", rep and sorted(r["rank"] for r in rep["ranks"]) == list(range(ranks)), rep and rep["ranks"])
    # As tests/e2e/gloo_torch.py has it: each rank's 1000 floats, those of 20 sizes, 5 steps of 110 gradients; 100 of a pair.
    want = (ranks * (1 + 20 + 5) + 2, 4 * (ranks * (1000 + 210 + 5 * 110) + 200))
    check(where + ": all-reduces, with their bytes", rep and calls_of(folder).get("gloo::allreduce") == want, rep and calls_of(folder))
    dump = hpctop("dump", folder).out
    line = next(i for i, text in enumerate(open("train.py"), 1) if ".backward()" in text)
    check(where + ": a path leads to the line", "train.py:%d" % line in dump, dump[-300:])


def agent(nodes):
    """Options of each agent of a job of its own, which meet by a file: this PyTorch has no libuv, which their stores need."""
    return ["--nnodes", str(nodes), "--nproc-per-node", "2", "--rdzv-backend", "c10d", "--rdzv-conf", "store_type=file",
            "--rdzv-id", "job", "--rdzv-endpoint", tempfile.mktemp(dir=os.getcwd()), "--local-addr", "127.0.0.1"]


bare = torchrun(None, *agent(1), "train.py")
if check("torchrun runs", bare.code == 0, bare):
    hold("one node", "one", [torchrun("one", *agent(1), "train.py")], 2)
    two = agent(2)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        other = ["sh", "-c", "true & wait; \"$0\" \"$@\""]  # an agent's name is host and process, and each is in a namespace of its own
        agents = [pool.submit(torchrun, "two", *two, "train.py", before=before) for before in ((), other)]
        hold("two nodes", "two", [started.result() for started in agents], 4)
    done = torchrun("again", *agent(1), "--max-restarts", "1", "fails.py")
    check("a rank fails once: torchrun starts again", done.code == 0, done)
    check("a rank fails once: the last start is shown", calls_of("again").get("gloo::allreduce", (0, 0))[0] == 2 * 10, calls_of("again"))
    check("a rank fails once: the report says that there was an earlier start", "2 files of an earlier run in the same folder left out" in
          " ".join(hpctop("report", "--all", "again").out.split()), hpctop("report", "again").out[-600:])
end()
