/* SimGrid's replay of actions, as a program of its own: hpctop neither needs nor contains SimGrid. */
#ifndef TUI_REPLAY_H
#define TUI_REPLAY_H

#include <stdbool.h>
#include <stddef.h>

struct tui_replay;

/* Looks for SimGrid and makes a folder for its files.  NULL, with one line in `error`: it is not here, and what to
 * install. */
struct tui_replay *tui_replay_open(char *error, size_t size);
/* Removes the folder; NULL is none. */
void tui_replay_close(struct tui_replay *replay);

enum tui_replay_file { TUI_REPLAY_ACTIONS, TUI_REPLAY_PLATFORM, TUI_REPLAY_HOSTS, TUI_REPLAY_LIST, TUI_REPLAY_FILES };
/* The path of a file in it, as long as it is open.  The caller writes actions and platform. */
const char *tui_replay_file(const struct tui_replay *replay, enum tui_replay_file file);

/* Replays them with a rank on each of the hosts r0, r1 ..; `options` of SimGrid's, a line each.  Writes how long the
 * run would have taken.  False, with one line in `error`: it did not end. */
bool tui_replay_run(struct tui_replay *replay, size_t ranks, const char *options, double *seconds, char *error,
                    size_t size);

#endif
