#include "tui/output/json_help.h"
#include "tui/output/json.h"

/* A row of json_keys.def; of a list of rows `type` is NULL. */
struct key {
    const char *document, *path, *type, *help;
    enum ana_metric_kind kind;
};

static const struct key keys[] = {
#define DOCUMENT(id, command, help) {#id, command, NULL, help, 0},
#define KEY(path, type, help)       {NULL, path, type, help, 0},
#define ROWS(path, kind, help)      {NULL, path, NULL, help, ANA_KIND_##kind},
#include "tui/output/json_keys.def"
};

/* Returns the name of the type of a metric's values in JSON. */
static const char *type_name(const struct ana_metric *metric)
{
    switch (metric->type()) {
    case ANA_WORDS:
        return "text";
    case ANA_BOOL:
        return "boolean";
    case ANA_RANK_INDEX:
        return "rank";
    case ANA_REAL:
        return metric->unit == ANA_NS                                         ? "seconds"
               : metric->unit == ANA_SHARE                                    ? "share"
               : metric->unit == ANA_BYTES || metric->unit == ANA_BYTES_PER_S ? "bytes/s"
                                                                              : "number";
    default:
        return metric->unit == ANA_NS ? "seconds" : metric->unit == ANA_BYTES ? "bytes" : "integer";
    }
}

static void print_key(const char *path, const char *type, const char *help)
{
    printf("  %-38s  %-24s  %s\n", path, type, help);
}

static void print_rows(const struct key *list)
{
    struct ana_column columns[ANA_METRICS];
    size_t n = ana_table_keys(list->kind, columns);
    char path[80], type[32];
    snprintf(path, sizeof path, "%s[]", list->path);
    print_key(path, "object", list->help);
    for (size_t i = 0; i < n; i++) {
        snprintf(path, sizeof path, "%s[].%s", list->path, columns[i].title);
        snprintf(type, sizeof type, "%s or null", type_name(columns[i].metric));
        print_key(path, type, columns[i].metric->help);
    }
}

void tui_json_help(void)
{
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (keys[i].document)
            printf("%s%s: %s\n\n", i ? "\n" : "", keys[i].path, keys[i].help);
        else if (keys[i].type)
            print_key(keys[i].path, keys[i].type, keys[i].help);
        else
            print_rows(&keys[i]);
}
