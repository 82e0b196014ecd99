# timeout: 240
"""The real libnccl, as the CUDA toolkit or a wheel has it, also where there is no GPU: its functions and the call table agree;
a program gets the same answers with us as without; its NVTX ranges and dlsym show the calls.

NCCL_REAL=FOLDER names one that is unpacked somewhere (include/nccl.h, lib/libnccl.so.2)."""
import glob
import json
import os
import re
import subprocess
import sys

from common import TOP, check, end, environment, hpctop, run, skip

places = [os.environ["NCCL_REAL"]] if os.environ.get("NCCL_REAL") else sorted(glob.glob("/usr/local/cuda*")) + ["/usr"]
found = [(library, os.path.join(place, "include/nccl.h")) for place in places
         for lib in ("lib", "lib64", "lib/*-linux-gnu", "targets/*/lib") for library in sorted(glob.glob(os.path.join(place, lib, "libnccl.so.2")))
         if os.path.exists(os.path.join(place, "include/nccl.h"))]
if not found:
    print("no libnccl.so.2 with its header below /usr/local/cuda*")
    sys.exit(77)
library, header = os.path.realpath(found[0][0]), found[0][1]
done = run([sys.executable, os.path.join(TOP, "tests/nccl_table.py"), header, library], timeout=120)
print(done.out.strip())
check("every public function is a row of the table, and every argument is what it says", done.code == 0, done.out)

with open("asks.c", "w") as f:
    f.write(r"""
#include <stdio.h>
#include <string.h>
typedef struct { char internal[128]; } id_t128;
typedef void *comm_t;
int ncclGetVersion(int *); int ncclGetUniqueId(id_t128 *); int ncclCommInitRank(comm_t *, int, id_t128, int);
int ncclCommInitAll(comm_t *, int, const int *);
int ncclAllReduce(const void *, void *, size_t, int, int, comm_t, void *); int ncclGroupStart(void); int ncclGroupEnd(void);
int ncclBroadcast(const void *, void *, size_t, int, int, comm_t, void *); int ncclCommDestroy(comm_t); int ncclCommCount(comm_t, int *);
int ncclSend(const void *, size_t, int, int, comm_t, void *); const char *ncclGetErrorString(int);
int main(void)
{
    int version = 0, n = 0; id_t128 id, zero; comm_t comm = NULL;
    memset(&id, 0, sizeof id); memset(&zero, 0, sizeof zero);
    printf("%d", ncclGetVersion(&version)); printf(" %d\n", version);
    printf("%d", ncclGetUniqueId(&id)); printf(" %d\n", memcmp(&id, &zero, sizeof id) != 0);
    int made = ncclCommInitRank(&comm, 1, id, 0);
    printf("%d", made); printf(" %d\n", ncclCommInitRank(&comm, 2, id, 5));
    printf("%d", ncclAllReduce(NULL, NULL, 16, 7, 0, NULL, NULL)); printf(" %d\n", ncclBroadcast(NULL, NULL, 16, 7, 0, NULL, NULL));
    printf("%d", ncclGroupStart()); printf(" %d\n", ncclGroupEnd());
    printf("%d", ncclSend(NULL, 3, 7, 0, NULL, NULL)); printf(" %d\n", ncclCommCount(NULL, &n));
    printf("%d %s\n", ncclCommDestroy(NULL), ncclGetErrorString(made));
    return 0;
}
""")
folder = os.path.dirname(library)
r = run(["gcc", "-o", "asks", "asks.c", library, "-Wl,--allow-shlib-undefined"])
check("a program for it", r.code == 0, r.err)


def asks(trace, preload=True, command=("./asks",), **env):
    return run(list(command), environment(trace, preload, LD_LIBRARY_PATH=folder, NCCL_DEBUG="", **env), 120)


plain, traced = asks(None, False), asks("t-symbols")
check("its answers without us: it runs", plain.code == 0 and plain.out.startswith("0 2"), (plain.code, plain.out, plain.err))
check("return codes are the same with us", (plain.code, plain.out, plain.err) == (traced.code, traced.out, traced.err),
      (plain.out, traced.out, traced.err))
print(" | ".join(plain.out.split("\n")))


def calls(folder):
    return {c["name"]: c["calls"] for c in json.loads(hpctop("report", "--json", folder).out)["calls"]}


WANTED = {"ncclCommInitRank": 2, "ncclAllReduce": 1, "ncclBroadcast": 1, "ncclGroupStart": 1, "ncclGroupEnd": 1, "ncclSend": 1,
          "ncclCommDestroy": 1}
check("symbols: the calls", calls("t-symbols") == WANTED, calls("t-symbols"))

# ncclCommInitRank that refuses its arguments leaves no range in some releases; what was pushed was popped.
r = asks("t-nvtx", HPCTOP_NCCL="NVTX")
check("with NVTX: return codes are the same", (r.code, r.out) == (plain.code, plain.out), (r.code, r.out, r.err))
version = int(plain.out.split()[1])
if version < 22500 and plain.out.split()[4] != "0":
    skip("NVTX: the calls", "without a GPU ncclCommInitRank of this release fails before its range, and nothing begins")
elif check("NVTX: there is a trace", os.path.isdir("t-nvtx"), os.listdir(".")):
    seen, dump = calls("t-nvtx"), hpctop("dump", "t-nvtx").out
    check("NVTX: the calls", all(seen.get(k) == n for k, n in WANTED.items() if k not in ("ncclCommInitRank", "ncclCommDestroy"))
          and seen.get("ncclCommInitRank", 0) >= 1, seen)
    check("NVTX: the head names the hook", re.search(r"fact nccl.hooks: NVTX; not", dump), re.findall("fact nccl.*", dump))
    if version >= 21600:
        reduced = re.search(r"ncclAllReduce.*", hpctop("report", "--all", "t-nvtx").out)
        check("NVTX: bytes", reduced and "64 B" in reduced.group(0), reduced and reduced.group(0))

# Looked up by the program itself.
script = r"""
import ctypes, sys
nccl = ctypes.CDLL(sys.argv[1])
class Id(ctypes.Structure):
    _fields_ = [("internal", ctypes.c_char * 128)]
one = Id()
print(nccl.ncclGetUniqueId(ctypes.byref(one)), any(bytes(one)))
comm = ctypes.c_void_p()
print(nccl.ncclCommInitRank(ctypes.byref(comm), 2, one, 7))
print(nccl.ncclAllReduce(None, None, ctypes.c_size_t(4), 7, 0, None, None), nccl.ncclGroupStart(), nccl.ncclGroupEnd())
"""
plain = asks(None, False, (sys.executable, "-c", script, library))
traced = asks("t-ctypes", True, (sys.executable, "-c", script, library))
check("ctypes: return codes are the same", (plain.code, plain.out) == (traced.code, traced.out) and plain.code == 0,
      (plain.out, plain.err, traced.out, traced.err))
check("ctypes: the calls", calls("t-ctypes") == {"ncclCommInitRank": 1, "ncclAllReduce": 1, "ncclGroupStart": 1, "ncclGroupEnd": 1},
      os.path.isdir("t-ctypes") and calls("t-ctypes"))
end()
