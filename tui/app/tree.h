/* Rows of ranks for the screens that show many: by behaviour, by node or one by one, as a tree that opens and
 * closes.  Ranks and Timeline show the same one.  Part of the app's state; one thread. */
#pragma once

#include "trace/summary/alike.h"
#include "trace/util/hash_map.h"

enum tui_rows_by { TUI_BY_SIZE, TUI_BY_BEHAVIOUR, TUI_BY_NODE, TUI_BY_RANK }; /* TUI_BY_SIZE: as they fit */

struct tui_row {
    uint64_t identity;    /* identity of a rank: its index + 1 */
    const size_t *member; /* rank indices, `count` in all: by host, ascending */
    size_t count;
    uint32_t parent; /* row; UINT32_MAX: none */
    int level;
    bool is_rank;   /* one rank, and nothing to open */
    bool open, odd; /* odd: it stands out */
    bool rest;      /* the group of most ranks */
    bool pinned;    /* the headline is about it */
};

struct tui_tree {
    struct ana_alike alike;
    struct tui_row *row; /* rows in view, parents before children */
    size_t rows, room;
    uint32_t *row_of;    /* row by rank index: the deepest row in view that the rank is in; UINT32_MAX: none */
    struct ana_map open; /* by identity */
    enum tui_rows_by by; /* never by size */
    size_t fit;
    bool fresh;
    bool tagged_only;
    unsigned of, made, version; /* the summaries that alike and rows are of; rises with each change of the rows */
    unsigned generation;        /* of alike */
    size_t *shown;              /* the ranks in view, by row */
};

struct tui_app;

/* Brings the rows up to date with summary, tags and open rows.  `by`: how; TUI_BY_SIZE: one by one up to `fit`
 * ranks, else by behaviour.  Blamed ranks come first if there are more.  `tagged_only`: only tagged ranks, if there
 * are any; groups of alike ranks then stay as before. */
void tui_tree_update(struct tui_app *app, enum tui_rows_by by, size_t fit, bool tagged_only);

/* Opens a row, or closes it. */
void tui_tree_toggle(struct tui_app *app, const struct tui_row *row);

/* Closes all rows.  False: none was open. */
bool tui_tree_close(struct tui_app *app);

/* Puts the cursor on a rank, and opens what hides it, so that it has a row of its own. */
void tui_tree_reveal(struct tui_app *app, size_t index);

/* Returns the index that a rank of the app has in the job now; its old one if it has none. */
size_t tui_tree_again(const struct tui_app *app, size_t index);

/* The row of the cursor of all views; its number, 0 where there is none. */
size_t tui_tree_cursor(const struct tui_app *app);

/* Puts the cursor of all views on a row. */
void tui_tree_choose(struct tui_app *app, const struct tui_row *row);

/* Writes what a row is called: "748", "x125", "+9874"; of one that can be opened, opened, "-9874". */
const char *tui_tree_name(const struct tui_app *app, const struct tui_row *row, char *out, size_t size);

/* Writes where it is: "node003", "80 nodes". */
const char *tui_tree_place(const struct tui_app *app, const struct tui_row *row, char *out, size_t size);

/* Frees the tree's memory. */
void tui_tree_free(struct tui_tree *tree);
