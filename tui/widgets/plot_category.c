#include "tui/widgets/plot_category.h"

const struct tui_category *tui_category(int category)
{
    static const struct tui_category categories[TUI_CATEGORIES] = {
        [TRC_CAT_COMPUTE] = {"computing", 0x2591, TUI_STYLE_COMPUTE, "outside MPI and NCCL"},
        [TRC_CAT_P2P] = {"point to point", 'p', TUI_STYLE_P2P, "sends, receives, probes"},
        [TRC_CAT_WAIT] = {"wait/test", 'w', TUI_STYLE_COMPLETION, "MPI_Wait and MPI_Test calls, and their kin"},
        [TRC_CAT_COLLECTIVE] = {"collective", 0x2593, TUI_STYLE_COLLECTIVE, "collective operations"},
        [TRC_CAT_RMA] = {"one-sided", 'r', TUI_STYLE_RMA, "one-sided operations and their synchronisation"},
        [TRC_CAT_IO] = {"I/O", 'o', TUI_STYLE_IO, "MPI-IO"},
        [TRC_CAT_MANAGE] = {"other MPI", 'm', TUI_STYLE_MANAGE, "everything else in MPI: init, communicators, types"},
        [TRC_CAT_NCCL] = {"NCCL", 'n', TUI_STYLE_NCCL, "calls of NCCL on the host; of a stream, its kernels"},
        [TRC_CAT_KERNEL] = {"kernels", 'k', TUI_STYLE_KERNEL, "on a stream: kernels that are not NCCL's"},
        [TRC_CAT_COPY] = {"copies", 'c', TUI_STYLE_COPY, "on a stream: copies"},
        [TUI_CATEGORY_WAITING] = {"waiting", 'W', TUI_STYLE_WAITING, "lost inside MPI because another rank was late"},
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
