#include "tui/app/palette.h"
#include "tui/app/sentences_impl.h"
#include "tui/app/jump.h"
#include "trace/util/text.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

enum { WORD = 24, VIEW = sizeof "VIEW_" - 1 };

void tui_palette_word(enum tui_action action, char *out, size_t size)
{
    const char *id = tui_action_info(action)->id;
    if (strncmp(id, "VIEW_", VIEW) == 0)
        id += VIEW;
    snprintf(out, size, "%s", strcmp(id, "VERDICT") == 0 ? "why" : id);
    for (char *c = out; *c; c++)
        *c = (char)(*c == '_' ? '-' : tolower((unsigned char)*c));
}

/* Whether an action is offered in the present view: keys of the cursor are not. */
static bool is_offered(const struct tui_app *app, enum tui_action action)
{
    if (action < TUI_ACTION_FIND)
        return tui_app_offers(app, (enum tui_view_id)(action - TUI_ACTION_VIEW_OVERVIEW));
    bool moves = action >= TUI_ACTION_UP && action <= TUI_ACTION_BACK;
    return !moves && action != TUI_ACTION_JUMP && tui_action_info(action)->views & 1u << app->view;
}

enum tui_action tui_palette_action(const struct tui_app *app, const char *word, size_t length)
{
    char name[WORD];
    for (enum tui_action a = TUI_ACTION_NONE + 1; a < TUI_ACTIONS; a++) {
        tui_palette_word(a, name, sizeof name);
        if (is_offered(app, a) && strncasecmp(name, word, length) == 0)
            return a;
    }
    return TUI_ACTION_NONE;
}

struct list {
    struct tui_offer *offer;
    size_t count;
};

static void add(struct list *list, const char *help, const char *word, const char *argument)
{
    if (list->count == TUI_OFFERS)
        return;
    struct tui_offer *to = &list->offer[list->count];
    to->help = help;
    if (snprintf(to->text, sizeof to->text, "%s%s%s", word, *argument ? " " : "", argument) < (int)sizeof to->text)
        list->count++;
}

/* Adds a name behind a command's word, once. */
static void add_name(struct list *list, const char *word, const char *name, const char *typed)
{
    if (!name || !*name || strncasecmp(name, typed, strlen(typed)) != 0)
        return;
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->offer[i].text + strlen(word) + 1, name) == 0)
            return;
    add(list, "", word, name);
}

static void list_names(const struct tui_app *app, struct list *list, const char *word, const char *typed)
{
    const struct ana_summary *s = &app->summary;
    if (strcmp(word, "call") == 0)
        for (size_t i = 0; i < s->call_count; i++)
            add_name(list, word, s->calls[i].name, typed);
    else if (strcmp(word, "comm") == 0)
        for (size_t i = 0; i < s->collective_count; i++)
            add_name(list, word, s->collectives[i].comm_name, typed);
    else if (strcmp(word, "site") == 0)
        for (size_t i = 0; i < s->site_count; i++) {
            const char *place = s->sites[i].line ? s->sites[i].line : s->sites[i].function;
            add_name(list, word, trc_base_name(place), typed);
        }
}

size_t tui_palette_list(const struct tui_app *app, const char *typed, struct tui_offer out[TUI_OFFERS])
{
    struct list list = {out, 0};
    const size_t length = strcspn(typed, " ");
    const struct tui_jump *jump;
    char word[WORD];
    for (jump = tui_jumps + 1; jump->word; jump++) {
        if (strncasecmp(jump->word, typed, length) != 0)
            continue;
        if (typed[length]) {
            list_names(app, &list, jump->word, typed + length + strspn(typed + length, " "));
            return list.count;
        }
        add(&list, jump->help, jump->word, "");
    }
    for (enum tui_action a = TUI_ACTION_NONE + 1; a < TUI_ACTIONS && !typed[length]; a++) {
        tui_palette_word(a, word, sizeof word);
        if (is_offered(app, a) && strncasecmp(word, typed, length) == 0)
            add(&list, tui_action_info(a)->help, word, "");
    }
    return list.count;
}

bool tui_palette_complete(const struct tui_app *app, struct tui_line *line)
{
    struct tui_offer offer[TUI_OFFERS];
    size_t n = tui_palette_list(app, line->text, offer), shared = n ? strlen(offer[0].text) : 0;
    for (size_t i = 1; i < n; i++)
        for (size_t c = 0; c < shared; c++)
            if (tolower((unsigned char)offer[i].text[c]) != tolower((unsigned char)offer[0].text[c]))
                shared = c;
    if (!n)
        return false;
    bool more = shared > strlen(line->text);
    snprintf(line->text, sizeof line->text, "%.*s", more ? (int)shared : TUI_LINE - 1, offer[0].text);
    line->at = (int)strlen(line->text);
    return true;
}

void tui_palette_draw(const struct tui_app *app, struct tui_grid *grid, struct tui_rect rect)
{
    enum { MOST = 10, TEXT = 18 };
    struct tui_offer offer[TUI_OFFERS];
    int n = (int)tui_palette_list(app, app->line.text, offer), most = rect.h / 2 < MOST ? rect.h / 2 : MOST;
    int rows = n < most ? n : most, more = n - rows;
    struct tui_rect box = {rect.x, rect.y + rect.h - rows, rect.w, rows};
    tui_fill(grid, box, TUI_STYLE_NORMAL, ' ');
    for (int i = 0; i < rows; i++) {
        if (more && i == rows - 1) {
            tui_putf(grid, box, 1, i, TUI_STYLE_DIM, SAY_MORE_TAB_COMPLETES, more + 1);
            break;
        }
        int x = tui_put(grid, box, 1, i, TUI_STYLE_STRONG, offer[i].text);
        tui_put(grid, box, x < TEXT ? TEXT : x + 2, i, TUI_STYLE_DIM, offer[i].help);
    }
}
