from spack.package import *

try:  # since Spack 1.0
    from spack_repo.builtin.build_systems.makefile import MakefilePackage
except ImportError:
    pass


class Hpctop(MakefilePackage):
    """Top for parallel jobs: records MPI and NCCL calls, shows them live, explains hangs."""

    license("BSD-3-Clause")

    version("main", branch="main")

    depends_on("c", type="build")
    depends_on("cjson")
    depends_on("elfutils")
    depends_on("ncurses")
    depends_on("xxhash")
    depends_on("zstd")

    def install(self, spec, prefix):
        make("install", "PREFIX=" + prefix)

    def setup_run_environment(self, env):
        env.set("HPCTOP_LIBTRACE", join_path(self.prefix.lib, "hpctop", "libtrace.so"))
        env.prepend_path("PYTHONPATH", join_path(self.prefix.share, "hpctop", "python"))
