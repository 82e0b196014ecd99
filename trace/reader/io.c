/* Reading bytes of the file, and reporting damage. */
#include "trace/reader/file.h"
#include "trace/util/grow.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

size_t trc_file_read(const struct trc_file *file, uint64_t offset, void *buffer, size_t size)
{
    size_t got = 0;
    int fd = trc_file_hold(file);
    while (fd >= 0 && got < size && offset + got <= INT64_MAX) {
        ssize_t n = pread(fd, (char *)buffer + got, size - got, (off_t)(offset + got));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        got += (size_t)n;
    }
    trc_file_release(file);
    return got;
}

/* Adds a line, unless it is there or there are enough. */
static void add_line(struct trc_file *file, const char *line)
{
    for (size_t i = 0; i < file->damage_count; i++)
        if (!strcmp(file->damage[i], line))
            return;
    if (file->damage_count >= TRC_DAMAGE_MAX)
        return;
    if (file->damage_count == TRC_DAMAGE_MAX - 1)
        line = "more damage, not listed";
    bool room = ana_grow_alone(&file->damage, file->damage_count, sizeof *file->damage);
    char *copy = room ? strdup(line) : NULL;
    if (copy)
        file->damage[file->damage_count++] = copy;
}

bool trc_file_damage(struct trc_file *file, const char *format, ...)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* two threads may read one file */
    char text[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    pthread_mutex_lock(&lock);
    add_line(file, text);
    pthread_mutex_unlock(&lock);
    return false;
}

void trc_add_damage(struct trc_file *file, const char *line)
{
    trc_file_damage(file, "%s", line);
}

const char *trc_damage(const struct trc_file *file, size_t i)
{
    return i < file->damage_count ? file->damage[i] : NULL;
}

static void *resize(struct trc_file *file, void *at, size_t had, size_t bytes)
{
    void *resized = ana_budget_resize(&file->budget, at, had, bytes);
    if (!resized)
        trc_file_damage(file, "more memory than %llu bytes would be needed: not all is read",
                        (unsigned long long)file->budget.most);
    return resized;
}

void *trc_file_alloc(struct trc_file *file, size_t bytes)
{
    return resize(file, NULL, 0, bytes);
}

bool trc_file_grow(struct trc_file *file, void *array, size_t *room, size_t wanted, size_t size)
{
    void *at;
    if (wanted <= *room)
        return true;
    memcpy(&at, array, sizeof at);
    if (!(at = resize(file, at, *room * size, wanted * size)))
        return false;
    memcpy(array, &at, sizeof at);
    *room = wanted;
    return true;
}

bool trc_file_room(struct trc_file *file, void *array, size_t *room, size_t count, size_t size)
{
    return count < *room || trc_file_grow(file, array, room, *room ? *room * 2 : 8, size);
}

bool trc_file_growing(const struct trc_file *file)
{
    return !file->final && (file->head.state == TRC_STATE_RUNNING || file->head.state == TRC_STATE_STARTING);
}
