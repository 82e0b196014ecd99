/* A rank that has a library of collectives loaded, and ends without a record: one line in the trace folder says so. */
#include "interpose/base/elf.h"
#include "interpose/base/text.h"
#include "interpose/core/process.h"
#include "interpose/core/state.h"
#include "interpose/identity/identity.h"
#include "trace/writer/system.h"

#include <fcntl.h>

static const char *find_library(void)
{
    static const char *const carriers[] = {"libtorch_cpu.",  "libnccl.",       "mpi_lib", /* Horovod's */
                                           "libjax_common.", "xla_extension.", NULL};
    for (const struct link_map *map = ipo_elf_first(); map; map = map->l_next) {
        const char *slash = map->l_name ? strrchr(map->l_name, '/') : NULL;
        for (const char *const *at = carriers; slash && *at; at++)
            if (strncmp(slash + 1, *at, strlen(*at)) == 0)
                return slash + 1;
    }
    return NULL;
}

static void write_line(char *folder, const struct trc_head *head, const char *library)
{
    struct ipo_text path = {0}, line = {0};
    const char *refused;
    if (ipo_process_folder(folder, &refused))
        return;
    ipo_text_add(&path, folder);
    ipo_text_add(&path, "/unseen.txt");
    ipo_text_add(&line, "rank ");
    ipo_text_add_number(&line, (uint64_t)head->rank);
    ipo_text_add(&line, " had ");
    ipo_text_add(&line, library);
    ipo_text_add(&line, " loaded, but made no call of MPI, NCCL or Gloo that can be seen\n");
    int fd = trc_sys_open_at(AT_FDCWD, path.text, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return;
    if (trc_sys_write(fd, line.text, line.used) < 0)
        ipo_log("no space for: ", line.text);
    trc_sys_close(fd);
}

/* Runs in a process that has recorded nothing; a child of one that has is no rank. */
__attribute__((destructor)) static void log_unseen(void)
{
    static struct trc_head head;
    static char folder[sizeof ipo_process.folder];
    const char *library = ipo_process.pid ? NULL : find_library();
    if (!library || !ipo_process_wanted())
        return;
    ipo_identity(&head, folder, sizeof folder, ipo_process.options.dir, ipo_process.options.image, 0, 0);
    if (head.rank >= 0 && head.world_size > 1)
        write_line(folder, &head, library);
}
