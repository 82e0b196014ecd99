"""One MPI of the matrix as a place where workloads are built, started and recorded."""
import os

import common
import pypi
from common import check
from libraries import LIBRARIES, PACKAGES
from results import record
from root import PRELOAD, Compiler, Root, unpack


class Cell:
    def __init__(self, name):
        self.library = LIBRARIES[name]
        path = unpack(self.library.release, "matrix-" + self.library.release, PACKAGES)
        self.root = Root(path, dict(self.library.env, LD_LIBRARY_PATH="/tmp/bin/lib:/tmp/pypi/lib"))
        if self.library.pypi:
            self.root.binds.append((pypi.unpack("-".join(self.library.pypi), list(self.library.pypi)), "/tmp/pypi"))
        self.compiler = Compiler(self.root, name)
        self.program = self.compiler.program
        self.held, self.mpi = 0, None
        lib = os.path.join(self.compiler.folder, "lib")
        os.makedirs(lib, exist_ok=True)
        for link, target in self.library.links.items():
            if os.path.lexists(os.path.join(lib, link)):
                os.remove(os.path.join(lib, link))
            os.symlink(target, os.path.join(lib, link))

    def build(self, compiler, pattern, libraries=""):
        """Builds workloads/PATTERN; ends the test where nothing can be built."""
        refused = self.compiler.build(compiler, pattern, " ".join([libraries, self.library.libmpi or ""]))
        for line in refused:
            check("builds " + line.split(":")[0], False, line)
            if len(refused) > 5:
                common.end()

    def script(self, text):
        """Runs a shell script there; a line it prints is something that failed."""
        for line in self.root.run(["sh", "-c", text], 600).out.splitlines():
            check("builds " + line.split(":")[0], False, line)

    def mpirun(self, ranks, command, folder=None, preload=True, timeout=300, **env):
        if preload:
            env["LD_PRELOAD"] = PRELOAD
        if folder:
            env["HPCTOP_DIR"] = os.path.abspath(folder)
        return self.root.run(self.library.mpirun + [str(ranks)] + command, timeout, **env)

    def without_shared_memory(self):
        """By which the processes of another world are not reached."""
        if self.library.shows == "Intel":
            return {"I_MPI_FABRICS": "shm:ofi", "FI_PROVIDER": "tcp"}
        btl = self.library.env.get("OMPI_MCA_btl")
        return {"OMPI_MCA_btl": btl + ",tcp", "OMPI_MCA_btl_tcp_if_include": "lo"} if btl else {"UCX_TLS": "self,sysv,tcp"}

    def seen(self, rep):
        """Takes note of a report that held."""
        if rep:
            self.held += 1
            self.mpi = rep["job"]["mpi"]

    def end(self, language):
        check("the trace names " + self.library.shows, (self.mpi or "").startswith(self.library.shows), self.mpi)
        failed = common.failures()
        record("matrix", self.mpi or self.library.name, language + (", standard ABI" if self.library.abi == "standard" else ""), "-",
               self.library.mpirun[0].split(".")[0], self.library.release, "failed" if failed else "passed",
               "%d programs" % self.held)
        common.end()
