/* Is a verdict right: what may be said of a program at a moment. */
#ifndef YARDSTICK_JUDGE_H
#define YARDSTICK_JUDGE_H

#include "tests/yardstick/program.h"
#include "trace/job/job.h"
#include "trace/verdict/verdict.h"

/* State in which the files and processes are met. */
enum moment {
    AT_END,     /* files of a program that came to its end */
    ALL_KILLED, /* kill -9 of all ranks */
    ONE_BY_ONE, /* .. one after the other, over seconds, as batch systems do */
    LIVE,       /* two looks at a running job, a second apart */
    MOMENTS
};

/* State of the program at that moment. */
enum truth {
    MOVES,  /* somebody will get on */
    HANGS,  /* nobody can */
    BROKEN, /* a rank has ended the job, or left it */
    TRUTHS
};

enum answer {
    RIGHT,
    MISSED,       /* a hang that is not called one */
    NO_NAME,      /* nobody is named */
    MORE_NAMES,   /* others are named, too */
    OTHER_NAMES,  /* only others are */
    FALSE_ALARM,  /* trouble where there is none */
    PROVEN_MOVES, /* a proof that somebody cannot move, who then moves */
    ANSWERS
};

/* Judged cases. */
struct instant {
    enum moment moment;
    enum truth truth;
    int64_t ns;            /* time of the second look, where there are two */
    const int64_t *killed; /* times of death by rank; NULL */
};

/* The truth at a moment. */
enum truth truth_at(const struct program *program, const struct run *run, int64_t ns);

/* Compares a verdict with the truth; `proven_wrong`: it says that it is proven, and is wrong. */
enum answer judge(const struct program *program, const struct run *run, const struct instant *at,
                  const struct ana_job *job, const struct ana_verdict *verdict, bool *proven_wrong);

/* write.c */
/* Prints the program, an operation a line: who may be blamed has a `!`, where a thread stands a `>`. */
void describe(const struct program *program, const struct run *run);
/* Prints it for real/play.c, with its truth. */
void write_program(const struct program *program, const struct run *run);

#endif
