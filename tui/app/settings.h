/* The user's configuration: $XDG_CONFIG_HOME/hpctop/config, by default ~/.config/hpctop/config.  A line is `key =
 * value`, blank, or begins with #.  A line that is not understood is told with file and number, and changes nothing. */
#pragma once

#include "tui/app/app.h"

enum { TUI_SETTINGS = 64, TUI_SETTING = 240 };

struct tui_settings {
    char path[512]; /* path of the file, whether it is there or not; empty: the user has no home */
    enum tui_theme theme;
    int refresh_ms; /* time between refreshes; 0: as often as it costs little */
    /* Lines about tables, which tui_settings_apply takes. */
    struct tui_table_line {
        int number;
        bool sort; /* else columns */
        char view[24], value[TUI_SETTING];
    } line[TUI_SETTINGS];
    int lines;
    char complaint[400]; /* about the first line that was not understood, or empty */
    int complaints;
};

struct tui_setting {
    const char *name, *example, *help;
};

/* The table of settings; a name of NULL ends it. */
extern const struct tui_setting tui_settings[];

/* Reads the user's file, if there is one. */
void tui_settings_read(struct tui_settings *out);

/* Applies the settings of tables and of refreshing; complaints become the app's message, behind the present one. */
void tui_settings_apply(struct tui_settings *settings, struct tui_app *app);

/* Saves columns and order of the table that is shown in the user's file, whose other lines stay.  `message` says where,
 * or why not. */
void tui_settings_save(const struct tui_app *app, char *message, size_t size);
