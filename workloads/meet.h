/* Two jobs of their own that meet: MPI_Comm_accept and MPI_Comm_connect, or MPI_Comm_join.  They find each other by a
 * file that holds a port; under Open MPI up to 4 both need `mpirun --ompi-server file:URI_FILE`. */
#ifndef WORKLOADS_MEET_H
#define WORKLOADS_MEET_H

#include <arpa/inet.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

/* Written beside it and renamed, so that the file is there whole or not at all. */
static inline void meet_tell(const char *file, const char *text)
{
    char beside[4096];
    snprintf(beside, sizeof beside, "%s.new", file);
    FILE *f = fopen(beside, "w");
    if (!f || fputs(text, f) < 0 || fclose(f) || rename(beside, file))
        abort();
}

static inline void meet_learn(const char *file, char *text, int size)
{
    FILE *f;
    while (!(f = fopen(file, "r")))
        usleep(50000);
    if (!fgets(text, size, f))
        abort();
    fclose(f);
}

/* Collective over MPI_COMM_WORLD; `first` waits for the other. */
static inline MPI_Comm meet_by_port(bool first, const char *file)
{
    char port[MPI_MAX_PORT_NAME] = "";
    int rank;
    MPI_Comm inter;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (first && rank == 0) {
        MPI_Open_port(MPI_INFO_NULL, port);
        if (file)
            meet_tell(file, port);
    } else if (rank == 0) {
        meet_learn(file, port, sizeof port);
    }
    if (first)
        MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter);
    else
        MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter);
    return inter;
}

/* Worlds of one process each: meet over a socket on this host. */
static inline MPI_Comm meet_by_socket(bool first, const char *file)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof at;
    char port[32];
    int fd = socket(AF_INET, SOCK_STREAM, 0), door = fd;
    MPI_Comm inter;
    if (first) {
        if (bind(door, (struct sockaddr *)&at, length) || listen(door, 1) ||
            getsockname(door, (struct sockaddr *)&at, &length))
            abort();
        snprintf(port, sizeof port, "%d", ntohs(at.sin_port));
        meet_tell(file, port);
        fd = accept(door, NULL, NULL);
    } else {
        meet_learn(file, port, sizeof port);
        at.sin_port = htons((uint16_t)atoi(port));
        if (connect(fd, (struct sockaddr *)&at, length))
            abort();
    }
    MPI_Comm_join(fd, &inter);
    return inter;
}

#endif
