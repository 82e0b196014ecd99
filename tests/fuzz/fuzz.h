/* Shared parts of the fuzz targets: the entry that libFuzzer calls, and without libFuzzer a main that calls it with
 * each file of its arguments. */
#ifndef FUZZ_H
#define FUZZ_H

#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Work is bounded, too: an input that takes so much time of a processor is a finding (as a rule it is some ms). */
#define FUZZ_CPU_S 10

static inline void fuzz_ran_away(int number)
{
    (void)number;
    static const char text[] = "fuzz: an input that takes too much work\n";
    if (write(2, text, sizeof text - 1) > 0)
        abort();
    abort();
}

static inline void fuzz_begin(void)
{
    signal(SIGPROF, fuzz_ran_away);
    setitimer(ITIMER_PROF, &(struct itimerval){.it_value.tv_sec = FUZZ_CPU_S}, NULL);
}

/* Memory is bounded as well: the inputs are small, and a loader's budget is a constant times their size. */
#ifdef __SANITIZE_ADDRESS__
#define FUZZ_MOST_MB 1024 /* shadow memory and quarantine included */
#else
#define FUZZ_MOST_MB 256
#endif

#ifndef FUZZING
#include <sys/resource.h>

/* Aborts if the process has ever had more memory than an input may need. */
static inline void fuzz_check_memory(const char *path)
{
    struct rusage usage;
    if (getrusage(RUSAGE_SELF, &usage) || usage.ru_maxrss <= FUZZ_MOST_MB * 1024L)
        return;
    fprintf(stderr, "fuzz: %s: %ld KB of memory\n", path, usage.ru_maxrss);
    abort();
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        FILE *in = fopen(argv[i], "rb");
        char *data = NULL;
        size_t size = 0, room = 0, n;
        if (!in) {
            perror(argv[i]);
            return 1;
        }
        do {
            if (size == room)
                data = realloc(data, room = room ? room * 2 : 65536);
            if (!data)
                return 1;
            n = fread(data + size, 1, room - size, in);
            size += n;
        } while (n);
        fclose(in);
        LLVMFuzzerTestOneInput((const uint8_t *)data, size);
        free(data);
        fuzz_check_memory(argv[i]);
    }
    printf("%d files\n", argc - 1);
    return argc < 2; /* a corpus that is gone has been replayed by nobody */
}
#endif

#endif
