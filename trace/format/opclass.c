/* The table of operation classes.  Linked into libtrace.so, too. */
#include "trace/format/opclass.h"

enum {
#define FACT(id) id = TRC_FACT_##id,
    TRC_FACTS(FACT)
#undef FACT
};

const struct trc_opclass_row trc_opclass_table[TRC_OPCLASSES] = {
#define OPCLASS(id, text, category, shape, agreed, facts)                                                              \
    [TRC_OP_##id] = {text, TRC_CAT_##category, TRC_SHAPE_##shape, TRC_AGREED_##agreed, facts},
#include "trace/format/opclass.def"
#undef OPCLASS
};
