#include "tui/app/words.h"

#include <inttypes.h>
#include <string.h>

void tui_words_instant(char *out, size_t size, int64_t at_ns, int64_t step_ns, bool brief)
{
    int digits = 0;
    for (int64_t unit = 1000000000; digits < 9 && step_ns % unit; unit /= 10)
        digits++;
    char fraction[16], clock[ANA_TEXT];
    snprintf(fraction, sizeof fraction, ".%09" PRId64, at_ns % 1000000000);
    fraction[digits ? digits + 1 : 0] = 0;
    if (brief && digits)
        snprintf(out, size, "%s", fraction);
    else
        snprintf(out, size, "%s%s", ana_clock(clock, sizeof clock, at_ns), fraction);
}

static const char *name_peer(int32_t peer, char *out, size_t size)
{
    if (peer >= 0)
        snprintf(out, size, "%d", peer);
    else
        snprintf(out, size, "%s",
                 peer == TRC_PEER_ANY    ? "any rank"
                 : peer == TRC_PEER_NULL ? "MPI_PROC_NULL"
                                         : "an unknown rank");
    return out;
}

static void add_message(char *out, size_t size, size_t *n, const char *what, int32_t peer, int32_t tag, uint64_t bytes)
{
    char text[ANA_TEXT];
    ana_append(out, size, n, "%s %s", what, name_peer(peer, text, sizeof text));
    if (tag >= 0)
        ana_append(out, size, n, " tag %d", tag);
    ana_append(out, size, n, ", %s",
               ana_number(text, sizeof text, ANA_BYTES, bytes == TRC_BYTES_UNKNOWN ? NAN : (double)bytes, true));
}

static void write_other_side(const struct tui_app *app, const struct ana_state_at *m, char *out, size_t size)
{
    char rank[ANA_TEXT], late[ANA_TEXT];
    size_t n = 0;
    if (m->sig.flags & TRC_SIG_COLL) {
        if (m->last_index < 0)
            ana_append(out, size, &n, "not all of its ranks were seen");
        else
            ana_append(out, size, &n, "rank %s came last, %s after the first",
                       tui_app_rank_name(app, (size_t)m->last_index, rank, sizeof rank),
                       ana_spoken(late, sizeof late, (double)m->late_ns));
    } else if (m->has_other_end) {
        int64_t ahead = m->other_begin_ns - m->begin_ns;
        ana_append(out, size, &n, "its other end: rank %s, which began %s %s (o goes there)",
                   tui_app_rank_name(app, m->other_index, rank, sizeof rank),
                   ana_spoken(late, sizeof late, (double)(ahead < 0 ? -ahead : ahead)),
                   ahead < 0 ? "earlier" : "later");
    }
}

void tui_words_partners(const struct trc_sig *sig, char *out, size_t size, size_t *n)
{
    char text[ANA_TEXT];
    if (sig->flags & TRC_SIG_P2P_OUT)
        add_message(out, size, n, ", to", sig->peer, sig->tag, sig->sent);
    if (sig->flags & TRC_SIG_P2P_IN)
        add_message(out, size, n, ", from", sig->source, sig->rtag, sig->received);
    if (sig->flags & TRC_SIG_COLL) {
        uint64_t bytes = sig->sent > sig->received && sig->sent != TRC_BYTES_UNKNOWN ? sig->sent : sig->received;
        if (bytes && bytes != TRC_BYTES_UNKNOWN)
            ana_append(out, size, n, ", %s", ana_number(text, sizeof text, ANA_BYTES, (double)bytes, true));
    }
}

void tui_words_state(const struct tui_app *app, const struct ana_state_at *state, char *first, size_t first_size,
                     char *second, size_t second_size)
{
    char rank[ANA_TEXT], when[48], text[ANA_TEXT];
    int64_t begin, end;
    size_t n = 0;
    second[0] = 0;
    tui_app_range(app, &begin, &end);
    int64_t step = 1;
    while (step < (end - begin) / 200 && step < 1000000000)
        step *= 10;
    tui_words_instant(when, sizeof when, app->cursor_ns, step, false);
    ana_append(first, first_size, &n, "%s rank %s: ", when,
               tui_app_rank_name(app, app->cursor_rank, rank, sizeof rank));
    if (!state) {
        ana_append(first, first_size, &n, "nothing is known of this time");
        return;
    }
    if (!state->call) {
        ana_append(first, first_size, &n, "outside MPI");
        return;
    }
    const struct trc_sig *sig = &state->sig;
    if (state->covers)
        ana_append(first, first_size, &n, "%s ", state->call);
    else
        ana_append(first, first_size, &n, "outside MPI, after %s ", state->call);
    ana_append(first, first_size, &n, "%s",
               ana_number(text, sizeof text, ANA_NS, (double)(state->end_ns - state->begin_ns), true));
    tui_words_partners(sig, first, first_size, &n);
    if (state->comm_name)
        ana_append(first, first_size, &n, ", %s", state->comm_name);
    if (sig->flags & TRC_SIG_COLL)
        ana_append(first, first_size, &n, " #%" PRIu64, state->sequence);
    if (state->region[0])
        ana_append(first, first_size, &n, "; in %s", state->region);
    write_other_side(app, state, second, second_size);
}
