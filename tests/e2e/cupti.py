# timeout: 300
"""CUPTI on the GPU double: kernels and copies of every generation of records are in the trace with the times they had,
what is computed from them is what their spans say, others who use CUPTI are left alone, and where there is none the
trace says why."""
import glob
import os
import re
import shutil

from common import BUILD, LIBTRACE, check, end, environment, hpctop, report, run, skip
from truths import hold

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DOUBLE = os.path.join(BUILD, "gpu_double")


def program(name):
    return os.path.join(BUILD, "workloads/nccl", name)


def launch(ranks, command, folder=None, preload=True, timeout=90, double=DOUBLE, **env):
    return run(["mpirun", "-n", str(ranks)] + command, environment(folder, preload, LD_LIBRARY_PATH=double, **env), timeout)


def compile_busy(name):
    return run(["mpicc", "-D_GNU_SOURCE", "-I" + os.path.join(TOP, "workloads/nccl"), "-I" + os.path.join(TOP, "tests/gpu_double/include"),
                "-o", name, name + ".c", "-L" + DOUBLE, "-Wl,-rpath-link," + DOUBLE, "-lcudart", "-lfgpu", "-ldl"])


class Rank:
    """What the dump of one rank's file says of its streams and of NCCL's calls: (begin, end, what) in seconds."""

    def __init__(self, text):
        self.facts = dict(re.findall(r"^fact ([\w.]+): (.*)$", text, re.M))
        self.rank = int(re.search(r"^rank: (\d+) of", text, re.M).group(1))
        self.streams = {int(t): int(n) for t, n in re.findall(r"^thread (\d+): stream=.* number=(\d+)$", text, re.M)}
        self.kernels, self.copies, self.calls = [], [], []
        for line in re.findall(r"^\d+ +[\d.]+ [\d.]+ .*$", text, re.M):
            thread, begin, took, name, *more = line.split()
            begin, took, more = float(begin), float(took), " ".join(more)
            span = (begin, begin + took)
            if name == "kernel":
                self.kernels.append(span + (more, self.streams[int(thread)]))
            elif name.startswith("memcpy"):
                self.copies.append(span + (name,))
            elif name.startswith("nccl") and "coll+enqueue" in more:
                sequence = int(re.search(r"sequence=(\d+)", more).group(1))
                identity = re.search(r"comm=\d+\((.*?)\)", more).group(1)
                stream = re.search(r"object=(\d+)", more)
                size = int(re.search(r"sent=(\d+)", more).group(1)) if "sent=" in more else 0
                self.calls.append((begin, begin + took, name, identity, sequence, int(stream.group(1)) if stream else 0, size))


def ranks_of(folder, ranks=2):
    """What the files of a folder say, of which there is one for each rank."""
    files = sorted(os.path.join(folder, f) for f in os.listdir(folder) if f.endswith(".hpctop"))
    if len(files) != ranks:
        check("%s has a file for each of %d ranks" % (folder, ranks), False, files)
    return [Rank(hpctop("dump", f).out) for f in files]


def union(spans):
    out = []
    for begin, end_ in sorted(s[:2] for s in spans):
        if out and begin <= out[-1][1]:
            out[-1][1] = max(out[-1][1], end_)
        else:
            out.append([begin, end_])
    return out


def length(spans):
    return sum(e - b for b, e in spans)


def both(a, b):
    return sum(max(0, min(x[1], y[1]) - max(x[0], y[0])) for x in a for y in b)


def is_nccl(kernel):
    return "ncclDevKernel" in kernel[2]


def near(a, b, slack=2e-6):
    return a is not None and abs(a - b) <= slack


# Records of every size, and a CUPTI that has no clock to register while the GPU's is an hour off.
for label, env in [("%d bytes" % n, {"GPU_DOUBLE_CUPTI_RECORD": str(n)}) for n in (144, 160, 216)] + [
        ("no clock", {"GPU_DOUBLE_CUPTI_VERSION": "16", "GPU_DOUBLE_CUPTI_SKEW": "3600000000000"})]:
    label, folder = "records, " + label, "trace-" + label.replace(" ", "-")
    r = launch(2, [program("allreduce_sweep"), "8192"], folder, **env)
    check(label + ": runs", r.code == 0, r)
    for i, rank in enumerate(ranks_of(folder)):
        calls = rank.calls
        nccl = sorted(rank.kernels)
        check("%s: rank %d: a kernel for each call, and all copies" % (label, i),
              len(nccl) == len(calls) == 30 and len(rank.copies) == 60, (len(nccl), len(calls), len(rank.copies)))
        early = [(k[0] - c[0]) for c, k in zip(calls, nccl) if k[0] < c[0] - 1e-4 or k[3] != c[5]]
        late = [k for k, c in zip(nccl, calls[1:]) if k[1] > c[0] + 1e-4]
        check("%s: rank %d: each on the stream of its call, after it and before the next" % (label, i), not early and not late,
              (early, late))

# Bandwidth and skew, worked out again from the spans.
held = hold("two_comms", [], 3, launch, program)
if held:
    rep, ranks = held[1], ranks_of("trace-two_comms-x3", 3)
    for row in rep["nccl"]:
        took = {}
        for rank in ranks:
            for number in set(rank.streams.values()):
                calls = [c for c in rank.calls if c[5] == number]
                kernels = sorted(k for k in rank.kernels if k[3] == number)
                for c, k in zip(calls, kernels):
                    if (c[2], c[3]) == (row["name"], row["communicator"]):
                        took.setdefault(c[4], []).append(k[1] - k[0])
        whole = {s: t for s, t in took.items() if len(t) == 3}
        size, factor = (65536, 4 / 3) if row["name"] == "ncclAllReduce" else (1024, 1)
        algbw = size * len(whole) / sum(min(t) for t in whole.values())
        label = "two communicators: " + row["name"]
        check(label + ": all are timed", row["timed"] == len(whole) == 8 and row["calls"] == 24 and row["ranks"] == 3, row)
        check(label + ": bandwidth", abs(row["algbw"] / algbw - 1) < 1e-3 and abs(row["busbw"] / row["algbw"] - factor) < 1e-9,
              (row, algbw))
        skews = sorted(max(t) - min(t) for t in whole.values())
        check(label + ": skew", skews[0] * 0.9 <= row["skew_p50_s"] <= skews[-1] * 1.1, (row, skews))
        if row["name"] == "ncclAllReduce":
            check(label + ": the rank that comes late is seen in it", row["skew_p50_s"] > 0.004, row)
    check("two communicators: two rows", sorted(r["name"] for r in rep["nccl"]) == ["ncclAllReduce", "ncclBroadcast"], rep["nccl"])
    libraries = {l["name"]: l for l in rep["libraries"]}
    check("two communicators: who carried the bytes", libraries["MPI"]["bytes_sent"] == 256
          and libraries["NCCL"]["bytes_sent"] == 3 * 8 * 65536 + 8 * 1024 and libraries["copies"]["calls"] == 0, libraries)

# Overlap: the same unions, by the book.
held = hold("overlap", ["6", "40000"], 2, launch, program)
if held:
    rep = held[1]
    for i, rank in enumerate(ranks_of("trace-overlap-6-40000-x2")):
        nccl, compute = union(k for k in rank.kernels if is_nccl(k)), union(k for k in rank.kernels if not is_nccl(k))
        want = {"compute_s": length(compute), "communication_s": length(nccl), "overlap_s": both(nccl, compute),
                "exposed_s": length(nccl) - both(nccl, compute), "busy_s": length(union(rank.kernels))}
        gpu = [g for g in rep["gpus"] if g["rank"] == rank.rank][0]
        wrong = {k: (gpu[k], v) for k, v in want.items() if not near(gpu[k], v, 5e-6)}
        check("overlap: file %d: the unions of its spans" % i, not wrong and gpu["kernels"] == 18, wrong)
        check("overlap: file %d: some of it is behind the kernels, some is not" % i,
              gpu["overlap_s"] > 0 and gpu["exposed_s"] > 0, gpu)
    names = [(k["name"], k["calls"]) for k in rep["kernels"]]
    check("overlap: kernels by name", ("busy_kernel", 12) in names and sum(n for _, n in names) == 36, names)
    text = hpctop("report", "--all", "trace-overlap-6-40000-x2").out
    check("overlap: the report shows it", re.search(r"^ busy_kernel +12 ", text, re.M) and "exposed" in text, text)
    check("overlap: time in MPI is not that of NCCL or its kernels",
          all(k["mpi_s"] < k["wall_s"] and k["calls"] < 40 for k in rep["ranks"]), rep["ranks"])

# Two streams begin at once while a buffer is asked for: the double once noted both in one place, and lost a kernel.
r = launch(2, [program("overlap"), "2", "40000"], "at-once", GPU_DOUBLE_CUPTI_ASK="300")
check("two kernels that begin while a buffer is asked for", r.code == 0 and [len(rank.kernels) for rank in ranks_of("at-once")] == [6, 6]
      and not any("gpu.missing" in rank.facts for rank in ranks_of("at-once")), (r, [rank.facts for rank in ranks_of("at-once")]))

# CUDA and MPI, no NCCL: seen from the first kernel on where the driver tells us, else once a second.
os.symlink(LIBTRACE, "ours.so")
TOLD = {"CUDA_INJECTION64_PATH": LIBTRACE}
for label, arguments, env in [
        ("told by the driver", [], TOLD), ("seen by itself", ["2500"], {}),
        ("told while another thread of ours is at it", [], dict(TOLD, GPU_DOUBLE_TELL="late", GPU_DOUBLE_CUPTI_SLOW="300")),
        ("told by another name of ours", [], {"CUDA_INJECTION64_PATH": os.path.abspath("ours.so")})]:
    shutil.rmtree("trace-" + "-".join(["cuda_mpi"] + arguments + ["x2"]), ignore_errors=True)
    held = hold("cuda_mpi", arguments, 2, lambda *a, **more: launch(*a, **dict(more, **env)), program)
    if held:
        gpus = held[1]["gpus"]
        check("cuda_mpi, %s: kernels and copies" % label,
              len(gpus) == 2 and all((g["kernels"], g["copies"], g["bytes_to_device"], g["bytes_from_device"])
                                     == (100, 2, 1 << 20, 8) for g in gpus), gpus)

# A program that profiles itself is left alone, and the trace says until when kernels were timed.
held = hold("profiler", [], 2, launch, program)
if held:
    for rank in ranks_of("trace-profiler-x2"):
        check("profiler: what was before is kept, and why it ends is said",
              len(rank.kernels) == 7 and "until another profiler came" in rank.facts.get("gpu.kernels", ""), rank.facts)
    check("profiler: the report says so", "until another profiler came" in hpctop("report", "--all", "trace-profiler-x2").out)

for label, arguments, env, kept, says in [
        ("looks its functions up", ["dlsym"], {}, 7, "until another profiler came"),
        ("finds a buffer of ours in CUPTI", [], {"GPU_DOUBLE_CUPTI_EAGER": "1"}, 7, "until another profiler came"),
        ("was there first", ["first"], {}, 0, "not timed: another profiler was there first")]:
    run(["rm", "-rf", "trace-profiler-%s" % "-".join(arguments + ["x2"]), "trace-profiler-x2"])
    held = hold("profiler", arguments, 2, lambda *a, **more: launch(*a, **dict(more, **env)), program)
    for rank in ranks_of("trace-profiler-" + "-".join(arguments + ["x2"])) if held else []:
        check("a profiler that %s is left alone, and that is said" % label,
              len(rank.kernels) == kept and says in rank.facts.get("gpu.kernels", ""), (len(rank.kernels), rank.facts))

# An object that was linked without CUPTI, and finds it only in the scope of the one that loaded it.
source = {"part": """
int cuptiSubscribe(void **, void *, void *);
int part(void);
int part(void)
{
    void *subscriber;
    return cuptiSubscribe(&subscriber, 0, 0);
}
""", "whole": """
#include <stdint.h>
int cuptiGetVersion(uint32_t *);
int part(void);
int whole(void);
int whole(void)
{
    uint32_t version;
    return cuptiGetVersion(&version) || part();
}
""", "local": """
#include <dlfcn.h>
#include <mpi.h>
#include <cuda_runtime.h>
int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    void *library = dlopen("./libwhole.so", RTLD_NOW | RTLD_LOCAL);
    cudaSetDevice(0); /* the driver tells the recorder, which looks at what is loaded */
    int (*whole)(void) = library ? (int (*)(void))dlsym(library, "whole") : 0;
    int bad = whole ? whole() : 100;
    MPI_Finalize();
    return bad;
}
"""}
compiled = True
for name, out, before, after in [("part", "libpart.so", ["-shared", "-fPIC"], []),
                                 ("whole", "libwhole.so", ["-shared", "-fPIC"], ["-lpart", "-lcupti"]),
                                 ("local", "local", [], ["-lcudart", "-ldl"])]:
    with open(name + ".c", "w") as f:
        f.write(source[name])
    r = run(["mpicc"] + before + ["-I" + os.path.join(TOP, "tests/gpu_double/include"), "-o", out, name + ".c", "-L" + DOUBLE, "-L.",
             "-Wl,-rpath-link," + DOUBLE] + after)
    compiled = check(name + " compiles", r.code == 0, r) and compiled
r = run(["mpirun", "-n", "1", "./local"], environment("local-trace", True, LD_LIBRARY_PATH=DOUBLE + ":.", **TOLD)) if compiled else None
check("a caller that has CUPTI from who loaded it reaches it", r and r.code == 0, r)
if r and r.code == 0:
    facts = ranks_of("local-trace", 1)[0].facts
    check("and is known for another profiler", "it called cuptiSubscribe" in facts.get("gpu.kernels", ""), facts)

# A stream made again at the address of another is another.
source = """
#include <mpi.h>
#include <nccl.h>
int main(int argc, char **argv)
{
    int me, n, bad = 0;
    ncclUniqueId id;
    ncclComm_t comm;
    float *device;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    cudaSetDevice(0);
    if (me == 0)
        ncclGetUniqueId(&id);
    MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD);
    bad |= ncclCommInitRank(&comm, n, id, me) || cudaMalloc((void **)&device, 64);
    for (int i = 0; i < 5 && !bad; i++) {
        cudaStream_t stream;
        bad |= cudaStreamCreate(&stream) || ncclAllReduce(device, device, 16, ncclFloat32, ncclSum, comm, stream) ||
               cudaStreamSynchronize(stream) || cudaStreamDestroy(stream);
    }
    MPI_Finalize();
    return bad;
}
"""
with open("again.c", "w") as f:
    f.write(source)
r = run(["mpicc", "-I" + os.path.join(TOP, "tests/gpu_double/include"), "-o", "again", "again.c", "-L" + DOUBLE,
         "-Wl,-rpath-link," + DOUBLE, "-lnccl", "-lcudart"])
check("again compiles", r.code == 0, r)
r = launch(2, ["./again"], "streams-again")
for rank in ranks_of("streams-again") if r.code == 0 else []:
    check("streams made one after the other: each call has the kernel of its own",
          len(rank.calls) == 5 and [c[5] for c in rank.calls] == [k[3] for k in sorted(rank.kernels)]
          and len({c[5] for c in rank.calls}) == 5, (rank.calls, rank.kernels))
check("again runs", r.code == 0, r)

# No kernel times, and why.
without = os.path.abspath("double-without-cupti")
os.makedirs(without, exist_ok=True)
for name in os.listdir(DOUBLE):
    if "cupti" not in name:
        shutil.copy(os.path.join(DOUBLE, name), without)
for label, why, double, env in [
        ("HPCTOP_CUPTI=0", "HPCTOP_CUPTI=0", DOUBLE, {"HPCTOP_CUPTI": "0"}),
        ("refused", "refuses", DOUBLE, {"GPU_DOUBLE_CUPTI_REFUSE": "1"}),
        ("too buggy", "13.0.0", DOUBLE, {"GPU_DOUBLE_CUPTI_VERSION": "130000"}),
        ("another tool's process", "another tool", DOUBLE, {"CUDA_INJECTION64_PATH": "libother.so"}),
        ("Nsight Systems", "Nsight Systems", DOUBLE, {"NSYS_PROFILING_SESSION_ID": "1"}),
        ("no libcupti", "no libcupti", without, {})]:
    if label == "no libcupti" and any(os.path.exists("/usr/local/cuda/%s/libcupti.so.13" % f) for f in ("lib64", "extras/CUPTI/lib64")):
        skip("no libcupti", "this machine has a toolkit's, where one is looked for")
        continue
    folder = "trace-" + label.replace(" ", "-")
    r = launch(2, [program("allreduce_sweep"), "32"], folder, double=double, **env)
    rep, text = report(folder), hpctop("report", "--all", folder).out
    check(label + ": the program runs, and the report says why nothing is timed",
          r.code == 0 and not rep["gpus"] and why in (rep["kernels_unknown"] or "") and why in " ".join(text.split()),
          (r, rep["kernels_unknown"]))
    check(label + ": calls and bytes are there, bandwidth is not",
          len(rep["nccl"]) == 2 and all(n["calls"] == 10 and n["algbw"] is None and n["timed"] == 0 for n in rep["nccl"]), rep["nccl"])
    copies = [l for l in rep["libraries"] if l["name"] == "copies"]
    check(label + ": of copies and kernels' times nothing is known, not none",
          [l["calls"] for l in copies] == [None] and all(n["kernel_s"] is None for n in rep["nccl"]), (copies, rep["nccl"]))

# Dropped records are counted; a kernel that has not ended is told.
r = launch(2, [program("allreduce_sweep"), "8192"], "dropped", GPU_DOUBLE_CUPTI_DROP="3")
check("dropped records are counted", r.code == 0 and report("dropped")["job"]["lost_records"] == 2 * 30, report("dropped")["job"])
r = launch(2, [program("allreduce_sweep"), "32"], "stuck", GPU_DOUBLE_CUPTI_STUCK="1")
missing = [rank.facts.get("gpu.missing", "") for rank in ranks_of("stuck")]
check("a CUPTI that never comes back holds up nobody, and that is told", r.code == 0 and len(missing) == 2
      and all("had not given back" in m for m in missing), (r, missing))
check("and the calls are there", sum(n["calls"] for n in report("stuck")["nccl"]) == 20, report("stuck")["nccl"])
source = """
#include "busy.h"
#include <mpi.h>
#include <unistd.h>
int fgpu_kernels_now(void);
int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    cudaStream_t one, other;
    if (cudaStreamCreate(&one) || cudaStreamCreate(&other) || busy(one, 100) || busy(other, 60000000))
        return 1;
    cudaStreamSynchronize(one);
    while (fgpu_kernels_now() == 0) /* else it would not be known to CUPTI either */
        usleep(1000);
    MPI_Finalize();
    _exit(0);
}
"""
with open("endless.c", "w") as f:
    f.write(source)
r = compile_busy("endless")
check("endless compiles", r.code == 0, r)
with open("alarmed.c", "w") as f:
    f.write("""
#include "busy.h"
#include <mpi.h>
#include <signal.h>
#include <sys/time.h>
static void nothing(int number)
{
    (void)number;
}
int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    cudaStream_t stream;
    if (cudaStreamCreate(&stream) || busy(stream, 100))
        return 1;
    cudaStreamSynchronize(stream);
    sigaction(SIGALRM, &(struct sigaction){.sa_handler = nothing, .sa_flags = SA_RESTART}, NULL);
    setitimer(ITIMER_REAL, &(struct itimerval){{0, 100000}, {0, 100000}}, NULL);
    MPI_Finalize();
}
""")
r = compile_busy("alarmed")
check("alarmed compiles", r.code == 0, r)
for stuck, what in (("1", "CUPTI never comes back"), ("2", "who writes never comes back")):
    r = launch(1, ["./alarmed"], "alarmed" + stuck, GPU_DOUBLE_CUPTI_STUCK=stuck, CUDA_INJECTION64_PATH=LIBTRACE)
    facts = ranks_of("alarmed" + stuck, 1)[0].facts
    check("signals do not make the end of a program wait longer: " + what,
          r.code == 0 and "had not given back" in facts.get("gpu.missing", ""), (r, facts))
r = launch(1, ["./endless"], "unfinished", CUDA_INJECTION64_PATH=LIBTRACE)
if r.code == 0:
    rank = ranks_of("unfinished", 1)[0]
    check("a kernel that has not ended holds up nothing and is told", len(rank.kernels) == 1
          and "1 had not ended" in rank.facts.get("gpu.missing", ""), rank.facts)
    text = hpctop("report", "--all", "unfinished").out
    check("in the report, too", "kernels or copies: 1 had not ended when recording did" in text, text)
else:
    check("endless runs", False, r)

# A captured call has no kernel of its own; those of the graph are not taken for those of other calls.
source = """
#include <mpi.h>
#include <nccl.h>
static ncclComm_t comm;
static cudaStream_t stream;
static float *device;
static int reduce(int times)
{
    int bad = 0;
    while (times-- > 0)
        bad |= ncclAllReduce(device, device, 16, ncclFloat32, ncclSum, comm, stream);
    return bad;
}
int main(int argc, char **argv)
{
    int me, n;
    ncclUniqueId id;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    cudaSetDevice(0);
    if (me == 0)
        ncclGetUniqueId(&id);
    MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD);
    if (ncclCommInitRank(&comm, n, id, me) || cudaStreamCreate(&stream) || cudaMalloc((void **)&device, 64) || reduce(3))
        return 2;
    cudaStreamSynchronize(stream);
    if (cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal) || reduce(1) ||
        cudaStreamEndCapture(stream, &graph) || cudaGraphInstantiate(&exec, graph, 0))
        return 3;
    for (int i = 0; i < 4; i++)
        cudaGraphLaunch(exec, stream);
    cudaStreamSynchronize(stream);
    if (reduce(3))
        return 4;
    cudaStreamSynchronize(stream);
    MPI_Finalize();
    return 0;
}
"""
with open("graph.c", "w") as f:
    f.write(source)
r = run(["mpicc", "-D_GNU_SOURCE", "-I" + os.path.join(TOP, "tests/gpu_double/include"), "-o", "graph", "graph.c", "-L" + DOUBLE,
         "-Wl,-rpath-link," + DOUBLE, "-lnccl", "-lcudart"])
check("graph compiles", r.code == 0, r)
r = launch(2, ["./graph"], "graphs")
check("graph runs", r.code == 0, r)
rep = report("graphs")
check("a graph's kernels are told from those of calls", [(n["calls"], n["timed"]) for n in rep["nccl"]] == [(14, 6)]
      and rep["kernels_unmatched"] == 8 and sum(k["calls"] for k in rep["kernels"]) == 20, (rep["nccl"], rep["kernels_unmatched"]))

# The real library, where a toolkit is: without a GPU it refuses, and nobody is disturbed.
libraries = glob.glob("/usr/local/cuda*/lib*/libcupti.so.[0-9]*") + glob.glob("/usr/local/cuda*/extras/CUPTI/lib64/libcupti.so.[0-9]*")
if libraries:
    r = run(["mpicc", "-o", "cupti_real", os.path.join(TOP, "tests/e2e/lib/cupti_real.c"), "-ldl"])
    r = run(["mpirun", "-n", "2", "./cupti_real", libraries[0]], environment("real", True))
    check("the real libcupti", r.code == 0 and r.out == "fine\nfine\n"
          and "gpu.kernels: not timed: CUPTI refuses" in hpctop("dump", "real").out, r)
else:
    skip("the real libcupti", "no toolkit is here")

# Without CUDA nothing of this is there.
r = run(["mpirun", "-n", "2", os.path.join(BUILD, "workloads/ring")], environment("plain", True))
check("an MPI program has nothing of it", r.code == 0 and not any("gpu" in k for rank in ranks_of("plain") for k in rank.facts), r)
end()
