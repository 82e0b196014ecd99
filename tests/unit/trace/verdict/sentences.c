/* Every sentence of the verdict, with example terms: of one and of several, with all its conditions and with none.
 * tests/golden/sentences.txt has them; UPDATE_GOLDEN=1 writes it anew. */
#include "tests/support/check.h"
#include "tests/support/trace_folder.h"
#include "trace/verdict/render.h"
#include "trace/verdict/verdict_impl.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define S INT64_C(1000000000)

static const char *const names[] = {
#define SENTENCE(id, words) #id,
#include "trace/verdict/sentences.def"
#undef SENTENCE
};

static struct trc_sig sig;
static struct ana_dependency message;

/* `many`: of several; `full`: all terms are there, else none but the ranks. */
static struct ana_fact example(const struct ana_job *job, enum ana_sentence id, bool many, bool full)
{
    struct ana_fact fact = {.id = id, .who = {.first = 1, .n = many ? 3 : 1}};
    static const size_t circle[12] = {3, 0, 1, 4, 2, 5, 3, 0, 1, 4, 2, 5};
    const struct trc_comm *comm = trc_comm(ana_job_rank(job, 0)->file, TB_WORLD);
    int64_t n = many ? 3 : 1;
    if (!full)
        return fact;
    fact.others = (struct ana_ranks){.first = 4, .n = many ? 2 : 1};
    fact.circle = (struct ana_ranks){.index = circle, .n = many ? 12 : 2};
    fact.call = (struct ana_call){"MPI_Recv", TRC_OP_RECV, 0, &sig};
    fact.other_call = (struct ana_call){.name = "MPI_Barrier"};
    fact.site = (struct ana_code_site){.address = 0x10};
    fact.message = &message;
    fact.comm = fact.other_comm = comm;
    fact.name = "(name)";
    fact.other_name = "(other name)";
    fact.value = "(value)";
    fact.other_value = "(other value)";
    fact.count = fact.of = fact.more = fact.number = fact.other_number = n;
    fact.time = n * S;
    fact.other_time = n * 2 * S;
    fact.size = (uint64_t)n << 20;
    fact.share = 0.31 * (double)n;
    fact.factor = 1.4 * (double)n;
    fact.handle = 0x55550;
    fact.absent = (size_t)n;
    return fact;
}

static char *all_sentences(const struct ana_job *job)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    size_t culprit[] = {2, 5};
    struct ana_case c = {.job = job, .count = 6};
    for (size_t id = 1; out && id < ANA_SENTENCES; id++) {
        char words[512], last[512] = "";
        fprintf(out, "%s\n", names[id]);
        for (int form = 0; form < 4; form++) {
            bool many = form & 1, full = form < 2;
            struct ana_finding finding = {
                .culprit = culprit, .culprits = many ? 2 : 1, .absents = 4, .absent = {3, 5, 6, 9}};
            struct ana_fact fact = example(job, (enum ana_sentence)id, many, full);
            ana_render(&c, &finding, &fact, words, sizeof words);
            CHECK(!strpbrk(words, "{}[]"), "%s: a sign of the table is left: %s", names[id], words);
            CHECK(strlen(words) + 1 < sizeof words, "%s is cut", names[id]);
            if (strcmp(words, last) != 0)
                fprintf(out, "    %s\n", words);
            memcpy(last, words, sizeof last);
        }
    }
    if (out)
        fclose(out);
    return text;
}

/* The first line that differs. */
static void compare(const char *got, const char *want)
{
    for (int line = 1; *got || *want; line++) {
        size_t g = strcspn(got, "\n"), w = strcspn(want, "\n");
        if (g != w || memcmp(got, want, g) != 0) {
            CHECK(false, "line %d: %.*s\n  want %.*s", line, (int)g, got, (int)w, want);
            return;
        }
        got += g + (got[g] != 0);
        want += w + (want[w] != 0);
    }
}

int main(void)
{
    static char want[1 << 18];
    char path[512];
    const char *top = getenv("TOP");
    snprintf(path, sizeof path, "%s/tests/golden/sentences.txt", top ? top : ".");
    folder_make("sentences");
    for (int r = 0; r < 6; r++) {
        struct tb *tb = tb_new(r, 6);
        tb_barrier(tb, 0, 1 * S, 2 * S, TB_WORLD, 0);
        tb_site(tb, 0x10, "step+0x4", "/home/me/app+0x44");
        folder_write(tb, r);
        tb_free(tb);
    }
    struct ana_job *job = folder_open();
    sig = tb_sig(TB_RECV);
    sig.comm = TB_WORLD;
    sig.flags = TRC_SIG_P2P_IN;
    sig.source = 3;
    sig.rtag = 7;
    message = (struct ana_dependency){
        .index = 0, .peer = 3, .tag = 7, .comm = trc_comm(ana_job_rank(job, 0)->file, TB_WORLD), .bytes = 4096};
    char *got = all_sentences(job);
    FILE *file = fopen(path, getenv("UPDATE_GOLDEN") ? "w" : "r");
    CHECK(got && file, "%s: cannot be opened", path);
    if (got && file && getenv("UPDATE_GOLDEN"))
        fputs(got, file);
    else if (got && file) {
        want[fread(want, 1, sizeof want - 1, file)] = 0;
        compare(got, want);
    }
    if (file)
        fclose(file);
    free(got);
    ana_job_close(job);
    folder_remove();
    return check_result();
}
