# CUDA, Open MPI and NCCL, as in cuda.def:  podman build -t cuda -f containers/cuda.Dockerfile .
ARG BASE=debian:bookworm
FROM ${BASE}
COPY containers/join-mpirun /usr/local/bin/join-mpirun
COPY containers/cuda.sh /usr/local/src/cuda.sh
RUN sh -e /usr/local/src/cuda.sh
ENTRYPOINT ["/usr/local/bin/join-mpirun"]
