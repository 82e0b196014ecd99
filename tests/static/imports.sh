#!/bin/bash
# What libtrace.so may call in libc.  A function that waits in the kernel is a cancellation point: a thread of the program with a pending
# pthread_cancel would end there, inside a call of MPI.  Such calls are made by number (trace/writer/system.h), and so are those that
# sanitizers and other tools intercept to follow descriptors and mappings (trace/writer/quiet.h).  What allocates or locks is no part of the
# list either.  A new name is added only if it can neither wait nor end the thread.
command -v nm >/dev/null || { echo "nm is missing"; exit 77; }
memory="memchr memmem strchr strcpy strcspn strncasecmp strncpy strnlen strpbrk strrchr strspn strstr qsort"
process="environ __environ __errno_location getauxval getenv sysconf clock_gettime __cxa_atexit __cxa_finalize"
loader="dl_iterate_phdr dladdr dlclose dlerror dlopen"
kernel="access getcwd geteuid gethostname getpid getppid lseek mkdir prctl readlink statfs syscall unlink"
signals="sigaction sigdelset sigfillset sigismember signal __sysv_signal sigset sigprocmask"
passed_on="exit _exit fputs" # calls of the program and of the MPI library, in wrappers
bad=0
for name in $(nm -D --undefined-only "$LIBTRACE" | awk '$1 == "U" {print $2}' | sed 's/@.*//'); do
    case " $(echo $memory $process $loader $kernel $signals $passed_on) " in
    *" $name "*) ;;
    *) echo "not ok imports: libtrace.so calls $name"; bad=1 ;;
    esac
done
[ "$bad" = 0 ] && echo "ok imports: nothing that is a cancellation point"
exit $bad
