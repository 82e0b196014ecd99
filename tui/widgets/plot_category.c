#include "tui/widgets/plot_category.h"

const struct tui_category *tui_category(int category)
{
    static const struct tui_category categories[TUI_CATEGORIES] = {
#define CATEGORY(value, name, character, style, help) [value] = {name, character, style, help},
#include "tui/widgets/category.def"
    };
    return &categories[category >= 0 && category < TUI_CATEGORIES ? category : TRC_CAT_MANAGE];
}

int tui_cell_category(const struct ana_timeline_cell *cell)
{
    int best = -1;
    float most = 0;
    for (int c = 0; c < TRC_CATEGORIES; c++)
        if (cell->share[c] > most) {
            most = cell->share[c];
            best = c;
        }
    /* Waiting is part of the shares of MPI.  It is shown when it is most of the time in MPI. */
    if (best >= 0 && cell->waiting > 0 && cell->waiting * 2 >= 1 - cell->share[TRC_CAT_COMPUTE] &&
        cell->waiting >= cell->share[TRC_CAT_COMPUTE])
        best = TUI_CATEGORY_WAITING;
    return best;
}
