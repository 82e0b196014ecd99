/* Lets hpctop run with a glibc as old as 2.17, on x86-64: what it needs of libc is bound to the versions of that time.
 *
 * Linked with --wrap for each name below, so that what the static libraries call is bound so, too.  The newer versions
 * do the same, except that `main` is started otherwise since glibc 2.34: constructors are then called from here. */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

/* `name` as it was in this version of glibc, called old_NAME here. */
#define OLD(name) __asm__(".symver old_" #name "," #name "@GLIBC_2.2.5")
#define WRAP(type, name, parameters, arguments)                                                                        \
    type old_##name parameters;                                                                                        \
    type __wrap_##name parameters;                                                                                     \
    OLD(name);                                                                                                         \
    type __wrap_##name parameters                                                                                      \
    {                                                                                                                  \
        return old_##name arguments;                                                                                   \
    }

WRAP(double, exp, (double x), (x))
WRAP(double, log, (double x), (x))
WRAP(double, pow, (double x, double y), (x, y))
WRAP(double, fmod, (double x, double y), (x, y))
WRAP(double, lgamma, (double x), (x))
WRAP(void *, dlopen, (const char *file, int mode), (file, mode))
WRAP(void *, dlsym, (void *handle, const char *name), (handle, name))
WRAP(int, dlclose, (void *handle), (handle))
WRAP(int, pthread_create,
     (pthread_t * thread, const pthread_attr_t *attributes, void *(*start)(void *), void *argument),
     (thread, attributes, start, argument))
WRAP(int, pthread_detach, (pthread_t thread), (thread))
WRAP(int, pthread_join, (pthread_t thread, void **result), (thread, result))
WRAP(int, pthread_sigmask, (int how, const sigset_t *set, sigset_t *before), (how, set, before))
WRAP(int, pthread_once, (pthread_once_t * once, void (*routine)(void)), (once, routine))
WRAP(int, pthread_rwlock_init, (pthread_rwlock_t * lock, const pthread_rwlockattr_t *attributes), (lock, attributes))
WRAP(int, pthread_rwlock_destroy, (pthread_rwlock_t * lock), (lock))
WRAP(int, pthread_rwlock_rdlock, (pthread_rwlock_t * lock), (lock))
WRAP(int, pthread_rwlock_tryrdlock, (pthread_rwlock_t * lock), (lock))
WRAP(int, pthread_rwlock_wrlock, (pthread_rwlock_t * lock), (lock))
WRAP(int, pthread_rwlock_unlock, (pthread_rwlock_t * lock), (lock))
#undef OLD
#define OLD(name) __asm__(".symver old_" #name "," #name "@GLIBC_2.3.3")
WRAP(int, dlinfo, (void *handle, int request, void *out), (handle, request, out))
WRAP(int, pthread_condattr_setclock, (pthread_condattr_t * attributes, clockid_t clock), (attributes, clock))

/* ---- stat: a function of its own only since glibc 2.33 ----------------------------------------------------------- */

#define VERSION 1 /* of struct stat, on x86-64 */
int old_xstat(int version, const char *path, struct stat *out);
int old_fxstat(int version, int file, struct stat *out);
int old_lxstat(int version, const char *path, struct stat *out);
int old_fxstatat(int version, int folder, const char *path, struct stat *out, int flags);
int __wrap_stat(const char *path, struct stat *out);
int __wrap_fstatat(int folder, const char *path, struct stat *out, int flags);
int __wrap_fstat(int file, struct stat *out);
int __wrap_lstat(const char *path, struct stat *out);
__asm__(".symver old_xstat,__xstat@GLIBC_2.2.5");
__asm__(".symver old_fxstat,__fxstat@GLIBC_2.2.5");
__asm__(".symver old_lxstat,__lxstat@GLIBC_2.2.5");
__asm__(".symver old_fxstatat,__fxstatat@GLIBC_2.4");

int __wrap_stat(const char *path, struct stat *out)
{
    return old_xstat(VERSION, path, out);
}
int __wrap_fstat(int file, struct stat *out)
{
    return old_fxstat(VERSION, file, out);
}
int __wrap_lstat(const char *path, struct stat *out)
{
    return old_lxstat(VERSION, path, out);
}
int __wrap_fstatat(int folder, const char *path, struct stat *out, int flags)
{
    return old_fxstatat(VERSION, folder, path, out, flags);
}

/* ---- numbers in text: functions of their own, which read "0b1", since glibc 2.38 --------------------------------- */

#define NUMBER(type, name)                                                                                             \
    type __wrap___isoc23_##name(const char *text, char **end, int base);                                               \
    type __wrap___isoc23_##name(const char *text, char **end, int base)                                                \
    {                                                                                                                  \
        return name(text, end, base);                                                                                  \
    }
NUMBER(long, strtol)
NUMBER(unsigned long, strtoul)
NUMBER(long long, strtoll)
NUMBER(unsigned long long, strtoull)

#define SCAN(name, type)                                                                                               \
    int __wrap___isoc23_##name(type from, const char *format, ...);                                                    \
    int __wrap___isoc23_##name(type from, const char *format, ...)                                                     \
    {                                                                                                                  \
        va_list list;                                                                                                  \
        va_start(list, format);                                                                                        \
        int n = v##name(from, format, list);                                                                           \
        va_end(list);                                                                                                  \
        return n;                                                                                                      \
    }
SCAN(sscanf, const char *)
SCAN(fscanf, FILE *)

/* ---- the start --------------------------------------------------------------------------------------------------- */

typedef int main_function(int argc, char **argv, char **environment);
typedef void init_function(int argc, char **argv, char **environment);
extern init_function *const __init_array_start[], *const __init_array_end[];

int old_start(main_function *start, int argc, char **argv, init_function *init, void (*fini)(void), void (*rtld)(void),
              void *stack);
int __wrap___libc_start_main(main_function *start, int argc, char **argv, init_function *init, void (*fini)(void),
                             void (*rtld)(void), void *stack);
__asm__(".symver old_start,__libc_start_main@GLIBC_2.2.5");

static void construct(int argc, char **argv, char **environment)
{
    for (init_function *const *each = __init_array_start; each < __init_array_end; each++)
        (*each)(argc, argv, environment);
}

int __wrap___libc_start_main(main_function *start, int argc, char **argv, init_function *init, void (*fini)(void),
                             void (*rtld)(void), void *stack)
{
    return old_start(start, argc, argv, init ? init : construct, fini, rtld, stack);
}
