#include "interpose/regions/nvtx.h"
#include "interpose/regions/names.h"
#include "interpose/regions/regions.h"

#include <wchar.h>

/* Places of the table of the default domain. */
enum { START_EX = 4, START_A = 5, START_W = 6, END = 7, PUSH_EX = 8, PUSH_A = 9, PUSH_W = 10, POP = 11 };

enum { DEEP = 64 };
static __thread int depth;
static __thread uint32_t pushed[DEEP];

/* ---- names ------------------------------------------------------------------------------------------------------ */

/* Returns the number of a name in wide characters; characters beyond ASCII become '?'. */
static uint32_t number_of_wide(const wchar_t *text)
{
    char narrow[256];
    size_t n = 0;
    for (; text && text[n] && n + 1 < sizeof narrow; n++)
        narrow[n] = text[n] < 128 ? (char)text[n] : '?';
    narrow[n] = 0;
    return ipo_region_number(narrow);
}

static uint32_t number_of_text(const char *text)
{
    return ipo_region_number(text ? text : "range");
}

static uint32_t number_of(const struct ipo_nvtx_attributes *with)
{
    if (!with)
        return number_of_text(NULL);
    uint32_t registered = (uint32_t)(uintptr_t)with->message;
    if (with->message && with->message_type == IPO_NVTX_ASCII)
        return ipo_region_number(with->message);
    if (with->message && with->message_type == IPO_NVTX_WIDE)
        return number_of_wide(with->message);
    if (with->message_type == IPO_NVTX_REGISTERED && ipo_region_is_number(registered))
        return registered;
    return number_of_text(NULL);
}

const void *ipo_nvtx_string(const char *text)
{
    return (const void *)(uintptr_t)number_of_text(text);
}

/* ---- ranges ----------------------------------------------------------------------------------------------------- */

static int push(uint32_t number)
{
    ipo_region_begin(number);
    if (depth < DEEP)
        pushed[depth] = number;
    return depth++;
}

int ipo_nvtx_push(const struct ipo_nvtx_attributes *with)
{
    return push(number_of(with));
}

int ipo_nvtx_pop(void)
{
    if (depth == 0)
        return -1; /* none is open: what the innermost region is, was entered otherwise */
    depth--;
    ipo_region_end(depth < DEEP ? pushed[depth] : 0);
    return depth;
}

/* A range is known by its number and the thread that started it. */
static uint64_t start(uint32_t number)
{
    ipo_region_begin(number);
    return (uint64_t)(uint32_t)(uintptr_t)&depth << 32 | number;
}

uint64_t ipo_nvtx_start(const struct ipo_nvtx_attributes *with)
{
    return start(number_of(with));
}

void ipo_nvtx_end(uint64_t range)
{
    if (range >> 32 == (uint32_t)(uintptr_t)&depth && ipo_region_is_number((uint32_t)range))
        ipo_region_end((uint32_t)range);
}

/* ---- the default domain ----------------------------------------------------------------------------------------- */

static int push_text(const char *text)
{
    return push(number_of_text(text));
}
static int push_wide(const wchar_t *text)
{
    return push(number_of_wide(text));
}
static uint64_t start_text(const char *text)
{
    return start(number_of_text(text));
}
static uint64_t start_wide(const wchar_t *text)
{
    return start(number_of_wide(text));
}

void ipo_nvtx_hook_default(ipo_function **table, unsigned size)
{
    const struct {
        unsigned at;
        ipo_function function;
    } slots[] = {{START_EX, (ipo_function)ipo_nvtx_start}, {START_A, (ipo_function)start_text},
                 {START_W, (ipo_function)start_wide},      {END, (ipo_function)ipo_nvtx_end},
                 {PUSH_EX, (ipo_function)ipo_nvtx_push},   {PUSH_A, (ipo_function)push_text},
                 {PUSH_W, (ipo_function)push_wide},        {POP, (ipo_function)ipo_nvtx_pop}};
    for (size_t i = 0; i < sizeof slots / sizeof *slots; i++)
        if (slots[i].at < size && table[slots[i].at])
            *table[slots[i].at] = slots[i].function;
}
