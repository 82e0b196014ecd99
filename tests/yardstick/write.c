/* Programs as text: for people, and for real/play.c. */
#include "tests/yardstick/judge.h"

#include <stdio.h>

static const char *const kinds[] = {
#define KIND(id, name) name,
#include "tests/yardstick/kinds.def"
#undef KIND
};
static const char *const calls[] = {
#define CALL(id, name, class) name,
#include "tests/yardstick/calls.def"
#undef CALL
};

/* The program, an operation a line: who may be blamed has a `!`, where a thread stands a `>`. */
void describe(const struct program *p, const struct run *run)
{
    for (int a = 0; a < p->actors; a++)
        for (int i = 0; i < p->actor[a].ops; i++) {
            const struct op *op = &p->actor[a].op[i];
            const struct done *last = &run->log[a][run->done[a] - 1];
            printf("%s%s%d.%d %-10s %-20s comm %d makes %d to %d from %d tag %d rtag %d bytes %llu root %d slots %d+%d "
                   "group %llx ns %lld count %d%s\n",
                   p->blame[p->actor[a].rank] ? "!" : " ", last->op == i && last->end == NEVER ? ">" : " ",
                   p->actor[a].rank, p->actor[a].thread, kinds[op->kind], op->call ? calls[op->call] : "-", op->comm,
                   op->makes, op->to, op->from, op->tag, op->rtag, (unsigned long long)op->bytes, op->root, op->slot,
                   op->slots, (unsigned long long)op->group, (long long)op->ns, op->count, op->idle ? " idle" : "");
        }
}

void write_program(const struct program *p, const struct run *run)
{
    const char *end = run->finished ? "finishes" : truth_at(p, run, NEVER - 1) == BROKEN ? "broken" : "hangs";
    printf("ranks %d actors %d\nfault %s\nend %s\nlast %lld\nblame", p->ranks, p->actors, fault_name[p->fault], end,
           (long long)run->last);
    for (int r = 0; r < p->ranks; r++)
        if (p->blame[r])
            printf(" %d", r);
    printf("\n");
    for (int i = 0; i < p->comms; i++) {
        const struct comm *c = &p->comm[i];
        printf("comm %d %d %d %d", (int)c->kind, c->size, c->remote, c->parent);
        for (int k = 0; k < c->size + c->remote; k++)
            printf(" %d", c->member[k]);
        for (int r = 0; r < p->ranks; r++)
            printf(" %llx", (unsigned long long)c->from[r]);
        printf("\n");
    }
    for (int a = 0; a < p->actors; a++)
        for (int i = 0; i < p->actor[a].ops; i++) {
            const struct op *op = &p->actor[a].op[i];
            printf("op %d %s %s %d %d %d %d %d %d %llu %llu %d %d %d %d %d %d %d %llx %lld\n", a, kinds[op->kind],
                   calls[op->call], op->comm, op->makes, op->to, op->from, op->tag, op->rtag,
                   (unsigned long long)op->bytes, (unsigned long long)op->room, op->root, op->slot, op->slots,
                   op->polls, op->shared, op->idle, op->count, (unsigned long long)op->group, (long long)op->ns);
        }
}
