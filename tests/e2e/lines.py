# timeout: 120
"""Source lines come from the very file that ran, whatever lies at its path now; no server is asked for them unasked."""
import os
import shutil
import socket
import subprocess
import threading

from common import HPCTOP, check, end, mpirun, run, traces, workload

LINE = "many_sizes.c:"


def look(name, shown, env=None):
    r = run([HPCTOP, "report", "--all", "trace"], env, timeout=60)
    check("%s: the report ends" % name, r.code == 0 and "MPI_Sendrecv" in r.out, r)
    check("%s: %s" % (name, "lines" if shown else "no lines"), (LINE in r.out) == shown, r.out[-1500:])


def at_path(make):
    """Something else at the program's path, as old as the program."""
    if os.path.lexists("app"):
        os.remove("app")
    make("app")
    os.utime("app", (began, began))


class Silent(threading.Thread):
    """A server that takes connections and says nothing."""

    def __init__(self):
        super().__init__(daemon=True)
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.asked = []

    def run(self):
        while True:
            self.asked.append(self.socket.accept()[0])


shutil.copy(workload("many_sizes"), "kept")
shutil.copy("kept", "app")
began = os.stat("app").st_mtime
r = mpirun(2, os.path.abspath("app"), "trace")
if check("a trace to look at", r.code == 0 and len(traces("trace")) == 2, r):
    look("the program itself", True)
    os.utime("app")
    look("the program, touched since", True)
    at_path(os.mkfifo)
    look("a FIFO", False)
    at_path(lambda path: shutil.copy(workload("ring"), path))
    look("another program", False)
    at_path(lambda path: open(path, "w").close())
    look("an empty file", False)
    at_path(lambda path: subprocess.check_call(["strip", "-g", "-o", path, "kept"]))
    # A call in an inlined function bears that function's name and line.
    with open("inlined.c", "w") as f:
        f.write('#include <mpi.h>\n'
                'static inline __attribute__((always_inline)) void halo(void)\n{\n    MPI_Barrier(MPI_COMM_WORLD);\n}\n'
                'int main(void)\n{\n    MPI_Init(0, 0);\n    halo();\n    return MPI_Finalize();\n}\n')
    built = run(["mpicc", "-O2", "-g", "-o", "inlined", "inlined.c"])
    r = mpirun(2, os.path.abspath("inlined"), "inlined-trace")
    if check("a program with an inlined function runs", built.code == 0 and r.code == 0, (built, r)):
        text = run([HPCTOP, "report", "--all", "inlined-trace"], timeout=60).out
        check("a call in an inlined function: its name and line", "inlined.c:4 in halo" in text, text[-1500:])
    # A call that the C++ library's headers make bears the line of the program that calls them.
    with open("headers.cpp", "w") as f:
        f.write('#include <mpi.h>\n#include <algorithm>\nint main()\n{\n    MPI_Init(0, 0);\n'
                '    MPI_Comm all[] = {MPI_COMM_WORLD};\n    std::for_each(all, all + 1, MPI_Barrier);\n'
                '    return MPI_Finalize();\n}\n')
    built = run(["mpicxx", "-O2", "-g", "-o", "headers", "headers.cpp"])
    r = mpirun(2, os.path.abspath("headers"), "headers-trace")
    if check("a program of headers runs", built.code == 0 and r.code == 0, (built, r)):
        text = run([HPCTOP, "report", "headers-trace"], timeout=60).out
        check("a call in a header of the system: the program's line", "headers.cpp:7" in text, text[-1500:])
    server = Silent()
    server.start()
    urls = "http://127.0.0.1:%d" % server.socket.getsockname()[1]
    look("without debug information", False, dict(os.environ, DEBUGINFOD_URLS=urls))
    check("no server is asked unasked", not server.asked, "asked %d times" % len(server.asked))
    look("a silent server, asked", False, dict(os.environ, DEBUGINFOD_URLS=urls, HPCTOP_DEBUGINFOD="1"))
end()
