/* C++ names without their noise. */
#include "tests/support/check.h"
#include "trace/util/cxx_name.h"
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

/* A name that does not fit loses qualifiers from the left, never its end. */
static void check_fit(void)
{
    static const struct {
        const char *text;
        size_t width;
        const char *want;
    } cases[] = {
        {"Foam::reduce+0x39a", 18, "Foam::reduce+0x39a"},
        {"Foam::reduce+0x39a", 17, "reduce+0x39a"},
        {"LAMMPS_NS::CommBrick::borders+0x36c", 24, "CommBrick::borders+0x36c"},
        {"Wait a::b::f -> Irecv ::b::g", 20, "Wait f -> Irecv b::g"},
        {"std::vector<std::pair<int, a::b>>::at", 4, "at"},
        {"(anonymous)::f", 3, "(anonymous)::f"},
        {"a::\303\274::f", 6, "\303\274::f"},
        {"::::", 1, ""},
        {"::", 9, "::"},
        {"", 0, ""},
    };
    char room[64];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *got = trc_cxx_fit(cases[i].text, cases[i].width, room, sizeof room);
        CHECK(!strcmp(got, cases[i].want), "%s in %zu: %s", cases[i].text, cases[i].width, got);
    }
}

/* Functions whose short names are equal have as many arguments as set them apart, in whatever order they come. */
static void check_overloads(void)
{
    static const char *const names[][2] = {
        {"_ZN4Foam6reduceERdRKSt6vectorIdSaIdEE+0x2b", "Foam::reduce(double&, ..)+0x2b"},
        {"_ZN4Foam6reduceERiRKSt6vectorIdSaIdEE+0x2c", "Foam::reduce(int&, ..)+0x2c"},
        {"_ZN4Foam6reduceERdRKSt6vectorIdSaIdEE+0x3b", "Foam::reduce(double&, ..)+0x3b"},
        {"_ZN4Foam6reduceERi", "Foam::reduce(int&)"},
        {"_ZN4Foam5totalIiEEvv", "Foam::total<int>()"}, /* instances of a template */
        {"_ZN4Foam5totalIsEEvv", "Foam::total<short>()"},
        {"_ZN1a1fEv", "a::f()"},
        {"_ZNK1a1fEv", "a::f() const"},
        {"_ZN1a4onlyEi", NULL},
        {"main+0x1", NULL},
    };
    enum { NAMES = sizeof names / sizeof *names };
    const struct trc_cxx *place[NAMES];
    for (size_t i = 0; i < NAMES; i++)
        place[i] = trc_cxx_add(names[i][0]);
    for (size_t i = 0; i < NAMES; i++) {
        const char *shown = trc_cxx_shown(place[i]), *want = names[i][1];
        CHECK(want ? shown && !strcmp(shown, want) : !shown, "%s: %s, not %s", names[i][0], shown, want);
        CHECK(trc_cxx_add(names[i][0]) == place[i], "%s is another place when it comes again", names[i][0]);
    }
    char name[32];
    for (int i = 10; i < 99; i++) { /* more than anybody writes: their short names, and no time */
        snprintf(name, sizeof name, "_Z1gA%d_i+0x1", i);
        trc_cxx_shown(trc_cxx_add(name));
    }
}

int main(void)
{
    check_fit();
    static const char *const names[][2] = {
        {"main", "main"},
        {"_ZN7horovod6common13MPIController19CrossRankBitwiseAndERSt6vectorIxSaIxEEi",
         "horovod::common::MPIController::CrossRankBitwiseAnd"},
        {"_ZN7horovod6common13MPIController19CrossRankBitwiseAndERSt6vectorIxSaIxEEi+0x1f",
         "horovod::common::MPIController::CrossRankBitwiseAnd+0x1f"},
        {"_Z3addIiET_S0_S0_", "add"},                                    /* int add<int>(int, int) */
        {"_ZNK1aclEi", "a::operator()"},                                 /* a::operator()(int) const */
        {"_ZN12_GLOBAL__N_16hiddenEv", "(anonymous namespace)::hidden"}, /* fits just */
        {"_ZN1alsERSo", "a::operator<<"},                                /* function of std::ostream&; too long with its
                                                                            class */
        {"_ZZ4mainENKUliE_clEi", "main::{lambda(int)#1}::operator()"},   /* longer than its linker name: cut */
        {"_ZNSt6vectorIiSaIiEE9push_backERKi", "std::vector::push_back"},
        {"_Znot", "_Znot"},
        {"_ZN3Opm8readDeckEN4Dune13CommunicationIP19ompi_comm", "Opm::readDeck"}, /* cut off */
        {"_ZN3Opm8readDeckEN4Dune13CommunicationIP19ompi_comm+0x5b4", "Opm::readDeck+0x5b4"},
        {"_ZN3Opm99readDeckE", "_ZN3Opm99readDeckE"},
    };
    void *library = dlopen("libstdc++.so.6", RTLD_LAZY);
    trc_demangle *demangle = library ? (trc_demangle *)(uintptr_t)dlsym(library, "__cxa_demangle") : NULL;
    char name[200];
    strcpy(name, names[1][0]);
    trc_cxx_name(name);
    CHECK(!strcmp(name, names[1][0]), "without a C++ library names stay: %s", name);
    if (!demangle) {
        printf("no C++ library here\n");
        return failures ? 1 : 77;
    }
    trc_cxx_use(demangle);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        strcpy(name, names[i][0]);
        trc_cxx_name(name);
        size_t most = strlen(names[i][0]);
        const char *want = names[i][1];
        while (strlen(want) > most && strstr(want, "::"))
            want = strstr(want, "::") + 2;
        CHECK(!strcmp(name, want), "%s: %s, not %s", names[i][0], name, want);
        CHECK(strlen(name) <= most, "%s grew: %s", names[i][0], name);
    }
    check_overloads();
    /* Each part is a pair of the one before: 2^40 words, were it asked for. */
    char bomb[400] = "_Z1fISt4pairIiiE";
    for (int i = 0; i < 20; i++)
        snprintf(bomb + strlen(bomb), sizeof bomb - strlen(bomb), "S0_IS%c_S%c_E", 'A' + i, 'A' + i);
    strcat(bomb, "EvT_");
    struct rusage before, after;
    char kept[400];
    strcpy(kept, bomb);
    getrusage(RUSAGE_SELF, &before);
    trc_cxx_name(bomb);
    getrusage(RUSAGE_SELF, &after);
    CHECK(!strcmp(bomb, kept), "a name made to do harm is left as it is: %s", bomb);
    CHECK(after.ru_maxrss < before.ru_maxrss + 65536, "memory: %ld kB more", after.ru_maxrss - before.ru_maxrss);
    return check_result();
}
