# timeout: 200
"""NCCL workloads on the GPU double (tests/gpu_double): every count and byte of the report is what the workload worked
out; communicators and instances are the same on all ranks; a process without MPI is traced too."""
import collections
import glob
import os
import re

from common import BUILD, LIBTRACE, TOP, check, end, environment, hpctop, report, run
from truths import hold

DOUBLE = os.path.join(BUILD, "gpu_double")


def program(name):
    return os.path.join(BUILD, "workloads/nccl", name)


def mpirun(ranks, command, folder=None, preload=True, timeout=60, **env):
    return run(["mpirun", "-n", str(ranks)] + command, environment(folder, preload, LD_LIBRARY_PATH=DOUBLE, **env), timeout)


def dump_of(folder):
    return hpctop("dump", folder).out


# The double itself.
r = mpirun(2, [program("allreduce_sweep"), "32768"], preload=False, GPU_DOUBLE_FAULT="error:1:0")
check("a fault on demand is an error", r.code not in (0, None), r)
r = mpirun(2, [program("allreduce_sweep"), "32768"], preload=False, GPU_DOUBLE_FAULT="block:1:0", timeout=4)
check("a collective that one rank does not start never ends", r.code is None, r)

for ranks in (2, 4):
    hold("allreduce_sweep", ["65536"], ranks, mpirun, program)
    held = hold("collectives", [], ranks, mpirun, program)
    if not held:
        continue
    label, folder = "collectives x%d" % ranks, "trace-collectives-x%d" % ranks
    rep, text, dump = held[1], hpctop("report", "--all", folder).out, dump_of(folder)
    check(label + ": time in NCCL", len(rep["ranks"]) == ranks and all(k["nccl_s"] > 0 for k in rep["ranks"]), rep["ranks"])
    check(label + ": the report names NCCL's bytes and what is not known",
          re.search(r"NCCL: \d+ calls, .* sent", text) and "those of the host" in text, text)
    comms = re.findall(r"identity=(\w+) .*by=ncclComm(\w+)", dump)
    roots = {i for i, by in comms if by == "InitRank"}
    halves = [i for i, by in comms if by == "Split"]
    check(label + ": a communicator is the same on all ranks", len(roots) == 2
          and all(comms.count((i, "InitRank")) == ranks for i in roots), comms)
    check(label + ": parts of a split are told apart", len(set(halves)) == 2 and len(halves) == ranks
          and not roots & set(halves), halves)
    ring = [(p["src"], p["dst"], p["sends"], p["bytes_sent"], p["receives"], p["bytes_received"]) for p in rep["nccl_pairs"]]
    check(label + ": who sent to whom", ring == [(r, (r + 1) % ranks, 6, 600, 6, 600) for r in range(ranks)], ring)
    how = [(n["algorithm"], n["protocol"], n["channels_max"]) for n in rep["nccl"]]
    check(label + ": how NCCL did it, where it said so", ("RING", "LL", 2) in how and (None, None, None) in how, how)
    times = collections.Counter()
    for c in rep["collectives"]:
        times[c["communicator"]] += c["instances"] * (c["name"] == "ncclAllReduce")
    check(label + ": instances are matched", max(times.values()) == 12 and re.search(r"ncclAllReduce\s+coll\S+c:\d+\s+nccl", text), (times, text))
    grouped = [line for line in dump.splitlines() if "grouped" in line]
    check(label + ": calls of a group are marked", len(grouped) > 0
          and not any("ncclBroadcast" in line for line in grouped), grouped[:3])

# Communicators made out of others have names that are equal on all ranks, and NCCL's own.
held = hold("grow", [], 3, lambda n, c, *rest, **env: mpirun(n, c, *rest, HPCTOP_NCCL="symbols,plugin,NVTX", **env), program)
if held:
    comms = re.findall(r"identity=(\w+) .*by=ncclComm(\w+)", dump_of("trace-grow-x3"))
    for by, ranks in (("InitRank", 2), ("Grow", 3), ("Split", 3)):
        names = [i for i, b in comms if b == by]
        check("grow: %s is the same on its ranks" % by, len(names) == ranks * (1 + (by == "Grow"))
              and all(names.count(i) == ranks for i in names), comms)
    check("grow: the plugin and the ranges mean the same communicators", len(comms) == 2 + 6 + 3, comms)

# One process with four GPUs: communicators of one identity, each rank's operations by themselves.
source = """
#include <nccl.h>
#include <stdio.h>
#define N 4
static int reduce(int rounds)
{
    ncclComm_t comm[N];
    cudaStream_t stream[N];
    float *data[N];
    int devices[N], bad = 0;
    for (int i = 0; i < N; i++) {
        devices[i] = i;
        bad |= cudaSetDevice(i) || cudaStreamCreate(&stream[i]) || cudaMalloc((void **)&data[i], 4096);
    }
    cudaSetDevice(0);
    bad |= ncclCommInitAll(comm, N, devices);
    for (int round = 0; round < rounds && !bad; round++) {
        ncclGroupStart();
        for (int i = 0; i < N; i++)
            bad |= ncclAllReduce(data[i], data[i], 1024, ncclFloat32, ncclSum, comm[i], stream[i]);
        bad |= ncclGroupEnd();
        for (int i = 0; i < N; i++)
            bad |= cudaSetDevice(i) || cudaStreamSynchronize(stream[i]);
    }
    usleep(200000); /* until somebody has seen that they are complete */
    for (int i = 0; i < N; i++)
        ncclCommDestroy(comm[i]);
    return bad;
}
int main(int argc, char **argv)
{
    (void)argv;
    if (argc == 1)
        return reduce(10);
    int bad = reduce(600); /* more than there are slots, so that each has had its events */
    bad |= cudaSetDevice(2) || cudaDeviceReset();
    return bad || reduce(600);
}
"""
with open("four.c", "w") as f:
    f.write("#include <unistd.h>\n" + source)
r = run(["gcc", "-I" + os.path.join(TOP, "tests/gpu_double/include"), "-o", "four", "four.c", "-L" + DOUBLE,
         "-Wl,-rpath-link," + DOUBLE, "-lnccl", "-lcudart"])
check("four compiles", r.code == 0, r)
r = run(["./four"], environment("four-trace", True, LD_LIBRARY_PATH=DOUBLE))
dump = dump_of("four-trace") if r.code == 0 else ""
comms = re.findall(r"identity=(\w+) .*by=ncclCommInitAll", dump)
ops = re.findall(r"^op \d+: (\w+) ncclAllReduce comm=(\d+)\(.*?\) sequence=(\d+)", dump, re.M)
check("four GPUs in a process: one communicator, four ranks of it", r.code == 0 and len(comms) == 4 and len(set(comms)) == 1, (r, comms))
check("four GPUs in a process: every operation, numbered by rank", len(ops) == 40
      and all(sorted(int(s) for _, c, s in ops if c == comm) == list(range(10)) for comm in {c for _, c, _ in ops}), ops)
check("four GPUs in a process: all are seen to complete", [s for s, _, _ in ops] == ["completed"] * 40, ops)
r = run(["./four", "reset"], environment("four-reset", True, LD_LIBRARY_PATH=DOUBLE))
check("four GPUs in a process: the reset of one is noticed, no event of before is used", r.code == 0
      and "context that is gone" not in r.err, r)

# Those who stay after a shrink have one communicator; a Config call is the collective that it is.
source = """
#include <mpi.h>
#include <nccl.h>
int main(int argc, char **argv)
{
    int me, n, out = 0, bad = 0;
    ncclUniqueId id;
    ncclComm_t comm, fewer;
    cudaStream_t stream;
    float *data;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    cudaSetDevice(0);
    if (me == 0)
        ncclGetUniqueId(&id);
    MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD);
    bad |= ncclCommInitRank(&comm, n, id, me) || cudaStreamCreate(&stream) || cudaMalloc((void **)&data, 4096);
    for (int i = 0; i < 2 && me > 0; i++) {
        bad |= ncclCommShrink(comm, &out, 1, &fewer, NULL, 0);
        bad |= ncclAllReduceConfig(data, data, 1024, ncclFloat32, ncclSum, fewer, stream, NULL) || cudaStreamSynchronize(stream);
    }
    MPI_Finalize();
    return bad;
}
"""
with open("shrink.c", "w") as f:
    f.write(source)
r = run(["mpicc", "-I" + os.path.join(TOP, "tests/gpu_double/include"), "-o", "shrink", "shrink.c", "-L" + DOUBLE,
         "-Wl,-rpath-link," + DOUBLE, "-lnccl", "-lcudart"])
check("shrink compiles", r.code == 0, r)
r = mpirun(3, ["./shrink"], "shrunk")
dump = dump_of("shrunk") if r.code == 0 else ""
comms = re.findall(r"identity=(\w+) .*by=ncclCommShrink", dump)
check("shrink: two communicators, each the same on both ranks that stay", len(comms) == 4 and len(set(comms)) == 2
      and all(comms.count(c) == 2 for c in comms), (r, comms))
check("a Config call is counted with its bytes", re.search(r"^ *ncclAllReduceConfig +4 ", hpctop("report", "--all", "shrunk").out, re.M), hpctop("report", "shrunk").out)

# What is no configuration is not read as one: NCCL refuses it, and nobody dies.
source = """
#include <nccl.h>
#include <string.h>
int main(void)
{
    ncclUniqueId id;
    ncclComm_t comm;
    union { ncclConfig_t config; char bytes[256]; } u;
    memset(&u, 0x41, sizeof u);
    u.config.size = 200;
    cudaSetDevice(0);
    return ncclGetUniqueId(&id) || ncclCommInitRankConfig(&comm, 1, id, 0, &u.config) != ncclInvalidArgument;
}
"""
with open("config.c", "w") as f:
    f.write(source)
r = run(["gcc", "-I" + os.path.join(TOP, "tests/gpu_double/include"), "-o", "config", "config.c", "-L" + DOUBLE,
         "-Wl,-rpath-link," + DOUBLE, "-lnccl", "-lcudart"])
check("config compiles", r.code == 0, r)
r = run(["./config"], environment("config-trace", True, LD_LIBRARY_PATH=DOUBLE))
check("a configuration that is none", r.code == 0 and "ncclCommInitRankConfig" in dump_of("config-trace"), r)

# Communicators that are made and destroyed do not fill memory.
os.makedirs("empty", exist_ok=True)
for flags in (["-shared", "-fPIC", "-Wl,-soname,libnccl.so.2", "-o", "empty/libnccl.so.2"],
              ["-DPROGRAM", "-o", "empty/nccl_empty", "empty/libnccl.so.2", "-ldl"]):
    r = run(["gcc", "-O2", "-I" + TOP, os.path.join(TOP, "tests/bench/nccl_empty.c")] + flags)
    check("nccl_empty compiles", r.code == 0, r)
r = run(["empty/nccl_empty", "comms", "100000"], environment("many", True, LD_LIBRARY_PATH=os.path.abspath("empty"),
                                                             HPCTOP_LIMIT="64M"))
grown = re.search(r'"grown_kb": (-?\d+)', r.out)
check("a hundred thousand communicators, made and destroyed", r.code == 0 and grown and int(grown.group(1)) < 4096, r)

# Before 2.26 NCCL hashed ids in another way.
r = mpirun(2, [program("allreduce_sweep"), "32"], "old", GPU_DOUBLE_NCCL_VERSION="22105")
comms = re.findall(r"identity=(\w+) .*by=ncclCommInitRank", dump_of("old"))
check("an old NCCL", r.code == 0 and len(comms) == 2 and len(set(comms)) == 1 and "nccl: 2.21.5" in dump_of("old"), comms)


# No MPI in the process: by mpirun, and as torchrun would start it.
def torchrun(ranks, command, folder=None, preload=True, **env):
    shell = " & ".join("RANK=%d %s" % (i, " ".join(command)) for i in range(ranks))
    return run(["sh", "-c", shell + " & wait"], environment(folder, preload, LD_LIBRARY_PATH=DOUBLE, WORLD_SIZE=ranks, **env))


for launch in (mpirun, torchrun):
    os.path.exists("id") and os.remove("id")
    held = hold("without_mpi", ["./id"], 2, launch, program)
    if held:
        check("without MPI: ended", held[1]["job"]["state"] == "finished", held[1]["job"])
        run(["rm", "-rf", "trace-without_mpi-./id-x2", "trace-without_mpi-"])

# Started by hand, without a word of who belongs together: what they meet by says it, and names the folder.
os.path.exists("id") and os.remove("id")
r = torchrun(2, [program("without_mpi"), "./id"])
folders = glob.glob("hpctop-*")
rep = report(folders[0]) if len(folders) == 1 else None
check("by hand: one folder, one world", r.code == 0 and rep and [(k["world"], k["rank"]) for k in rep["ranks"]] == [(0, 0), (0, 1)],
      (r, folders, rep and rep["ranks"]))

# A program that has no NCCL at all is not told that it has.
source = """
#include <dlfcn.h>
extern int ncclAllReduce(void) __attribute__((weak));
extern int ncclCommInitRankConfig(void) __attribute__((weak));
int main(void) { return ncclAllReduce || ncclCommInitRankConfig || dlsym(RTLD_DEFAULT, "ncclAllReduce"); }
"""
with open("weak.c", "w") as f:
    f.write(source)
run(["gcc", "-fPIE", "-pie", "-o", "weak", "weak.c", "-ldl"])
r = run(["./weak"], environment("none", True))
check("a program without NCCL does not find NCCL", r.code == 0 and not os.path.exists("none"), r)
end()
