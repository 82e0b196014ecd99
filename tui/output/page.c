#include "tui/output/page.h"
#include "tui/output/report_json.h"
#include "tui/output/json.h"
#include "tui/widgets/plot_category.h"
#include "trace/format/version.h"
#include "trace/verdict/verdict.h"
#include <stdlib.h>
#include <string.h>

enum {
    ROWS = 128,        /* rows of the timeline and of the matrix */
    COLUMNS = 1024,    /* columns of the timeline */
    LIST = 1000,       /* rows of a table, but of the ranks' */
    BY_RANK_MOST = 256 /* ranks whose own numbers stand in each segment */
};

/* The files of tui/output/page/, as they are. */
#define FILE_OF_PAGE(name, path)                                                                                       \
    extern const char page_##name[], page_##name##_end[];                                                              \
    __asm__(".section .rodata\n"                                                                                       \
            ".global page_" #name "\n"                                                                                 \
            "page_" #name ":\n.incbin \"" path "\"\n"                                                                  \
            ".global page_" #name "_end\n"                                                                             \
            "page_" #name "_end:\n.previous\n")
FILE_OF_PAGE(html, "tui/output/page/page.html");
FILE_OF_PAGE(css, "tui/output/page/page.css");
FILE_OF_PAGE(js, "tui/output/page/page.js");
FILE_OF_PAGE(charts, "tui/output/page/charts.js");
#define WRITE_FILE(name, to) fwrite(page_##name, 1, (size_t)(page_##name##_end - page_##name), to)

/* Writes JSON that may stand in an element of HTML: no character of it can end that, or begin another. */
static void write_escaped(const char *json, FILE *to)
{
    for (; *json; json++)
        if (*json == '<' || *json == '>' || *json == '&')
            fprintf(to, "\\u%04x", (unsigned)*json);
        else
            fputc(*json, to);
}

/* ---- rows that several ranks share ------------------------------------------------------------------------------- */

static size_t rows_of(size_t ranks)
{
    return ranks < ROWS ? ranks : ROWS;
}
static size_t row_of(size_t index, size_t ranks)
{
    return index * rows_of(ranks) / ranks;
}

/* Writes "rank 3", or "ranks 16-31". */
static void label_of(const struct ana_job *job, size_t first, size_t last, char *out, size_t size)
{
    struct ana_label from = ana_rank_label(job, first), to = ana_rank_label(job, last);
    if (first == last)
        snprintf(out, size, "rank %s", from.text);
    else
        snprintf(out, size, "ranks %s-%s", from.text, to.text);
}

/* ---- timeline ---------------------------------------------------------------------------------------------------- */

static char digit_of(double share)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    double n = share * 63 + 0.5;
    return digits[!(n > 0) ? 0 : n > 63 ? 63 : (int)n];
}

/* Three characters a cell: the category that most of its calls are in, their share of the time, the share lost waiting;
 * "---" where nothing is known. */
static void encode_cell(const struct ana_timeline_cell *cell, double known, char *out)
{
    int main = TRC_CAT_COMPUTE;
    double calls = 0;
    for (int c = TRC_CAT_COMPUTE + 1; c < TRC_CATEGORIES; c++) {
        calls += (double)cell->share[c];
        if (main == TRC_CAT_COMPUTE || cell->share[c] > cell->share[main])
            main = c;
    }
    memcpy(out, "---", 3);
    if (!(known > 0))
        return;
    out[0] = digit_of((double)main / 63);
    out[1] = digit_of(calls / known);
    out[2] = digit_of((double)cell->waiting / known);
}

static bool is_culprit(const struct ana_verdict *v, size_t first, size_t last)
{
    for (size_t i = 0; v && i < v->culprits; i++)
        if (v->culprit[i] >= first && v->culprit[i] <= last)
            return true;
    return false;
}

/* Adds the cells of one row: the mean of its ranks'.  False: out of memory. */
static bool add_row(cJSON *rows, struct ana_job *job, const struct ana_summary *s, size_t first, size_t last,
                    bool culprit)
{
    struct ana_timeline_cell *sum = calloc(COLUMNS, sizeof *sum), *cell = calloc(COLUMNS, sizeof *cell);
    double *known = calloc(COLUMNS, sizeof *known);
    char *text = malloc(3 * COLUMNS + 1), label[80];
    bool ok = sum && cell && known && text;
    for (size_t i = first; ok && i <= last; i++) {
        ana_timeline(job, i, s->begin_ns, s->end_ns, COLUMNS, cell);
        for (size_t x = 0; x < COLUMNS; x++) {
            double all = 0;
            for (int c = 0; c < TRC_CATEGORIES; c++) {
                sum[x].share[c] += cell[x].share[c];
                all += (double)cell[x].share[c];
            }
            sum[x].waiting += cell[x].waiting;
            known[x] += all;
        }
    }
    for (size_t x = 0; ok && x < COLUMNS; x++)
        encode_cell(&sum[x], known[x], text + 3 * x);
    if (ok) {
        text[3 * COLUMNS] = 0;
        label_of(job, first, last, label, sizeof label);
        cJSON *row = tui_json_item(rows);
        tui_json_text(row, "label", label);
        cJSON_AddBoolToObject(row, "culprit", culprit);
        cJSON_AddStringToObject(row, "cells", text);
    }
    free(sum);
    free(cell);
    free(known);
    free(text);
    return ok;
}

static bool add_timeline(cJSON *root, struct ana_job *job, const struct ana_summary *s, const struct ana_verdict *v)
{
    cJSON *o = cJSON_AddObjectToObject(root, "timeline"), *names = cJSON_AddArrayToObject(o, "categories");
    for (int c = 0; c < TRC_CATEGORIES; c++)
        tui_json_word(names, tui_category(c)->name);
    tui_json_integer(o, "columns", COLUMNS);
    tui_json_ns(o, "begin_s", s->begin_ns);
    tui_json_ns(o, "end_s", s->end_ns);
    cJSON *rows = cJSON_AddArrayToObject(o, "rows");
    size_t ranks = ana_job_info(job).ranks;
    bool ok = true;
    for (size_t i = 0; v && i < v->culprits && i < 4 && ranks > ROWS && ok; i++) /* blamed ranks have own rows */
        ok = add_row(rows, job, s, v->culprit[i], v->culprit[i], true);
    for (size_t first = 0, last; ok && first < ranks; first = last + 1) {
        last = first;
        while (last + 1 < ranks && row_of(last + 1, ranks) == row_of(first, ranks))
            last++;
        ok = add_row(rows, job, s, first, last, is_culprit(v, first, last));
    }
    return ok;
}

/* ---- matrix ------------------------------------------------------------------------------------------------------ */

static bool add_matrix(cJSON *root, const struct ana_job *job, const struct ana_summary *s)
{
    size_t ranks = ana_job_info(job).ranks, n = rows_of(ranks);
    cJSON *o = cJSON_AddObjectToObject(root, "matrix"), *labels = cJSON_AddArrayToObject(o, "labels");
    cJSON *cells = cJSON_AddArrayToObject(o, "cells");
    uint64_t *sum = calloc(2 * n * n + 1, sizeof *sum);
    for (size_t i = 0; i < s->pair_count && sum; i++) {
        const struct ana_pair *pair = &s->pairs[i];
        size_t at = 2 * (row_of(pair->source, ranks) * n + row_of(pair->destination, ranks));
        sum[at] += pair->bytes;
        sum[at + 1] += pair->messages;
    }
    for (size_t row = 0, first = 0; row < n; row++) {
        char label[80];
        size_t last = first;
        while (last + 1 < ranks && row_of(last + 1, ranks) == row)
            last++;
        label_of(job, first, last, label, sizeof label);
        tui_json_word(labels, label + strcspn(label, " ") + 1);
        first = last + 1;
        for (size_t to = 0; sum && to < n; to++) {
            const uint64_t *cell = &sum[2 * (row * n + to)];
            if (cell[1])
                cJSON_AddItemToArray(
                    cells,
                    cJSON_CreateDoubleArray((double[]){(double)row, (double)to, (double)cell[0], (double)cell[1]}, 4));
        }
    }
    free(sum);
    return sum != NULL;
}

/* ---- words ------------------------------------------------------------------------------------------------------- */

/* Adds the accounts of time, and the keys of tables with words that are not everybody's. */
static void add_words(cJSON *root)
{
    cJSON *accounts = cJSON_AddObjectToObject(root, "accounts"), *words = cJSON_AddObjectToObject(root, "words");
    for (int i = 0; i < ANA_ACCOUNTS; i++)
        tui_json_text(accounts, ana_account_key((enum ana_account_id)i), ana_account_help((enum ana_account_id)i));
    for (int i = 0; i < ANA_METRICS; i++) {
        const struct ana_metric *m = &ana_metrics[i];
        const bool explained =
            m->kind == ANA_KIND_SEGMENT || m->kind == ANA_KIND_PRICE || m->kind == ANA_KIND_COLLECTIVE;
        if (explained && m->key && !cJSON_HasObjectItem(words, m->key))
            tui_json_text(words, m->key, m->help);
    }
}

/* ---- the page ---------------------------------------------------------------------------------------------------- */

/* Cuts lists and texts that are too long for a page, and notes each cut. */
static void shorten(cJSON *report, size_t ranks, cJSON *left_out)
{
    cJSON *list;
    cJSON_DeleteItemFromObject(report, "pairs"); /* the matrix has them */
    cJSON_ArrayForEach(list, report)
    {
        int length = cJSON_IsArray(list) ? cJSON_GetArraySize(list) : 0;
        if (length <= LIST || strcmp(list->string, "ranks") == 0)
            continue;
        char note[160];
        snprintf(note, sizeof note, "Of %d %.40s the first %d are here.", length, list->string, LIST);
        tui_json_word(left_out, note);
        cJSON *last = list->child->prev; /* the list ends where its first one points back to */
        for (int i = length; i > LIST; i--) {
            cJSON *before = last->prev;
            cJSON_Delete(cJSON_DetachItemViaPointer(list, last));
            last = before;
        }
    }
    static const char *const with_ranks[2] = {"segments", "regions"};
    for (size_t i = 0; i < 2 && ranks > BY_RANK_MOST; i++)
        cJSON_ArrayForEach(list, cJSON_GetObjectItem(report, with_ranks[i]))
            cJSON_DeleteItemFromObject(list, "by_rank_s");
}

static char *make_data(struct ana_job *job, const struct ana_summary *s, const struct ana_verdict *v,
                       const char *healthy, const char *said)
{
    cJSON *root = cJSON_CreateObject(), *left_out = cJSON_AddArrayToObject(root, "left_out");
    cJSON *report = tui_report_tree(job, s);
    bool fine = v && v->state == ANA_VERDICT_HEALTHY;
    cJSON *verdict = v ? tui_verdict_tree(job, v, fine && healthy[0] ? healthy : v->summary.text) : cJSON_CreateNull();
    bool ok = report && verdict && add_timeline(root, job, s, v) && add_matrix(root, job, s);
    tui_json_text(root, "version", HPCTOP_VERSION);
    add_words(root);
    tui_json_text(root, "said", said && said[0] ? said : NULL);
    if (report)
        shorten(report, ana_job_info(job).ranks, left_out);
    cJSON_AddItemToObject(root, "report", report);
    cJSON_AddItemToObject(root, "verdict", verdict);
    char *text = ok ? cJSON_PrintUnformatted(root) : NULL;
    cJSON_Delete(root);
    return text;
}

bool tui_page_write(struct ana_job *job, const struct ana_summary *s, const struct ana_verdict *v, const char *healthy,
                    const char *said, FILE *to)
{
    char *data = make_data(job, s, v, healthy, said);
    if (!data)
        return false;
    fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
          "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'unsafe-inline'; "
          "style-src 'unsafe-inline'\">\n"
          "<meta name=\"viewport\" content=\"width=device-width\">\n<title>hpctop</title>\n<style>\n",
          to);
    WRITE_FILE(css, to);
    fputs("</style>\n</head>\n<body>\n", to);
    WRITE_FILE(html, to);
    fputs("<script type=\"application/json\" id=\"data\">", to);
    write_escaped(data, to);
    fputs("</script>\n<script>\n", to);
    WRITE_FILE(js, to);
    WRITE_FILE(charts, to);
    fputs("</script>\n</body>\n</html>\n", to);
    free(data);
    return true;
}
