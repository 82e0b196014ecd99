# timeout: 900
# cases: openmpi-4.1.4-ucx openmpi-5.0-ucx openmpi-5.0-ofi openmpi-6.0-ucx openmpi-6.0-ofi mpich-5.0-ucx mpich-4.3-ofi intel-ofi
"""MPIs over UCX and libfabric (by TCP and shared memory, for there is no network card here) instead of what they take on one
host: requests that finish in another order and statuses that another layer fills are recorded as exactly."""
import sys

import cell
from common import check, end, skip_all
from truths import hold

# Open MPI ends with an error where what is named cannot be had; MPICH takes shared memory within a host unless it is told that
# there is none.
UCX = {"UCX_TLS": "self,sysv,tcp", "UCX_WARN_UNUSED_ENV_VARS": "n"}
OFI = {"FI_PROVIDER": "tcp"}
CHOOSES = {
    "openmpi-ucx": dict(UCX, OMPI_MCA_pml="ucx", OMPI_MCA_pml_ucx_tls="any", OMPI_MCA_pml_ucx_devices="any", OMPI_MCA_osc="ucx"),
    "openmpi-ofi": dict(OFI, OMPI_MCA_pml="cm", OMPI_MCA_mtl="ofi", OMPI_MCA_opal_common_ofi_provider_include="tcp",
                        OMPI_MCA_mtl_ofi_provider_include="tcp"),
    "mpich-ucx": dict(UCX, MPIR_CVAR_NOLOCAL="1"), "mpich-ofi": dict(OFI, MPIR_CVAR_NOLOCAL="1"), "intel-ofi": dict(OFI, I_MPI_FABRICS="ofi"),
}
PROGRAMS = ("ring", "p2p_nonblocking", "p2p_persistent", "collectives_nonblocking", "many_sizes")

name, _, transport = sys.argv[1].rpartition("-")
job = cell.Cell(name)
job.root.env.update(CHOOSES[name.split("-")[0] + "-" + transport])
job.build(job.library.cc + " -std=gnu11 -w -O1 -g", " ".join(p + ".c" for p in PROGRAMS), "-lpthread -lm")
bare = job.mpirun(2, [job.program("ring")], preload=False)
if bare.code != 0:
    skip_all("it does not run over %s here, without libtrace.so either: %s" % (transport, (bare.err or bare.out).strip()[-150:].replace("\n", " | ")))
for program in PROGRAMS:
    both = hold(program, [], 2, job.mpirun, job.program, job.library.codes, brief=True)
    job.seen(both[1] if both else None)
check("it was recorded", job.held == len(PROGRAMS), job.held)
end()
