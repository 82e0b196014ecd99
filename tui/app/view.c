#include "tui/app/view.h"
#include "trace/relations/waits.h"

const struct tui_view_words tui_view_words[] = {
#define VIEW(id, symbol, title, about) {title, about},
#include "tui/app/view.def"
};

const struct tui_term_help tui_terms[] = {
#define TERM(id, word, help) {TUI_VIEW_##id, word, help},
#include "tui/app/view.def"
#define ACCOUNT(ID, key, words, help) {TUI_VIEW_OVERVIEW, key, help},
#include "trace/account/accounts.def"
#define KIND(ID, key, name, does, whom, where, help) {TUI_VIEW_IMBALANCE, name, help},
    ANA_WAIT_KIND_ROWS(KIND){TUI_VIEWS, NULL, NULL}};
