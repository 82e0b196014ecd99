/* A kernel that only takes time, on the double's runtime and on a real GPU.  There a few lines of PTX are compiled by
 * the driver, so that gcc is enough: no nvcc. */
#ifndef BUSY_H
#define BUSY_H

#include <cuda_runtime.h>
#include <dlfcn.h>
#include <stdint.h>

/* Waits until the GPU's clock has gone on by `ns`. */
static const char busy_ptx[] = ".version 6.0\n.target sm_50\n.address_size 64\n"
                               ".visible .entry busy_kernel(.param .u64 ns)\n{\n"
                               ".reg .u64 %a, %b, %n;\n.reg .pred %p;\n"
                               "ld.param.u64 %n, [ns];\n"
                               "mov.u64 %a, %globaltimer;\n"
                               "again:\nmov.u64 %b, %globaltimer;\nsub.u64 %b, %b, %a;\n"
                               "setp.lt.u64 %p, %b, %n;\n@%p bra again;\nret;\n}\n";

/* Puts a kernel of about `us` microseconds on a stream; 0 if it could. */
static int busy(cudaStream_t stream, unsigned long us)
{
    static int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **,
                         void **);
    static cudaError_t (*of_double)(cudaStream_t, const char *, unsigned long);
    static void *kernel;
    if (!launch && !of_double)
        of_double =
            (cudaError_t(*)(cudaStream_t, const char *, unsigned long))(uintptr_t)dlsym(RTLD_DEFAULT, "fgpu_busy");
    if (of_double)
        return of_double(stream, "busy_kernel", us);
    if (!launch) {
        void *driver = dlopen("libcuda.so.1", RTLD_NOW), *module;
        if (!driver)
            return -1;
        int (*load)(void **, const void *) =
            (int (*)(void **, const void *))(uintptr_t)dlsym(driver, "cuModuleLoadData");
        int (*function)(void **, void *, const char *) =
            (int (*)(void **, void *, const char *))(uintptr_t)dlsym(driver, "cuModuleGetFunction");
        if (!load || !function || load(&module, busy_ptx) || function(&kernel, module, "busy_kernel"))
            return -1;
        launch = (int (*)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **,
                          void **))(uintptr_t)dlsym(driver, "cuLaunchKernel");
    }
    uint64_t ns = (uint64_t)us * 1000;
    void *arguments[] = {&ns};
    return launch ? launch(kernel, 1, 1, 1, 1, 1, 1, 0, stream, arguments, NULL) : -1;
}

#endif
