/* Names of kernels as people write them. */
#include "trace/gpu/device.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Reads the Itanium ABI's lengths and identifiers.  Skips everything between them; templates end the name. */
void ana_kernel_words(const char *name, char *out, size_t size)
{
    size_t used = 0;
    const char *at = name;
    if (size == 0)
        return;
    out[0] = 0;
    if (strncmp(at, "_Z", 2) == 0) {
        at += 2;
        bool nested = *at == 'N';
        for (at += nested; *at;) {
            if (strncmp(at, "St", 2) == 0) {
                at += 2;
                continue;
            }
            if (!isdigit((unsigned char)*at)) {
                if (nested && strchr("KVrL", *at)) {
                    at++;
                    continue;
                }
                break;
            }
            size_t n = strtoul(at, (char **)(uintptr_t)&at, 10);
            if (n > strlen(at))
                break;
            bool anonymous = n >= 11 && strncmp(at, "_GLOBAL__N_", 11) == 0;
            if (!anonymous && used < size)
                used += (size_t)snprintf(out + used, size - used, "%s%.*s", used ? "::" : "", (int)n, at);
            at += n;
            if (!nested)
                break;
        }
    }
    if (used == 0)
        snprintf(out, size, "%s", name);
}
