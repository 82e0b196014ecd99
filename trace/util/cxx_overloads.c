/* C++ functions whose short names are equal: they are shown with arguments. */
#include "trace/util/cxx_name.h"

#include <pthread.h>
#include <search.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_MOST      600 /* bytes of a function with all arguments; of a longer one only the short name is shown */
#define FUNCTIONS_MOST 64  /* functions with one short name that are shown with arguments; bounds hostile files */

struct trc_cxx {
    const char *name; /* key: linker name and offset */
    struct function *function;
    struct trc_cxx *next; /* next site in the function */
    char *_Atomic shown;  /* old texts are not freed: somebody may read them */
};

struct function {
    const char *name; /* key: linker name */
    char *parameters, *templates, *apart;
    struct group *group;
    struct function *next; /* next function in the group */
    struct trc_cxx *places;
};

struct group {
    const char *name; /* key: short name */
    struct function *functions;
    unsigned count;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *places, *functions, *groups;

/* Compares what begins with a pointer to its key. */
static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Finds the entry with a key, or adds a zeroed one of `size` bytes and a copy of the key; NULL: out of memory. */
static void *find_or_add(void **root, const char *key, size_t size)
{
    void *const *found = tfind(&key, root, compare_names);
    if (found)
        return *found;
    size_t n = strlen(key) + 1;
    char *fresh = calloc(1, size + n);
    if (!fresh)
        return NULL;
    const char *copy = memcpy(fresh + size, key, n);
    memcpy(fresh, &copy, sizeof copy);
    if (!tsearch(fresh, root, compare_names)) {
        free(fresh);
        return NULL;
    }
    return fresh;
}

/* Finds the end of the argument that holds byte `at`: a comma between arguments, or 0 for the last. */
static size_t find_comma(const char *text, size_t at)
{
    int depth = 0;
    for (size_t i = 0; text[i]; i++) {
        depth += text[i] == '(' || text[i] == '<';
        depth -= text[i] == ')' || text[i] == '>';
        if (i >= at && text[i] == ',' && depth == 1)
            return i;
    }
    return 0;
}

/* Writes a function with as many arguments as set it apart from the others of its group. */
static void write_apart(const struct group *group, const struct function *f, char *out, size_t size)
{
    size_t most = 0;
    for (const struct function *other = group->functions; other; other = other->next) {
        size_t n = 0;
        while (f->parameters[n] && f->parameters[n] == other->parameters[n])
            n++;
        if (other != f && !f->parameters[n] && !other->parameters[n]) { /* instances of a template */
            snprintf(out, size, "%s", f->templates);
            return;
        }
        most = other != f && n > most ? n : most;
    }
    size_t comma = find_comma(f->parameters, most);
    if (comma)
        snprintf(out, size, "%.*s, ..)", (int)comma, f->parameters);
    else
        snprintf(out, size, "%s", f->parameters);
}

static void show_place(struct trc_cxx *place)
{
    char *text = NULL;
    if (place->function->apart &&
        asprintf(&text, "%s%s", place->function->apart, place->name + trc_cxx_length(place->name)) >= 0)
        atomic_store(&place->shown, text);
}

/* Shows all functions of a group with arguments, if it has several. */
static void show_group(const struct group *group)
{
    for (struct function *f = group->count > 1 ? group->functions : NULL; f; f = f->next) {
        char apart[TEXT_MOST];
        write_apart(group, f, apart, sizeof apart);
        if (f->apart && strcmp(f->apart, apart) == 0)
            continue;
        free(f->apart);
        f->apart = strdup(apart);
        for (struct trc_cxx *place = f->places; place; place = place->next)
            show_place(place);
    }
}

/* Whether a text is there and no longer than its linker name may be, to a constant factor. */
static bool is_short(const char *text)
{
    return text && strlen(text) < TEXT_MOST;
}

/* Enters a function into the group of its short name. */
static void join_group(struct function *f)
{
    size_t length = strlen(f->name);
    f->parameters = trc_cxx_text(f->name, length, TRC_CXX_PARAMETERS);
    f->templates = trc_cxx_text(f->name, length, TRC_CXX_TEMPLATES);
    char *name = strdup(f->name);
    bool known = name && is_short(f->parameters) && is_short(f->templates);
    if (known)
        trc_cxx_name(name);
    struct group *group = known ? find_or_add(&groups, name, sizeof *group) : NULL;
    free(name);
    if (!group || group->count == FUNCTIONS_MOST) {
        free(f->parameters);
        free(f->templates);
        return;
    }
    f->next = group->functions;
    f->group = group;
    group->functions = f;
    group->count++;
}

/* Enters a place into its function. */
static void join_function(struct trc_cxx *place)
{
    char *name = strndup(place->name, trc_cxx_length(place->name));
    struct function *f = name ? find_or_add(&functions, name, sizeof *f) : NULL;
    free(name);
    if (!f)
        return;
    bool fresh = !f->places;
    place->next = f->places;
    f->places = place;
    place->function = f;
    if (fresh)
        join_group(f);
    if (fresh && f->group)
        show_group(f->group);
    else
        show_place(place);
}

const struct trc_cxx *trc_cxx_add(const char *name)
{
    if (!trc_cxx_used() || strncmp(name, "_Z", 2) != 0)
        return NULL;
    pthread_mutex_lock(&lock);
    struct trc_cxx *place = find_or_add(&places, name, sizeof *place);
    if (place && !place->function)
        join_function(place);
    pthread_mutex_unlock(&lock);
    return place;
}

const char *trc_cxx_shown(const struct trc_cxx *place)
{
    return place ? atomic_load_explicit(&place->shown, memory_order_acquire) : NULL;
}
