/* hpctop record: from a command line as it was typed to one that records.
 *
 * A command line is layers around a program: env, srun, apptainer exec, ./app.  Each layer is a row of one table
 * (record_layers.c) that says how variables get through it; the plan is made from the innermost layer outwards, and
 * what no layer takes is set in the environment that the command starts with. */
#ifndef TUI_RECORD_H
#define TUI_RECORD_H

#include <stdbool.h>
#include <stddef.h>

enum tui_layer_role {
    TUI_LAYER_LAUNCHER, /* starts ranks */
    TUI_LAYER_BATCH,    /* hands a script to a batch system */
    TUI_LAYER_RUNTIME,  /* starts a container */
    TUI_LAYER_WRAPPER,  /* starts its command and hands on its environment */
    TUI_LAYER_SHELL     /* runs a script; what that starts is not seen here */
};

/* Lists of words are separated by blanks.  In templates | separates words, %n is the variable's name, %v its value. */
struct tui_layer_kind {
    const char *title;
    const char *names; /* of the executable */
    const char *tells; /* where rows share a name: what `NAME --version` says of this one; alternatives by | */
    enum tui_layer_role role;
    const char *values;         /* options, without dashes, that take the next word; `mca:2` takes two */
    const char *commands;       /* subcommands that come with a command to run; NULL: it has no subcommands */
    int operands;               /* words between the options and the command: the image, a number of seconds */
    const char *setting;        /* template: sets a variable in what it starts */
    const char *list;           /* option that takes ALL,NAME=VALUE,.. */
    const char *list_variables; /* where the list's default comes from */
    const char *joined;         /* parameter with a list of NAME=VALUE;.. that excludes `setting` */
    bool inner;                 /* has nothing of that kind: env NAME=VALUE before the program */
    bool contexts;              /* `:` begins another program with options of its own */
    bool assigns;               /* takes NAME=VALUE words before the command */
    const char *clears;         /* options that empty the environment */
    const char *bind;           /* template, runtimes only: makes %v visible inside under the same path */
    const char *prefixes;       /* a variable of that name with this before it is set inside */
    const char *bind_variables; /* ..,PATH:PATH */
    bool isolated;              /* the environment outside is not seen inside */
};

/* Row i of the table; NULL past the last. */
const struct tui_layer_kind *tui_layer_kind(int i);
/* The row of a word of a command line, which is asked for its version where names do not tell; NULL if it is none. */
const struct tui_layer_kind *tui_layer_kind_of(const char *word, bool may_ask);
/* Words that follow an option: 0, 1, 2. */
int tui_layer_values(const struct tui_layer_kind *kind, const char *option);

struct tui_words {
    char **word; /* NULL at the end */
    size_t count, room;
};

struct tui_setting {
    char *name, *value;
    char separator;   /* what joins it to a value that is there: ':' or ','; 0: it is replaced */
    const char *also; /* variables that would have held the value that is there */
};

struct tui_layer {
    const struct tui_layer_kind *kind;
    size_t at;      /* its name */
    size_t options; /* the first word behind name and subcommand */
    size_t inner;   /* the command that it starts; words.count if it has none */
};

enum { TUI_LAYERS = 16, TUI_SETTINGS = 48 };

struct tui_plan {
    struct tui_words words;
    struct tui_layer layer[TUI_LAYERS];
    size_t layers;
    size_t program;                           /* the innermost word; words.count if none is seen */
    bool script;                              /* it is a shell script, or make: what it starts is not seen here */
    bool launches;                            /* and no launcher stands before it: it may start several jobs */
    struct tui_setting setting[TUI_SETTINGS]; /* for the environment of the command */
    size_t settings;
    char refusal[1024]; /* one line; empty if all is well */
};

/* Takes a command line apart.  Words are copied; free with tui_plan_free, also after a failure (out of memory). */
bool tui_plan_read(struct tui_plan *plan, char *const *command, size_t n);
/* Makes it record with `library`, into `folder` (absolute; NULL: libtrace.so names it).  False: see refusal. */
bool tui_plan_apply(struct tui_plan *plan, const char *library, const char *folder);
void tui_plan_free(struct tui_plan *plan);
/* The layer of a role; NULL if there is none. */
const struct tui_layer *tui_plan_layer(const struct tui_plan *plan, enum tui_layer_role role);

/* Words of a list that are separated by a character; "a b" has a and b. */
bool tui_listed(const char *list, char separator, const char *word, size_t length);
/* `list` with NAME=VALUE in it, joined to a value of that name that is there; NULL: out of memory. */
char *tui_list_with(const char *list, char between, const struct tui_setting *setting);
/* A setting joined to the value that the environment has for it (unless `alone`); NULL: out of memory. */
char *tui_setting_value(const struct tui_setting *setting, bool alone);
/* `before` and `value` with a separator, if value is not in it already. */
char *tui_joined(const char *before, char separator, const char *value);

bool tui_words_insert(struct tui_words *words, size_t at, const char *word);
bool tui_words_replace(struct tui_words *words, size_t at, char *word); /* takes it, even NULL */

/* The executable that a word means, by PATH if it has no slash; false if there is none. */
bool tui_find_program(const char *word, char *path, size_t size);
/* First bytes of what a command prints on stdout and stderr; its exit status, -1 if it could not be run. */
int tui_ask(const char *const *command, char *out, size_t size);
/* Whether this Apptainer or Singularity would start containers by a setuid program beside it. */
bool tui_has_setuid_starter(const char *command);
/* libtrace.so: HPCTOP_LIBTRACE, beside hpctop, in ../lib.  False: out says where it was looked for. */
bool tui_find_libtrace(char *out, size_t size);

/* What of an executable decides whether a preloaded library can see its MPI calls. */
struct tui_elf {
    bool is_elf;
    int machine;           /* e_machine */
    bool dynamic;          /* has a dynamic loader */
    char interpreter[256]; /* that loader; of a script: the first line behind #! */
    bool script;           /* begins with #! */
    bool mpi_inside;       /* MPI is defined in it: linked statically */
    bool mpi_called;       /* it has undefined MPI functions */
    bool nccl_inside, nccl_called;
    bool audits;           /* it names libraries that its loader runs before all others */
    bool asan_inside;      /* AddressSanitizer is linked in statically */
    char asan_runtime[64]; /* or what it needs of it as a shared library; empty: none */
    char version[16];      /* of libtrace.so */
    char glibc[16];        /* newest version that it needs */
};
bool tui_elf_read(const char *path, struct tui_elf *elf);
/* The runtime of AddressSanitizer ends a program in which another library comes first, as a preloaded one does, unless
 * this is among ASAN_OPTIONS.  Those before GCC 9 do not know it: they have to be preloaded first. */
#define TUI_ASAN_OPTION "verify_asan_link_order=0"
bool tui_asan_must_be_first(const char *runtime);

#endif
