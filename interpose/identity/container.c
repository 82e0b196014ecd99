#include "interpose/identity/container.h"
#include "interpose/base/procfs.h"
#include "interpose/base/text.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Signs by which a runtime shows that a process is in it: a variable, the value of `container` (as systemd's
 * CONTAINER_INTERFACE asks for), or a file; the first row that fits counts.  Apptainer sets Singularity's variables
 * too.
 *   apptainer, singularity   user guide, "Environment and metadata"
 *   shifter                  NERSC's shifter sets SHIFTER_RUNTIME and the name that was asked for
 *   charliecloud             ch-run(1): CH_RUNNING is set to a fixed text
 *   podman                   podman-run(1): container=podman and /run/.containerenv
 *   docker                   /.dockerenv */
static const struct runtime {
    const char *name;
    const char *mark; /* a variable that is set in this runtime */
    const char *kind; /* value of the variable `container` */
    const char *file; /* a file that exists */
    const char *images[3];
} runtimes[] = {
    {"apptainer", "APPTAINER_CONTAINER", NULL, NULL, {"APPTAINER_CONTAINER"}},
    {"singularity", "SINGULARITY_CONTAINER", NULL, NULL, {"SINGULARITY_CONTAINER"}},
    {"singularity", "SINGULARITY_NAME", NULL, NULL, {"SINGULARITY_NAME"}},
    {"shifter", "SHIFTER_RUNTIME", NULL, NULL, {"SHIFTER_IMAGEREQUEST", "SHIFTER_IMAGE"}},
    {"shifter", "SHIFTER_IMAGE", NULL, NULL, {"SHIFTER_IMAGE"}},
    {"charliecloud", "CH_RUNNING", NULL, NULL, {NULL}},
    {"podman", NULL, "podman", "/run/.containerenv", {NULL}},
    {"docker", NULL, "docker", "/.dockerenv", {NULL}},
};

static const struct runtime *find_runtime(const char *kind)
{
    for (size_t i = 0; i < sizeof runtimes / sizeof *runtimes; i++) {
        const struct runtime *r = &runtimes[i];
        const char *mark = r->mark ? getenv(r->mark) : NULL;
        if ((mark && *mark) || (kind && r->kind && strcmp(kind, r->kind) == 0) || (r->file && !access(r->file, F_OK)))
            return r;
    }
    return NULL;
}

/* The folder or file that was mounted as root: fields 4 (the place within its file system) and 9 (the device) of the
 * line of /proc/self/mountinfo whose field 5 is `/`; proc(5).  The last such line counts. */
static void find_root_source(char *out, size_t size)
{
    char table[8192];
    ipo_read_file("/proc/self/mountinfo", table, sizeof table);
    for (char *line = table, *next; line; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = 0;
        char *field[5], *at = line;
        int n = 0;
        for (; n < 5 && at; n++) {
            field[n] = at;
            at = strchr(at, ' ');
            if (at)
                *at++ = 0;
        }
        if (n < 5 || strcmp(field[4], "/") != 0)
            continue;
        char *behind = at ? strstr(at, " - ") : NULL; /* type, source, options */
        char *source = behind ? strchr(behind + 3, ' ') : NULL;
        char *end = source ? strchr(source + 1, ' ') : NULL;
        if (end)
            *end = 0;
        char *lower = end ? strstr(end + 1, "lowerdir=") : NULL; /* ch-run --write-fake: an overlay on the image */
        if (lower) {
            lower[strcspn(lower, ",:")] = 0;
            ipo_copy(out, size, lower + strlen("lowerdir="));
            continue;
        }
        bool whole = strcmp(field[3], "/") == 0;
        if (!whole || (source && source[1] == '/'))
            ipo_copy(out, size, whole ? source + 1 : field[3]);
    }
}

/* The value of image="..." in Podman's file, which has it in privileged containers only. */
static void read_podman_image(char *out, size_t size)
{
    char text[2048];
    ipo_read_file("/run/.containerenv", text, sizeof text);
    char *image = strstr(text, "image=\"");
    char *end = image ? strchr(image + 7, '"') : NULL;
    if (end) {
        *end = 0;
        ipo_copy(out, size, image + 7);
    }
}

static uint64_t read_namespace(const char *name)
{
    char link[64];
    struct ipo_text path = {0};
    ipo_text_add(&path, "/proc/self/ns/");
    ipo_text_add(&path, name);
    ssize_t n = readlink(path.text, link, sizeof link - 1); /* "pid:[4026531836]" */
    link[n > 0 ? n : 0] = 0;
    const char *number = strchr(link, '[');
    return number ? ipo_text_number(number + 1) : 0;
}

void ipo_container(struct trc_head *head, const char *image)
{
    static const char *const names[TRC_NAMESPACES] = {
#define NAMESPACE(name) #name,
        TRC_NAMESPACE_LIST(NAMESPACE)
#undef NAMESPACE
    };
    for (size_t i = 0; i < TRC_NAMESPACES; i++)
        head->namespaces[i] = read_namespace(names[i]);

    const char *kind = getenv("container");
    const struct runtime *runtime = find_runtime(kind);
    ipo_copy(head->runtime, sizeof head->runtime, runtime ? runtime->name : kind ? kind : "");
    if (!head->runtime[0])
        return;
    for (size_t i = 0; runtime && i < 3 && runtime->images[i] && !(image && *image); i++)
        image = getenv(runtime->images[i]);
    if (image && *image)
        ipo_copy(head->container, sizeof head->container, image);
    else if (runtime && strcmp(runtime->name, "charliecloud") == 0)
        find_root_source(head->container, sizeof head->container);
    else if (runtime && strcmp(runtime->name, "podman") == 0)
        read_podman_image(head->container, sizeof head->container);
}
