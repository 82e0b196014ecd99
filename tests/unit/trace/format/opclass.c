/* The table of operation classes: what its columns must agree on, whoever adds a row. */
#include "tests/support/check.h"
#include "trace/format/opclass.h"

#include <string.h>

static void test_texts(void)
{
    for (int i = 0; i < TRC_OPCLASSES; i++) {
        const char *text = trc_opclass_text((enum trc_opclass)i);
        CHECK(text && *text && strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_") == strlen(text), "class %d", i);
        for (int k = 0; k < i; k++)
            CHECK(strcmp(text, trc_opclass_text((enum trc_opclass)k)) != 0, "%s stands twice", text);
    }
    CHECK(!strcmp(trc_opclass_text(TRC_OPCLASSES), "other"), "a number that is no class");
    CHECK(!strcmp(trc_opclass_text((enum trc_opclass) - 1), "other"), "a negative number");
}

/* Columns that exclude or need each other. */
static void test_rows(void)
{
    for (int i = 0; i < TRC_OPCLASSES; i++) {
        enum trc_opclass opclass = (enum trc_opclass)i;
        enum trc_category category = trc_opclass_category(opclass);
        const char *text = trc_opclass_text(opclass);
        bool waits = trc_opclass_is(opclass, TRC_FACT_WAITS), polls = trc_opclass_is(opclass, TRC_FACT_POLLS);
        bool receives = trc_opclass_is(opclass, TRC_FACT_RECEIVES);
        CHECK(category > TRC_CAT_COMPUTE && category < TRC_CATEGORIES, "%s: no call's category", text);
        CHECK(waits || !(polls || receives || trc_opclass_has_wait_states(opclass)), "%s waits and does not", text);
        CHECK(!polls || !receives, "%s returns at once and waits for a partner", text);
        CHECK(!trc_opclass_is_rooted(opclass) || category == TRC_CAT_COLLECTIVE, "%s has a root", text);
        CHECK(trc_opclass_agreed(opclass) == TRC_AGREED_NOTHING || category == TRC_CAT_COLLECTIVE, "%s agrees", text);
        CHECK(!trc_opclass_is(opclass, TRC_FACT_ENQUEUES) || category == TRC_CAT_NCCL, "%s enqueues", text);
        CHECK(!trc_opclass_is_device(opclass) || !waits, "%s: a stream's work is no call", text);
    }
}

/* Rules that follow from several columns. */
static void test_derived(void)
{
    CHECK(trc_opclass_is_probe(TRC_OP_PROBE) && trc_opclass_is_probe(TRC_OP_MPROBE), "probes");
    CHECK(!trc_opclass_is_probe(TRC_OP_TEST) && !trc_opclass_is_probe(TRC_OP_RECV), "no probes");
    CHECK(trc_opclass_is_one_sided(TRC_OP_RMA) && trc_opclass_is_one_sided(TRC_OP_RMA_SYNC), "one-sided");
    CHECK(!trc_opclass_is_one_sided(TRC_OP_RMA_FENCE), "a fence is for all");
    CHECK(trc_opclass_is_progress(TRC_OP_SEND) && trc_opclass_is_progress(TRC_OP_BARRIER), "progress");
    CHECK(!trc_opclass_is_progress(TRC_OP_TEST) && !trc_opclass_is_progress(TRC_OP_COMM), "no progress");
    CHECK(trc_opclass_has_wait_states(TRC_OP_SEND) && trc_opclass_has_wait_states(TRC_OP_SCAN), "wait states");
    CHECK(!trc_opclass_has_wait_states(TRC_OP_NEIGHBOR) && !trc_opclass_has_wait_states(TRC_OP_ISEND), "none");
    CHECK(trc_opclass_is_device(TRC_OP_COPY) && !trc_opclass_is_device(TRC_OP_NCCL_COLL), "on a stream");
}

int main(void)
{
    test_texts();
    test_rows();
    test_derived();
    return check_result();
}
