/* Frame recipes: how to find the frame of a caller from a return address.  The layout of a frame depends on the return
 * address alone, so it is worked out once, from the tables for exceptions, and remembered.  Any thread, record path: no
 * lock, no allocation, no system call. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum ipo_recipe_kind {
    IPO_RECIPE_LOST = 1, /* no table, or a rule that is not supported */
    IPO_RECIPE_FIRST,    /* the first function of the thread: it has no caller */
    IPO_RECIPE_BY_STACK, /* CFA = stack pointer + cfa */
    IPO_RECIPE_BY_FRAME  /* CFA = frame pointer + cfa */
};
enum { IPO_FRAME_SAME, IPO_FRAME_SAVED, IPO_FRAME_UNKNOWN };

/* The frame of the function that a return address lies in.  CFA: the stack pointer of its caller. */
struct ipo_recipe {
    int32_t cfa;
    int16_t return_at; /* the return address to the caller, from the CFA */
    int16_t frame_at;  /* caller's frame pointer, from the CFA, with IPO_FRAME_SAVED */
    uint8_t kind;      /* enum ipo_recipe_kind */
    uint8_t frame;     /* place of the caller's frame pointer */
};

/* The recipe of a return address on the calling thread's stack. */
struct ipo_recipe ipo_recipe_of(uint64_t address);

/* Drops all recipes: a library was unloaded.  Any thread. */
void ipo_recipes_drop(void);

/* Hash of the beginning of the loaded object that holds `address`, which differs between libraries; 0: not known.  One
 * system call, with an old glibc several.  Any thread. */
uint64_t ipo_recipe_object(uint64_t address);

/* Finds how to ask for the tables of a module.  Once, before the first record. */
void ipo_recipes_start(void);
/* Reads which modules are loaded, where glibc (before 2.35) does not say it.  In our thread that may ask the loader. */
void ipo_recipes_refresh(void);
