/* hidden LIBRARY FILE: loads a library that has NCCL inside, linked statically and shown to nobody (part.c). */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    void *library = argc > 2 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    int (*run)(const char *) = library ? (int (*)(const char *))dlsym(library, "hidden_run") : NULL;
    if (!run)
        fprintf(stderr, "%s\n", argc > 2 ? dlerror() : "usage");
    return run ? run(argv[2]) : 2;
}
