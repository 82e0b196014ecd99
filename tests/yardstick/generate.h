/* Shared parts of the generator. */
#ifndef YARDSTICK_GENERATE_H
#define YARDSTICK_GENERATE_H

#include "tests/yardstick/program.h"

struct maker {
    struct program *program;
    uint64_t random;
    int phase;
    int thread; /* thread whose operations are made */
    int world;  /* the communicator of all ranks that it uses */
    bool brief; /* many ranks: short phases */
};

/* Random number from 0 to n - 1. */
int below(struct maker *m, int n);

/* Appends an operation to the rank's present thread; unset members are NOBODY, or the present phase. */
void add(struct maker *m, int rank, struct op op);

/* A short computation. */
void add_compute(struct maker *m, int rank);

/* A size below or above the room kept for a receiver. */
uint64_t some_bytes(struct maker *m);

/* Whether all ranks have room for as many operations more. */
bool has_room(const struct maker *m, int ops);

/* Ranks that are the root of a collective. */
bool call_is_rooted(enum call call);

/* A collective of no data, or the same for each rank, on a communicator. */
void add_collective(struct maker *m, int comm, enum call call);

/* Another collective of the same kind of communicator, at random. */
enum call other_collective(struct maker *m);

/* A communicator that the present thread may use, at random; -1: there is none of this kind. */
int some_comm(struct maker *m, enum comm_kind kind);

/* phases_*.c: each appends operations of all ranks. */
void add_messages(struct maker *m);
void add_collectives(struct maker *m);
void add_objects(struct maker *m); /* communicators, windows, files */
/* A circle of a message with a collective, a lock or a fence; false: no room for it. */
bool add_mixed_circle(struct maker *m);
/* A rank that asks for a flag until another sets it, in one of three ways; `never`: nobody does. */
bool add_flag(struct maker *m, bool never);
/* Tasks and results; at least three ranks. */
void add_farm(struct maker *m);

/* faults.c: plants the fault; false: there is no place for it. */
bool plant(struct maker *m);

#endif
