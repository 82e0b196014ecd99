# Horovod on PyTorch (CPU), as in horovod.def:  podman build -t horovod -f containers/horovod.Dockerfile .
ARG BASE=debian:bookworm
FROM ${BASE}
COPY containers/join-mpirun /usr/local/bin/join-mpirun
COPY containers/horovod.sh /usr/local/src/horovod.sh
RUN sh -e /usr/local/src/horovod.sh
ENTRYPOINT ["/usr/local/bin/join-mpirun"]
