# timeout: 120
"""Open MPI over UCX, as on clusters with InfiniBand, here by TCP and shared memory: sends that finish at once share a handle
of UCX's.  Every number as over its own transports (tests/matrix/transports.py has more of them)."""
import os

from common import check, end, hpctop, mpirun, skip_all, workload
from truths import hold

UCX = {"OMPI_MCA_pml": "ucx", "OMPI_MCA_pml_ucx_tls": "any", "OMPI_MCA_pml_ucx_devices": "any", "OMPI_MCA_osc": "ucx",
       "UCX_TLS": "self,sysv,tcp", "UCX_WARN_UNUSED_ENV_VARS": "n"}


def launch(ranks, command, folder=None, preload=True, **env):
    return mpirun(ranks, command, folder, preload, **dict(UCX, **env))


bare = launch(2, [workload("ring")], preload=False)
if bare.code != 0:
    skip_all("Open MPI does not run over UCX here, without libtrace.so either: " + (bare.err or bare.out).strip()[-150:].replace("\n", " "))
seen = os.path.abspath("seen")
launch(2, [workload("ring")], seen)
for program in ("p2p_nonblocking", "p2p_persistent", "many_sizes"):
    hold(program, [], 2, launch)
said = [line for line in hpctop("report", "--all", seen).out.splitlines() if line.startswith("  over ")]
check("the report says that UCX carried messages", said and "pml ucx" in said[0] and "btl" not in said[0] and "UCX_TLS=self,sysv,tcp" in said[0], said)
end()
