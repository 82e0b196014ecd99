#include "trace/util/cxx_name.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LONGEST    400u
#define REFERENCES 24u

static trc_demangle *demangler;

void trc_cxx_use(trc_demangle *demangle)
{
    demangler = demangle;
}

bool trc_cxx_used(void)
{
    return demangler;
}

/* The length of an operator's name at `at`, whose brackets are no parameters: "operator()", "operator<<"; 0: none. */
static size_t operator_length(const char *at)
{
    size_t n = strlen("operator");
    if (strncmp(at, "operator", n) != 0)
        return 0;
    if (strncmp(at + n, "()", 2) == 0)
        return n + 2;
    return n + strspn(at + n, "+-*/%^&|~!=<>,[]");
}

static size_t find_closing(const char *at, char open, char close)
{
    int depth = 0;
    size_t n = 0;
    for (; at[n]; n++) {
        depth += at[n] == open;
        if (at[n] == close && (n == 0 || at[n - 1] != '-') && --depth == 0)
            return n + 1;
    }
    return n;
}

/* Shortens a demangled name in place: "void a::b<int>(float) const" becomes "a::b", "a::b(float) const" or
 * "a::b<int>(float) const". */
static void strip_name(char *name, enum trc_cxx_detail detail)
{
    static const char anonymous[] = "(anonymous namespace)";
    char *out = name, *begin = name;
    for (const char *at = name; *at;) {
        bool word = at == name || strchr(": *&", at[-1]) != NULL;
        size_t whole = word ? operator_length(at) : 0;
        if (strncmp(at, anonymous, sizeof anonymous - 1) == 0)
            whole = sizeof anonymous - 1;
        if (whole) {
            memmove(out, at, whole);
            out += whole;
            at += whole;
        } else if (*at == '<' && detail < TRC_CXX_TEMPLATES) {
            at += find_closing(at, '<', '>');
        } else if (*at == '(') {
            const char *parameters = at;
            at += find_closing(at, '(', ')');
            if (strncmp(at, "::", 2) != 0 && strncmp(at, " const::", 8) != 0) {
                whole = detail > TRC_CXX_SHORT ? strlen(parameters) : 0;
                memmove(out, parameters, whole);
                out += whole;
                break; /* parameters of the name itself; else of a function that it is local to */
            }
            at = strstr(at, "::");
        } else if (*at == '{' || *at == '<') { /* "{lambda(int)#1}" */
            whole = find_closing(at, *at, *at == '{' ? '}' : '>');
            memmove(out, at, whole);
            out += whole;
            at += whole;
        } else {
            if (*at == ' ' && at > name)
                begin = out + 1; /* text before it is the return type */
            *out++ = *at++;
        }
    }
    *out = 0;
    memmove(name, begin, strlen(begin) + 1);
}

/* Whether a name is safe to demangle.  Parts of a name may refer to earlier parts, which doubles its length at each
 * step: a hostile name would fill all memory. */
static bool is_modest(const char *name, size_t length)
{
    unsigned references = 0;
    for (size_t i = 0; i + 1 < length; i++)
        references +=
            (name[i] == 'S' || name[i] == 'T') &&
            (name[i + 1] == '_' || isdigit((unsigned char)name[i + 1]) || isupper((unsigned char)name[i + 1]));
    return length <= LONGEST && references <= REFERENCES;
}

size_t trc_cxx_length(const char *name)
{
    const char *offset = strstr(name, "+0x");
    return offset ? (size_t)(offset - name) : strlen(name);
}

/* Returns the nested name that a linker name begins with, whose parameters are cut off or too long to demangle:
 * "a::b" of "_ZN1a1bESt6vec"; NULL: there is none, or it has templates. */
static char *nested_name(const char *name, size_t length)
{
    char *text = strncmp(name, "_ZN", strlen("_ZN")) == 0 ? calloc(2, length + 1) : NULL;
    if (!text)
        return NULL;
    const char *at = name + strlen("_ZN"), *end = name + length;
    size_t n = 0;
    at += *at == 'K';
    while (at < end && isdigit((unsigned char)*at)) {
        char *part;
        size_t size = strtoul(at, &part, 10);
        if (size >= (size_t)(end - part))
            break;
        n += (size_t)sprintf(text + n, "%s%.*s", n ? "::" : "", (int)size, part);
        at = part + size;
    }
    if (n && *at == 'E')
        return text;
    free(text);
    return NULL;
}

char *trc_cxx_text(const char *name, size_t length, enum trc_cxx_detail detail)
{
    if (!demangler || strncmp(name, "_Z", 2) != 0)
        return NULL;
    int status = 0;
    char *mangled = is_modest(name, length) ? strndup(name, length) : NULL;
    char *text = mangled ? demangler(mangled, NULL, NULL, &status) : NULL;
    free(mangled);
    if (!text && detail == TRC_CXX_SHORT)
        return nested_name(name, length);
    if (text)
        strip_name(text, detail);
    return text;
}

void trc_cxx_name(char *name)
{
    size_t length = trc_cxx_length(name);
    char *text = trc_cxx_text(name, length, TRC_CXX_SHORT);
    if (!text)
        return;
    const char *from = text;
    while (strlen(from) > length && strstr(from, "::"))
        from = strstr(from, "::") + 2;
    size_t n = strlen(from);
    if (n > 0 && n <= length) {
        memcpy(name, from, n);
        memmove(name + n, name + length, strlen(name + length) + 1);
    }
    free(text);
}

/* Returns the begin of the qualifier that ends at `end`, an identifier with template parameters or nothing. */
static char *qualifier_begin(char *text, char *end)
{
    int open = 0;
    while (end > text && (open > 0 || end[-1] == '>' || end[-1] == '_' || isalnum((unsigned char)end[-1]))) {
        end--;
        open += (*end == '>') - (*end == '<');
    }
    return end;
}

const char *trc_cxx_fit(const char *text, size_t width, char *room, size_t size)
{
    size_t columns = 0;
    for (const char *c = text; *c; c++)
        columns += ((unsigned char)*c & 0xc0) != 0x80;
    if (columns <= width)
        return text;
    snprintf(room, size, "%s", text);
    for (char *end = strstr(room, "::"); end && columns > width; end = strstr(room, "::")) {
        char *begin = qualifier_begin(room, end);
        if (begin == end && end > room && end[-1] != ' ')
            break; /* qualifier of something else */
        columns -= (size_t)(end + 2 - begin);
        memmove(begin, end + 2, strlen(end + 2) + 1);
    }
    return room;
}
