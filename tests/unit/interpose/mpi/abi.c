/* Constants of an MPI that the recorder knows without its header, against the header: for each MPI whose compiler is
 * here, a program that includes mpi.h is built with the recorder's library and compares them, row by row. */
#include "tests/support/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__SANITIZE_THREAD__)
#define FLAGS "-fsanitize=thread"
#elif defined(__SANITIZE_ADDRESS__)
#define FLAGS "-fsanitize=address,undefined"
#else
#define FLAGS ""
#endif

static const char *const probe =
    "#include <mpi.h>\n"
    "#include <stddef.h>\n"
    "#include <stdio.h>\n"
    "#include \"interpose/mpi/abi.h\"\n"
    "#include \"interpose/mpi/resolve.h\"\n"
    "static int compared, wrong;\n"
    "static void compare(const char *name, unsigned long ours, unsigned long theirs)\n"
    "{\n"
    "    compared++;\n"
    "    if (ours != theirs && ++wrong)\n"
    "        printf(\"%s is %#lx in mpi.h, %#lx here\\n\", name, theirs, ours);\n"
    "}\n"
    "#define NUMBER(row, constant) compare(#constant, (unsigned long)(long)ipo_abi.row, (unsigned "
    "long)(long)(constant))\n"
    "#define HANDLE(row, constant) compare(#constant, ipo_abi.row, WIDE(constant))\n"
    "#define WIDE(handle) (sizeof(handle) == 4 ? (unsigned)(unsigned long)(handle) : (unsigned long)(handle))\n"
    "static void is_predefined(const char *name, MPI_Datatype type)\n"
    "{\n"
    "    compare(name, ipo_is_predefined(WIDE(type)), 1);\n"
    "}\n"
    "int main(void)\n"
    "{\n"
    "    unsigned long refused = 0;\n"
    "    int version, subversion;\n"
    "    MPI_Get_version(&version, &subversion); /* else it would not be linked with MPI */\n"
    "    if (!ipo_resolve_all((const void *)(unsigned long)&main))\n"
    "        return printf(\"no MPI\\n\"), 1;\n"
    "    ipo_abi_detect();\n"
    "    NUMBER(handle_bytes, sizeof(MPI_Comm));\n"
    "    NUMBER(handle_bytes, sizeof(MPI_Request));\n"
    "    NUMBER(handle_bytes, sizeof(MPI_Datatype));\n"
    "    NUMBER(handle_bytes, sizeof(MPI_Win));\n"
    "    NUMBER(handle_bytes, sizeof(MPI_Message));\n"
    "    compare(\"sizeof(MPI_File)\", 8, sizeof(MPI_File));\n"
    "    NUMBER(status_bytes, sizeof(MPI_Status));\n"
    "    NUMBER(source_at, offsetof(MPI_Status, MPI_SOURCE));\n"
    "    NUMBER(tag_at, offsetof(MPI_Status, MPI_TAG));\n"
    "    NUMBER(any_source, MPI_ANY_SOURCE);\n"
    "    NUMBER(any_tag, MPI_ANY_TAG);\n"
    "    NUMBER(proc_null, MPI_PROC_NULL);\n"
    "    NUMBER(root, MPI_ROOT);\n"
    "    NUMBER(undefined, MPI_UNDEFINED);\n"
    "    NUMBER(truncate_class, MPI_ERR_TRUNCATE);\n"
    "    NUMBER(lock_shared, MPI_LOCK_SHARED);\n"
    "    NUMBER(cart, MPI_CART);\n"
    "    NUMBER(graph, MPI_GRAPH);\n"
    "    for (int class = MPI_ERR_BUFFER; class <= MPI_ERR_ARG; class++)\n"
    "        refused |= 1ul << class;\n"
    "    compare(\"classes of refused arguments\", ipo_abi.refused_classes, refused);\n"
    "    HANDLE(in_place, MPI_IN_PLACE);\n"
    "    HANDLE(status_ignore, MPI_STATUS_IGNORE);\n"
    "    HANDLE(statuses_ignore, MPI_STATUSES_IGNORE);\n"
    "    HANDLE(comm_world, MPI_COMM_WORLD);\n"
    "    HANDLE(comm_self, MPI_COMM_SELF);\n"
    "    HANDLE(comm_null, MPI_COMM_NULL);\n"
    "    HANDLE(request_null, MPI_REQUEST_NULL);\n"
    "    HANDLE(datatype_null, MPI_DATATYPE_NULL);\n"
    "#ifndef WITHOUT_BYTE /* else the linker copies it into the program, with the others that are named */\n"
    "    HANDLE(byte_type, MPI_BYTE);\n"
    "#endif\n"
    "    HANDLE(group_empty, MPI_GROUP_EMPTY);\n"
    "#define REDUCTION(name) HANDLE(ops[TRC_REDUCTION_##name], MPI_##name);\n"
    "    TRC_REDUCTIONS(REDUCTION)\n"
    "    is_predefined(\"MPI_CHAR\", MPI_CHAR);\n"
    "    is_predefined(\"MPI_DOUBLE\", MPI_DOUBLE);\n"
    "    is_predefined(\"MPI_INT64_T\", MPI_INT64_T);\n"
    "    compare(\"no datatype\", ipo_is_predefined((unsigned long)&compared & -8ul), 0);\n"
    "    compare(\"a request of everybody's is no null handle\", ipo_is_shared(WIDE(MPI_REQUEST_NULL)), 0);\n"
    "    compare(\"MPI's own send\", (unsigned long)ipo_own[IPO_Isend] != 0, 1);\n"
    "    printf(\"%d compared, %d wrong\\n\", compared, wrong);\n"
    "    return wrong != 0;\n"
    "}\n";

static int run(const char *format, const char *a, const char *b)
{
    char command[4096];
    snprintf(command, sizeof command, format, a, b);
    fflush(stdout);
    int status = system(command);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int main(void)
{
    static const char *const compilers[] = {"mpicc.openmpi", "mpicc.mpich"};
    const char *top = getenv("TOP"), *build = getenv("BUILD");
    char folder[] = "/tmp/hpctop-abi-XXXXXX";
    unsigned found = 0;
    CHECK(top && build && mkdtemp(folder) && !chdir(folder), "TOP and BUILD are where the sources and the library are");
    FILE *source = fopen("probe.c", "w");
    if (!source || fputs(probe, source) < 0 || fclose(source) || !top || !build)
        return 1;
    for (unsigned i = 0; i < sizeof compilers / sizeof *compilers; i++) {
        if (run("command -v %s >/dev/null%s", compilers[i], ""))
            continue;
        found++;
        setenv("HPCTOP_DISABLE", "1", 1);
        for (unsigned k = 0; k < 2; k++) {
            CHECK(run("%s -std=gnu11 -I\"$TOP\" " FLAGS
                      " -o probe probe.c \"$BUILD/tests/librecorder.a\" -ldl -lpthread %s",
                      compilers[i], k ? "-DWITHOUT_BYTE" : "") == 0,
                  "%s", compilers[i]);
            CHECK(run("./probe%s%s", "", "") == 0, "the header of %s", compilers[i]);
        }
    }
    run("rm -r %s%s", folder, "");
    if (!found) {
        printf("no compiler of Open MPI or MPICH\n");
        return 77;
    }
    return check_result();
}
