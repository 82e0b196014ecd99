# Open MPI inside the image, as in openmpi.def.  From the top of the sources:
#   podman build -t openmpi -f containers/openmpi.Dockerfile .
# MODEL=bind leaves MPI out: it is the host's then (containers/host-mpi), and glibc here must not be older than there.
ARG BASE=debian:bookworm
FROM ${BASE}
ARG MODEL=hybrid
COPY workloads /usr/local/src/workloads
COPY containers/join-mpirun /usr/local/bin/join-mpirun
COPY containers/openmpi.sh /usr/local/src/openmpi.sh
RUN sh -e /usr/local/src/openmpi.sh "$MODEL"
# An Open MPI 4 in here joins the mpirun of Open MPI 5 and newer outside.
ENTRYPOINT ["/usr/local/bin/join-mpirun"]
