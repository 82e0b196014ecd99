/* hpctop record: turns a command line as it was typed into one that records.
 *
 * A command line is layers around a program: env, srun, apptainer exec, ./app.  Each layer is a row of the table in
 * layer.def, which says how variables get through it.  The plan is made from the innermost layer outwards; variables
 * that no layer takes are set in the environment that the command starts with.
 * For one thread only. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum tui_layer_role {
    TUI_LAYER_LAUNCHER, /* starts ranks */
    TUI_LAYER_BATCH,    /* hands a script to a batch system */
    TUI_LAYER_RUNTIME,  /* starts a container */
    TUI_LAYER_WRAPPER,  /* starts its command and hands on its environment */
    TUI_LAYER_SHELL     /* runs a script; nobody knows what that starts */
};

/* A row of the table.  Blanks separate the words of a list.  In a template | separates words, %n is the name of a
 * variable and %v its value. */
struct tui_layer_kind {
    const char *title;
    const char *names; /* names of the executable */
    const char *tells; /* a word of `NAME --version`, where rows share a name; | separates alternatives */
    enum tui_layer_role role;
    const char *values;         /* options without dashes that take the next word; `mca:2` takes two */
    const char *commands;       /* subcommands that run a command; NULL: it has no subcommands */
    int operands;               /* words between the options and the command: the image, a number of seconds */
    const char *setting;        /* template of words that set a variable inside the layer */
    const char *list;           /* the option that takes ALL,NAME=VALUE,.. */
    const char *list_variables; /* the variable that has the list's default */
    const char *joined;         /* the parameter with a list of NAME=VALUE;..; with it, `setting` is an error */
    bool inner;                 /* has no such option: env NAME=VALUE stands before the program */
    bool contexts;              /* `:` begins another program with options of its own */
    bool assigns;               /* takes NAME=VALUE words before the command */
    const char *clears;         /* options that empty the environment */
    const char *bind;           /* template, of runtimes: shows path %v inside under the same name */
    const char *prefixes;       /* prefixes: a variable named so is set inside without its prefix */
    const char *bind_variables; /* ..,PATH:PATH */
    bool isolated;              /* the environment outside does not reach the inside */
};

/* The table; a row without a title ends it. */
extern const struct tui_layer_kind tui_layer_kinds[];
/* The row that a word of a command line names, static; NULL if it is no layer.  If several rows have that name and
 * `may_ask` is set, the program is run for its version. */
const struct tui_layer_kind *tui_layer_kind_of(const char *word, bool may_ask);
/* The number of words that belong to an option behind it: 0, 1 or 2. */
int tui_layer_values(const struct tui_layer_kind *kind, const char *option);

struct tui_words {
    char **word; /* owned; NULL behind the last */
    size_t count, room;
};

struct tui_setting {
    char *name, *value;
    char separator;   /* joins it to the value that is set already: ':' or ','; 0: replaces that */
    const char *also; /* other variables that may hold the value that is set already */
};

struct tui_layer {
    const struct tui_layer_kind *kind;
    size_t at;      /* the word that is its name */
    size_t options; /* the first word behind name and subcommand */
    size_t inner;   /* the command that it starts; words.count if there is none */
};

enum { TUI_LAYERS = 16, TUI_SETTINGS = 48 };

struct tui_plan {
    struct tui_words words;
    struct tui_layer layer[TUI_LAYERS];
    size_t layers;
    size_t program; /* the innermost word; words.count if there is none */
    bool script;    /* a shell script, or make: its programs are unknown */
    bool launches;  /* it is a script without a launcher before it, and may start several jobs */
    struct tui_setting setting[TUI_SETTINGS]; /* for the environment of the command */
    size_t settings;
    char refusal[1024]; /* one line why the command cannot be recorded; empty if it can */
};

/* Parses a command line of n words, which it copies, into layers.  Free with tui_plan_free in any case.  False
 * when out of memory: see refusal. */
bool tui_plan_read(struct tui_plan *plan, char *const *command, size_t n);

/* Makes the command load `library` and record into `folder` (an absolute path; NULL: libtrace.so chooses it).  False if
 * that cannot work, or when out of memory: see refusal. */
bool tui_plan_apply(struct tui_plan *plan, const char *library, const char *folder);

/* Frees what the plan owns and zeroes it. */
void tui_plan_free(struct tui_plan *plan);

/* The outermost layer of a role; it belongs to the plan.  NULL if there is none. */
const struct tui_layer *tui_plan_layer(const struct tui_plan *plan, enum tui_layer_role role);

/* Whether a list has the word of `length` bytes; `separator` stands between its words. */
bool tui_listed(const char *list, char separator, const char *word, size_t length);

/* A copy of `list` with the setting as NAME=VALUE, joined to the value that the list has for that name.  `between`
 * separates the entries.  The caller frees it; NULL when out of memory. */
char *tui_list_with(const char *list, char between, const struct tui_setting *setting);

/* The value of a setting, joined (unless `alone`) to the value that the environment has.  The caller frees it; NULL
 * when out of memory. */
char *tui_setting_value(const struct tui_setting *setting, bool alone);

/* `before`, separator and `value`; `before` alone if it has that value already.  `before` may be NULL.  The caller
 * frees it; NULL when out of memory. */
char *tui_joined(const char *before, char separator, const char *value);

/* Inserts a copy of a word before word `at`; false when out of memory. */
bool tui_words_insert(struct tui_words *words, size_t at, const char *word);

/* Replaces word `at` by `word`, which it takes over; false if that is NULL. */
bool tui_words_replace(struct tui_words *words, size_t at, char *word);

/* Writes the path of the executable that a word means into `path`, by PATH if the word has no slash.  False if there is
 * none. */
bool tui_find_program(const char *word, char *path, size_t size);

/* Runs a command for at most 20 s and writes the first bytes of its stdout and stderr into `out`.  Returns its exit
 * status, -1 if it could not be run or did not end by itself. */
int tui_ask(const char *const *command, char *out, size_t size);
/* Runs a command as tui_ask, for at most `limit_ms`. */
int tui_ask_for(int limit_ms, const char *const *command, char *out, size_t size);

/* Whether this Apptainer or Singularity starts containers by a setuid program. */
bool tui_has_setuid_starter(const char *command);

/* Writes the path of libtrace.so into `out`: HPCTOP_LIBTRACE, else beside hpctop or in ../lib.  False if it is not
 * there; then `out` says where it was looked for. */
bool tui_find_libtrace(char *out, size_t size);

/* Facts of an executable that decide whether a preloaded library sees its MPI calls. */
struct tui_elf {
    bool is_elf;
    int machine;           /* e_machine */
    bool dynamic;          /* has a dynamic loader */
    char interpreter[256]; /* the loader's path; of a script: the first line behind #! */
    bool script;           /* begins with #! */
    bool mpi_inside;       /* MPI is defined in it: linked statically */
    bool mpi_called;       /* it has undefined MPI functions */
    bool nccl_inside, nccl_called;
    bool audits;           /* it names libraries that audit: its loader runs them first */
    bool asan_inside;      /* AddressSanitizer is linked in statically */
    char asan_runtime[64]; /* the shared AddressSanitizer that it needs; empty: none */
    char version[16];      /* version of libtrace.so */
    char glibc[16];        /* the newest version that it needs */
};
/* Reads an executable, a library or a script; runs nothing.  False if the file cannot be opened. */
bool tui_elf_read(const char *path, struct tui_elf *elf);

/* AddressSanitizer's shared runtime ends a program in which another library comes first, as a preloaded one does.  With
 * this in ASAN_OPTIONS it does not. */
#define TUI_ASAN_OPTION "verify_asan_link_order=0"

/* Whether this runtime does not know TUI_ASAN_OPTION (GCC before 9), so that it has to be preloaded first. */
bool tui_asan_must_be_first(const char *runtime);
