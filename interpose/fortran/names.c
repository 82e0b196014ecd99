/* Names of Fortran symbols to rows and back; and the addresses of Fortran's constants. */
#include "interpose/base/elf.h"
#include "interpose/mpi/abi.h"
#include "interpose/mpi/multi_mpi.h"
#include "interpose/fortran/fortran.h"
#include "interpose/mpi/resolve.h"
#include "interpose/core/source.h"
#include "interpose/load/loader.h"
#include "interpose/load/names.h"
#include "interpose/load/objects.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

ipo_function ipo_fortran_real[IPO_BINDINGS][IPO_CALLS];

extern IPO_OURS const int32_t ipo_fortran_distance[IPO_CALLS][IPO_BINDINGS]; /* wrap.c */

/* ---- symbols */

/* Spellings of a symbol: four manglings of mpif.h's names, and the two kinds of mpi_f08. */
enum spelling { UNDERSCORE, PLAIN, UNDERSCORES, CAPITALS, F08, F08TS, SPELLINGS };

static bool cut_end(const char *name, size_t *length, const char *end)
{
    size_t n = strlen(end);
    if (*length <= n || memcmp(name + *length - n, end, n) != 0)
        return false;
    *length -= n;
    return true;
}

/* Row and spelling of a symbol; false if it is not a name of a wrapped call. */
static bool parse_symbol(const char *symbol, int *row, enum spelling *spelling)
{
    bool capitals = strncmp(symbol, "MPI_", 4) == 0;
    if (!capitals && strncmp(symbol, "mpi_", 4) != 0)
        return false;
    char name[64];
    size_t n = 0;
    for (; symbol[n]; n++) {
        char c = symbol[n];
        bool letter = capitals ? c >= 'A' && c <= 'Z' : c >= 'a' && c <= 'z';
        if ((!letter && c != '_' && (c < '0' || c > '9')) || n + 3 >= sizeof name)
            return false;
        name[n] = c;
    }
    if (capitals)
        *spelling = CAPITALS;
    else if (cut_end(name, &n, "__"))
        *spelling = UNDERSCORES;
    else if (cut_end(name, &n, "_"))
        *spelling = UNDERSCORE;
    else
        *spelling = PLAIN;
    bool large = *spelling == UNDERSCORE && cut_end(name, &n, "_large");
    if (*spelling == UNDERSCORE && cut_end(name, &n, "_f08ts"))
        *spelling = F08TS;
    else if (*spelling == UNDERSCORE && cut_end(name, &n, "_f08"))
        *spelling = F08;
    else if (large)
        return false;
    else
        cut_end(name, &n, "_cptr"); /* for a C_PTR instead of an address: another name of the same function */
    if (large) {
        name[n++] = '_';
        name[n++] = 'c';
    }
    *row = ipo_name_spelled(IPO_NAMES_MPI, name, n);
    return *row >= 0 && ipo_wrapper[*row];
}

/* State of a row in one spelling. */
enum { UNKNOWN, LISTED, FOUND };
static uint8_t state[SPELLINGS][IPO_CALLS];

#define LIST 512u
static char listed[LIST][64]; /* names that the walk has met and that are not resolved yet */
static unsigned listed_n;

static enum ipo_binding get_binding(enum spelling spelling)
{
    return spelling < F08 ? IPO_F77 : spelling == F08 ? IPO_F08 : IPO_F08TS;
}

static ipo_function get_wrapper(const char *symbol)
{
    int row;
    enum spelling spelling;
    if (!parse_symbol(symbol, &row, &spelling))
        return NULL;
    if (state[spelling][row] == FOUND) {
        const char *base = (const char *)ipo_fortran_distance;
        return (ipo_function)(uintptr_t)(base + ipo_fortran_distance[row][get_binding(spelling)]);
    }
    if (state[spelling][row] == UNKNOWN && listed_n < LIST && strlen(symbol) < sizeof listed[0]) {
        state[spelling][row] = LISTED;
        strcpy(listed[listed_n++], symbol);
    }
    return NULL;
}

static bool is_same_object(void *a, void *b)
{
    return a == b || ipo_object_base(a) == ipo_object_base(b);
}

/* The real function of a symbol: the MPI library's, since a name without underscores may be a function of the
 * program; or a function of a tool in front of the library, which must see the call, too. */
static void *find_real(const char *symbol)
{
    static void *scope; /* the last scope that was used other than the global one */
    char profiling[2][80];
    profiling[0][0] = symbol[0] == 'M' ? 'P' : 'p';
    strcpy(profiling[0] + 1, symbol);
    strcpy(profiling[1], "pmpir_"); /* MPICH's mpi_f08 */
    strcpy(profiling[1] + 6, symbol + 4);
    for (int i = 0; i < 2; i++) {
        void *where = RTLD_DEFAULT, *own = dlsym(where, profiling[i]);
        if (!own && (where = scope))
            own = dlsym(where, profiling[i]);
        if (!own && (where = ipo_scope_with(profiling[i])))
            own = dlsym(scope = where, profiling[i]);
        void *front = own ? dlsym(where, symbol) : NULL;
        if (own)
            return front && is_same_object(front, own) ? own : NULL;
    }
    /* Open MPI 5.0 lacks two: their call is the real one, since we export nothing of that name. */
    return strstr(symbol, "_f08") ? dlsym(scope ? scope : RTLD_DEFAULT, symbol) : NULL;
}

static unsigned resolve_listed(void)
{
    unsigned found = 0, n = listed_n;
    listed_n = 0;
    for (unsigned i = 0; i < n; i++) {
        int row;
        enum spelling spelling;
        void *real = parse_symbol(listed[i], &row, &spelling) ? find_real(listed[i]) : NULL;
        if (!real) { /* looked up again when more is loaded */
            state[spelling][row] = UNKNOWN;
            continue;
        }
        ipo_fortran_real[get_binding(spelling)][row] = (ipo_function)(uintptr_t)real;
        state[spelling][row] = FOUND;
        found++;
    }
    return found;
}

static ipo_function find_wrapper(const struct ipo_name *name, const struct ipo_object *object, const void *bound)
{
    (void)bound;
    return name->table == IPO_NAMES_MPI && *ipo_mpi_object() && !object->claimed ? get_wrapper(name->text) : NULL;
}

static bool resolve_met(void)
{
    return *ipo_mpi_object() && resolve_listed() > 0;
}

struct lookup {
    const char *name;
    void *found; /* the function, or its wrapper where that calls this function */
};

static void find_looked_up(void *with)
{
    struct lookup *lookup = with;
    int row;
    enum spelling spelling;
    ipo_function wrapper = get_wrapper(lookup->name);
    if (!wrapper && resolve_listed())
        wrapper = get_wrapper(lookup->name);
    if (wrapper && parse_symbol(lookup->name, &row, &spelling) &&
        is_same_object(lookup->found, (void *)(uintptr_t)ipo_fortran_real[get_binding(spelling)][row]))
        lookup->found = (void *)(uintptr_t)wrapper;
}

/* Asks again at the end: what dlerror returns is about the program's question. */
static void *look_up(void *handle, const char *name, const void *caller)
{
    int row;
    enum spelling spelling;
    struct lookup lookup = {name, dlsym(handle, name)};
    if (!lookup.found || ipo_is_ours(lookup.found) || !parse_symbol(name, &row, &spelling))
        return lookup.found;
    void *init = dlsym(handle, "PMPI_Init"), *found = lookup.found;
    if (init && ipo_mpi_looked_up(handle, init, caller))
        ipo_loader_run(find_looked_up, &lookup);
    void *again = dlsym(handle, name);
    return lookup.found == found ? again : lookup.found;
}

static const struct ipo_source fortran_source = {
    .name = "fortran", .wrapper_of = find_wrapper, .names = "mpi_", .looked_up = look_up, .after_walk = resolve_met};
IPO_SOURCE(fortran_source);

/* ---- sentinels */

/* Variables whose address is the constant, or that contain it.  Open MPI has one variable for each; MPICH lays them
 * out in two COMMON blocks (mpif.h: MPI_BOTTOM, MPI_IN_PLACE, MPI_STATUS_IGNORE; MPI_STATUSES_IGNORE) and has others
 * for mpi_f08.  A COMMON block's name is mangled like a subroutine's. */
static const struct {
    const char *symbol;
    uint8_t which, offset;
    bool holds;
} variables[] = {
    {"mpi_fortran_in_place_", IPO_IN_PLACE, 0, false},
    {"mpi_fortran_in_place", IPO_IN_PLACE, 0, false},
    {"mpi_fortran_in_place__", IPO_IN_PLACE, 0, false},
    {"MPI_FORTRAN_IN_PLACE", IPO_IN_PLACE, 0, false},
    {"mpipriv1_", IPO_IN_PLACE, 4, false},
    {"mpipriv1", IPO_IN_PLACE, 4, false},
    {"mpipriv1__", IPO_IN_PLACE, 4, false},
    {"MPIPRIV1", IPO_IN_PLACE, 4, false},
    {"MPIR_F_MPI_IN_PLACE", IPO_IN_PLACE, 0, true},
    {"MPIR_F08_MPI_IN_PLACE", IPO_IN_PLACE, 0, false},
    {"MPI_F_STATUS_IGNORE", IPO_STATUS_IGNORE, 0, true},
    {"MPI_F08_STATUS_IGNORE", IPO_STATUS_IGNORE, 0, true},
    {"MPIR_F08_MPI_STATUS_IGNORE_OBJ", IPO_STATUS_IGNORE, 0, false},
    {"mpi_fortran_status_ignore_", IPO_STATUS_IGNORE, 0, false},
    {"mpipriv1_", IPO_STATUS_IGNORE, 8, false},
    {"MPI_F_STATUSES_IGNORE", IPO_STATUSES_IGNORE, 0, true},
    {"MPI_F08_STATUSES_IGNORE", IPO_STATUSES_IGNORE, 0, true},
    {"MPIR_F08_MPI_STATUSES_IGNORE_OBJ", IPO_STATUSES_IGNORE, 0, false},
    {"mpi_fortran_statuses_ignore_", IPO_STATUSES_IGNORE, 0, false},
    {"mpipriv2_", IPO_STATUSES_IGNORE, 0, false},
};

#define PLACES 5u
static struct {
    uintptr_t address;
    bool holds; /* MPICH fills it when it is initialised, or later: read each time */
} places[IPO_SENTINELS][PLACES];

void ipo_sentinels_find(void)
{
    int kept = errno;
    unsigned used[IPO_SENTINELS] = {0};
    for (unsigned i = 0; i < sizeof variables / sizeof *variables; i++) {
        unsigned which = variables[i].which;
        uintptr_t address = used[which] < PLACES ? ipo_resolve_data(variables[i].symbol) : 0;
        if (!address)
            continue;
        places[which][used[which]].holds = variables[i].holds;
        places[which][used[which]++].address = address + variables[i].offset;
    }
    errno = kept;
}

bool ipo_is_sentinel(enum ipo_sentinel which, uintptr_t address)
{
    for (unsigned i = 0; i < PLACES && places[which][i].address; i++) {
        uintptr_t place = places[which][i].address;
        if (address == (places[which][i].holds ? *(const uintptr_t *)place : place))
            return address != 0;
    }
    return false;
}
