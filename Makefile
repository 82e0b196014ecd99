# hpctop: the one build.  `make` builds libtrace.so and hpctop; `make help` lists the targets.
CC     ?= gcc
STD     = -std=c11 -D_GNU_SOURCE
# Warnings are errors with the compiler and flags that the tests use; others warn of other things, and must not fail.
WERROR ?= $(if $(or $(SAN),$(and $(filter cc %gcc,$(CC)),$(filter file,$(origin OPT)),$(filter file,$(origin CFLAGS)))),-Werror)
# What a sanitizer adds to the code makes gcc see paths that are not there; a plain build has judged them.
WARN    = -Wall -Wextra $(WERROR) -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
          $(if $(SAN),-Wno-format-truncation -Wno-maybe-uninitialized) $(if $(FUZZ),-Wno-unknown-warning-option)
OPT    ?= -O2 -g
ifeq ($(ASAN),1)
SAN     = -fsanitize=address,undefined -fno-omit-frame-pointer
BUILD  ?= build/asan
endif
ifeq ($(TSAN),1)
SAN     = -fsanitize=thread -Wno-tsan # it does not follow fences, and warns of each that it notices
BUILD  ?= build/tsan
endif
# make FUZZ=1 fuzz: the fuzz targets with libFuzzer, which clang has.
ifeq ($(FUZZ),1)
CC      = clang
OPT     = -O1 -g
WERROR  =
SAN     = -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer -DFUZZING
BUILD  ?= build/fuzz
endif
BUILD  ?= build/plain
CFLAGS ?=
ALL_CFLAGS = $(STD) $(WARN) $(OPT) $(SAN) -I. -MMD -MP $(CFLAGS)
Q       = $(if $(filter 1,$(V)),,@)

# Products lie at the top for a plain build, under $(BUILD) otherwise.  They come there whole, by mv: they may be in use.
TOP     = $(if $(SAN),$(BUILD)/)
LIBTRACE = $(TOP)libtrace.so
HPCTOP   = $(TOP)hpctop

TRACE_SRC = $(sort $(shell find trace -name '*.c'))
TUI_SRC   = $(sort $(shell find tui -name '*.c'))
IPO_SRC   = $(sort $(shell find interpose -name '*.c'))
WRITER_SRC = trace/format/opclass.c $(wildcard trace/writer/*.c trace/python/*.c) # of trace/, what libtrace.so has inside
UNIT_SRC  = $(sort $(shell find tests/unit -name '*.c'))
SUPPORT_SRC = $(wildcard tests/support/*.c)
FAKE_SRC  = $(wildcard tests/support/recorder/*.c)
WORK_SRC  = $(wildcard workloads/*.c)

TRACE_OBJ = $(TRACE_SRC:%.c=$(BUILD)/%.o)
TUI_OBJ   = $(TUI_SRC:%.c=$(BUILD)/%.o)
TUI_LIB   = $(filter-out $(BUILD)/tui/main.o,$(TUI_OBJ))
IPO_OBJ   = $(IPO_SRC:%.c=$(BUILD)/%.pic.o)
IPO_OBJ  += $(WRITER_SRC:%.c=$(BUILD)/%.pic.o)
SUPPORT_OBJ = $(SUPPORT_SRC:%.c=$(BUILD)/%.o)
UNIT_BIN  = $(UNIT_SRC:%.c=$(BUILD)/%)
WORK_BIN  = $(WORK_SRC:%.c=$(BUILD)/%)

TUI_LIBS  = -lncursesw -lcjson -ldw -lelf -lzstd -lm -ldl -lpthread

all: $(LIBTRACE) $(HPCTOP)

# libtrace.so: libc and libdl of an old glibc, nothing else (DESIGN 4).  -fexceptions lets a C++ exception pass.
# No vectors on the record path: what was just stored word by word would have to leave the store buffer first.
# quiet.h stands before each source: system calls pass its gate; oldglibc.h before those of interpose/.
# libdl is named outright: since glibc 2.34 it is a stub, but older systems have dlsym there.
IPO_CFLAGS = -fPIC -fvisibility=hidden -ftls-model=initial-exec -fexceptions -fno-stack-protector -U_FORTIFY_SOURCE \
             -fno-tree-slp-vectorize -include trace/writer/quiet.h -I$(BUILD)
LIBDL     ?= $(shell $(CC) -print-file-name=libdl.so.2)
$(BUILD)/interpose/%.pic.o: IPO_CFLAGS += -include interpose/base/oldglibc.h
$(BUILD)/%.pic.o: %.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) $(IPO_CFLAGS) -c -o $@ $<
# The files that mpi_calls.def includes, in its order.
MPI_CALLS = $(addprefix interpose/mpi/calls_,p2p.def collective.def object.def local.def)
$(BUILD)/export.map: $(MPI_CALLS) interpose/nccl/nccl_calls.def interpose/gloo/gloo_calls.def \
                     interpose/mpi/export-map.sh
	@mkdir -p $(@D)
	$(Q)sh interpose/mpi/export-map.sh $(filter %.def,$^) >$@.new && mv $@.new $@
# The names that slots are searched for; prefixes and tables in the order of enum ipo_names.
NAMES_FROM = prefix=MPI_ $(MPI_CALLS) prefix=nccl interpose/nccl/nccl_calls.def \
             prefix=cupti interpose/cuda/cupti_inside.h prefix= interpose/load/libc_calls.def
$(BUILD)/interpose/load/names.inc: interpose/load/names.sh $(filter interpose/%,$(NAMES_FROM))
	@mkdir -p $(@D)
	$(Q)sh $< $(NAMES_FROM) >$@.new && mv $@.new $@
$(BUILD)/interpose/load/names.pic.o: $(BUILD)/interpose/load/names.inc
$(LIBTRACE): $(IPO_OBJ) $(BUILD)/export.map
	@mkdir -p $(@D)
	$(Q)$(CC) -shared $(OPT) $(SAN) -o $(BUILD)/$(@F).new $(IPO_OBJ) -Wl,--version-script=$(BUILD)/export.map \
	    -Wl,-z,now -Wl,-z,relro $(if $(SAN),,-Wl,-z,defs) -Wl,--no-as-needed $(LIBDL) -Wl,--hash-style=gnu && mv $(BUILD)/$(@F).new $@

$(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -c -o $@ $<
$(BUILD)/tui/output/page.o: $(wildcard tui/output/page/*)
$(BUILD)/tui/commands/demo.o: tui/commands/demo.zst
$(BUILD)/libana.a: $(TRACE_OBJ)
	$(Q)rm -f $@; ar rcs $@ $^
$(BUILD)/libtui.a: $(TUI_LIB)
	$(Q)rm -f $@; ar rcs $@ $^
$(HPCTOP): $(BUILD)/tui/main.o $(BUILD)/libtui.a $(BUILD)/libana.a
	@mkdir -p $(@D)
	$(Q)$(CC) $(SAN) -o $(BUILD)/$(@F).new $^ $(TUI_LIBS) && mv $(BUILD)/$(@F).new $@

# A unit test is one program: exit 0 passed, 77 skipped, anything else failed.  tests/support/ is linked into each.
$(BUILD)/tests/unit/%: $(BUILD)/tests/unit/%.o $(SUPPORT_OBJ) $(BUILD)/libtui.a $(BUILD)/libana.a
	$(Q)$(CC) $(SAN) -o $@ $^ $(TUI_LIBS) -lpthread
# How often the verdict is right, on random programs whose end is known.
YARDSTICK = $(BUILD)/tests/yardstick/yardstick
$(YARDSTICK): $(patsubst %.c,$(BUILD)/%.o,$(wildcard tests/yardstick/*.c)) $(SUPPORT_OBJ) $(BUILD)/libtui.a $(BUILD)/libana.a
	$(Q)$(CC) $(SAN) -o $@ $^ $(TUI_LIBS) -lpthread
# Jobs of any number of ranks, made up by the recorder's own writer.
MANY = $(BUILD)/tests/many/many
$(MANY): $(patsubst %.c,$(BUILD)/%.o,$(wildcard tests/many/*.c) $(WRITER_SRC))
	$(Q)$(CC) $(SAN) -o $@ $^
unit: $(UNIT_BIN) $(YARDSTICK) $(MANY)

# The recorder for its unit tests: the objects of libtrace.so, whose hidden names a program can link, and a fake MPI.
# The wrappers keep their own names (ipo_w_Send) and lose those that they have for programs.
RECORDER = $(BUILD)/tests/librecorder.a
PUBLIC_OBJ = $(filter %/wrap.pic.o %/lookup.pic.o,$(IPO_OBJ))
INNER_OBJ = $(filter-out $(PUBLIC_OBJ),$(IPO_OBJ)) $(PUBLIC_OBJ:%.pic.o=%.inner.o) $(FAKE_SRC:%.c=$(BUILD)/%.o)
OBJCOPY ?= $(shell $(CC) -print-prog-name=objcopy)
%.inner.o: %.pic.o
	$(Q)$(OBJCOPY) --wildcard -L 'MPI_*' -L 'nccl*' -L dlsym $< $@
$(RECORDER): $(INNER_OBJ)
	@mkdir -p $(@D)
	$(Q)rm -f $@; ar rcs $@ $^
$(BUILD)/tests/unit/interpose/%: $(BUILD)/tests/unit/interpose/%.o $(SUPPORT_OBJ) $(RECORDER) $(BUILD)/libtui.a $(BUILD)/libana.a
	$(Q)$(CC) $(SAN) -o $@ $^ $(TUI_LIBS) -lpthread -Wl,--export-dynamic-symbol=mpi_fortran_*

MPICC  ?= mpicc
$(BUILD)/workloads/%: workloads/%.c $(wildcard workloads/*.h include/*.h)
	@mkdir -p $(@D)
	$(Q)$(MPICC) -std=c11 -D_GNU_SOURCE -Wall -Wextra -O1 -g -Iinclude -o $@ $< -lpthread -lm
workloads: $(WORK_BIN)

# The GPU double: look-alikes of libcudart and libnccl for machines without a GPU, in a folder for LD_LIBRARY_PATH; and
# the NCCL workloads, which run on it and on the real ones: make nccl NCCL_FLAGS="-I.. -L.." for another NCCL.
DOUBLE = $(BUILD)/gpu_double
NCCL_SRC = $(wildcard workloads/nccl/*.c)
NCCL_BIN = $(NCCL_SRC:%.c=$(BUILD)/%)
NCCL_FLAGS ?= -Itests/gpu_double/include -L$(DOUBLE) -Wl,-rpath-link,$(DOUBLE)
DOUBLE_CFLAGS = $(STD) $(WARN) -O1 -g -I. -fPIC -shared
$(DOUBLE)/libfgpu.so: tests/gpu_double/core.c tests/gpu_double/core.h
	@mkdir -p $(@D)
	$(Q)$(CC) $(DOUBLE_CFLAGS) -o $@ $< -Wl,-soname,$(@F) -lpthread
$(DOUBLE)/libcuda.so.1: tests/gpu_double/cuda.c $(DOUBLE)/libfgpu.so
	$(Q)$(CC) $(DOUBLE_CFLAGS) -o $@ $< -Wl,-soname,$(@F) -L$(@D) -lfgpu -ldl
$(DOUBLE)/libcudart.so.13: tests/gpu_double/cudart.c tests/gpu_double/include/cuda_runtime.h $(DOUBLE)/libfgpu.so $(DOUBLE)/libcuda.so.1
	$(Q)$(CC) $(DOUBLE_CFLAGS) -o $@ $< -Wl,-soname,$(@F) -L$(@D) -lfgpu -ldl -lpthread && ln -sf $(@F) $(@D)/libcudart.so
NCCL_DOUBLE = $(addprefix tests/gpu_double/,nccl.c nccl_comms.c tells.c tells_nvtx.c)
NCCL_DOUBLE_H = $(addprefix tests/gpu_double/,nccl_inside.h tells.h include/nccl.h)
$(DOUBLE)/libnccl.so.2: $(NCCL_DOUBLE) $(NCCL_DOUBLE_H) $(DOUBLE)/libcudart.so.13
	$(Q)$(CC) $(DOUBLE_CFLAGS) -o $@ $(NCCL_DOUBLE) -Wl,-soname,$(@F) -L$(@D) -lcudart -lfgpu -ldl -lpthread -lrt && ln -sf $(@F) $(@D)/libnccl.so
# The same as an archive, and a library that has it inside without showing it, as Horovod's does by default.
$(DOUBLE)/libnccl_static.a: $(NCCL_DOUBLE) $(NCCL_DOUBLE_H) $(DOUBLE)/libcudart.so.13
	$(Q)for f in $(NCCL_DOUBLE); do $(CC) $(filter-out -shared,$(DOUBLE_CFLAGS)) -c -o $(@D)/$$(basename $$f .c).o $$f || exit 1; done; \
	    rm -f $@ && ar rcs $@ $(patsubst tests/gpu_double/%.c,$(@D)/%.o,$(NCCL_DOUBLE))
$(DOUBLE)/libhidden_part.so: workloads/nccl/hidden/part.c workloads/nccl/hidden/part.map $(DOUBLE)/libnccl_static.a
	$(Q)$(CC) -std=c11 -D_GNU_SOURCE -Wall -Wextra -O1 -g -fPIC -shared -Itests/gpu_double/include -Iworkloads -o $@ $< $(DOUBLE)/libnccl_static.a \
	    -Wl,--version-script=workloads/nccl/hidden/part.map -Wl,-Bsymbolic-functions -L$(@D) -lcudart -lfgpu -ldl -lpthread -lrt
$(DOUBLE)/libcupti.so.13: tests/gpu_double/cupti.c tests/gpu_double/libcupti.map $(DOUBLE)/libfgpu.so
	$(Q)$(CC) $(DOUBLE_CFLAGS) -o $@ $< -Wl,-soname,$(@F) -Wl,--version-script=$(word 2,$^) -L$(@D) -lfgpu -lpthread && ln -sf $(@F) $(@D)/libcupti.so
$(DOUBLE)/libnvidia-ml.so.1: tests/gpu_double/nvml.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(DOUBLE_CFLAGS) -o $@ $< -Wl,-soname,$(@F)
$(BUILD)/workloads/nccl/%: workloads/nccl/%.c workloads/truth.h $(DOUBLE)/libnccl.so.2 $(DOUBLE)/libcupti.so.13 $(DOUBLE)/libnvidia-ml.so.1
	@mkdir -p $(@D)
	$(Q)$(MPICC) -std=c11 -D_GNU_SOURCE -Wall -Wextra -O1 -g -Iworkloads -o $@ $< $(NCCL_FLAGS) -lnccl -lcudart -lm -ldl
$(BUILD)/workloads/nccl/profiler: NCCL_FLAGS += -lcupti
# This one has no MPI in it.
$(BUILD)/workloads/nccl/without_mpi: MPICC = $(CC)
$(BUILD)/workloads/nccl/hidden: workloads/nccl/hidden/main.c $(DOUBLE)/libhidden_part.so
	@mkdir -p $(@D)
	$(Q)$(CC) -std=c11 -D_GNU_SOURCE -Wall -Wextra -O1 -g -o $@ $< -ldl
nccl: $(NCCL_BIN) $(BUILD)/workloads/nccl/hidden

# Fortran workloads, where there is a compiler.  Those of *.F90 are built once for each binding.  For another MPI:
# make fortran BUILD=build/mpich MPICC=mpicc.mpich MPIFC=mpifort.mpich
MPIFC  ?= mpifort
FORT   = $(BUILD)/workloads/fortran
FORT_SRC = $(wildcard workloads/fortran/*.F90)
FORT_BIN = $(patsubst workloads/fortran/%,$(FORT)/%,$(basename $(filter-out %/truth.f90 %/large_count.f90,$(wildcard workloads/fortran/*.f90)) \
    $(wildcard workloads/fortran/*.f)) $(foreach b,mpifh mpi f08,$(FORT_SRC:%.F90=%_$b)))
FORT_WITH = $(FORT)/truth_c.o $(FORT)/truth.o
FFLAGS ?= -Wall -O1 -g
$(FORT)/truth_c.o: workloads/fortran/truth.c workloads/truth.h
	@mkdir -p $(@D)
	$(Q)$(CC) -std=c11 -D_GNU_SOURCE -Wall -Wextra -Wno-unused-function -O1 -g -c -o $@ $<
$(FORT)/truth.o: workloads/fortran/truth.f90
	@mkdir -p $(@D)
	$(Q)$(MPIFC) $(FFLAGS) -J$(FORT) -c -o $@ $<
$(FORT)/%: workloads/fortran/%.f90 $(FORT_WITH)
	$(Q)$(MPIFC) $(FFLAGS) -I$(FORT) -J$(FORT) -o $@ $< $(FORT_WITH)
$(FORT)/%: workloads/fortran/%.f $(FORT_WITH)
	$(Q)$(MPIFC) $(FFLAGS) -I$(FORT) -J$(FORT) -o $@ $< $(FORT_WITH)
# Without an interface the compiler takes the first call of a name for one, and the next for a mistake.
LEGACY_mpifh = -std=legacy -w
define fortran_binding
$(FORT)/%_$1: workloads/fortran/%.F90 workloads/fortran/binding.inc $(FORT_WITH)
	$(Q)$(MPIFC) $(FFLAGS) -ffree-line-length-none $(LEGACY_$1) -DBINDING_$1 -Iworkloads/fortran -I$(FORT) -J$(FORT) -o $$@ $$< $(FORT_WITH)
endef
$(foreach b,mpifh mpi f08,$(eval $(call fortran_binding,$b)))
fortran: $(if $(shell command -v $(MPIFC)),$(FORT_BIN))

FUZZ_SRC  = $(wildcard tests/fuzz/*.c)
FUZZ_BIN  = $(FUZZ_SRC:%.c=$(BUILD)/%)
$(BUILD)/tests/fuzz/%: $(BUILD)/tests/fuzz/%.o $(SUPPORT_OBJ) $(BUILD)/libtui.a $(BUILD)/libana.a
	$(Q)$(CC) $(SAN) $(if $(FUZZ),-fsanitize=fuzzer) -o $@ $^ $(TUI_LIBS) -lpthread
fuzz: $(FUZZ_BIN)
# A run of libFuzzer over each corpus in the tree; what it finds lies in build/fuzz.
FUZZ_SECONDS ?= 20
fuzz-run:
	@$(MAKE) --no-print-directory FUZZ=1 fuzz
	@tests/fuzz/run.py build/fuzz -max_total_time=$(FUZZ_SECONDS) $(TESTS)
$(BUILD)/tests/mktrace: $(addprefix $(BUILD)/,tests/mktrace.o $(addprefix tests/support/trace_,builder.o calls.o counters.o defs.o items.o scene.o) \
    trace/format/opclass.o)
	$(Q)$(CC) $(SAN) -o $@ $^ -lzstd -lm
fuzz-seeds: $(BUILD)/tests/mktrace
	@mkdir -p tests/fuzz/corpus/fuzz_reader
	$< tests/fuzz/corpus/fuzz_reader
	@mkdir -p tests/fuzz/corpus/fuzz_job
	$< tests/fuzz/corpus/fuzz_job jobs

# Every test there is; the last line is `N passed, N failed, N skipped`.  TESTS="word .." runs those that match.
# setup.sh installs what is missing, the last of it while that is built which needs no more; what was wrong there the next
# make says, which starts anew, to see what was not there before.
ON_ALL_CORES = $(if $(filter -j%,$(MAKEFLAGS)),,-j$(shell nproc))
check:
	@tests/setup.sh build
	@tests/setup.sh check & $(MAKE) --no-print-directory -k $(ON_ALL_CORES) all unit fuzz >/dev/null 2>&1; wait
	@rm -f build/complete
	-@$(MAKE) --no-print-directory -k $(ON_ALL_CORES) tested && mkdir -p build && touch build/complete
	@tests/run.py -b $(BUILD) $$(test -e build/complete || echo --build-failed) $(RUNFLAGS) $(TESTS)
check-long:
	@tests/setup.sh long
	@$(MAKE) --no-print-directory check RUNFLAGS="-l $(RUNFLAGS)"
# Other MPIs, compilers and systems than this one's, each unpacked from its Debian release (about 5 GB, once).
check-matrix:
	@tests/setup.sh matrix
	@$(MAKE) --no-print-directory all
	@tests/run.py -b $(BUILD) -k matrix $(RUNFLAGS) $(TESTS)
# Jobs in containers of real runtimes, and the definitions of containers/ built (about 4 GB, once).
check-containers:
	@tests/setup.sh check
	@tests/setup.sh roots
	@$(MAKE) --no-print-directory all workloads
	@rm -f build/results/containers.jsonl
	@tests/run.py -b $(BUILD) -k containers $(RUNFLAGS) $(TESTS)
# make demo and make check in fresh releases of Debian, as a new user has them; needs root.  RELEASES="trixie sid" only those.
check-releases:
	@tests/setup.sh roots
	@TESTS="$(TESTS)" tests/releases.sh $(RELEASES)
# Programs that others wrote, from Debian: benchmarks, linear algebra, molecules, Python; some minutes.
check-programs:
	@tests/setup.sh programs
	@$(MAKE) --no-print-directory all
	@tests/run.py -b $(BUILD) -k programs $(RUNFLAGS) $(TESTS)
# A real Horovod under PyTorch, then under Keras (TESTS=keras: that alone), built once into build/horovod, with one thing
# wrong at a time; some ten minutes and four.
check-horovod:
	@tests/setup.sh check
	@$(MAKE) --no-print-directory all
	@tests/horovod/run.py $(TESTS)
# Everything of NCCL and CUDA on this machine's GPU, the measurements among it; skipped where there is none.  GPU=double: the
# same on the GPU double; GPU=alone, GPU=double,alone: as if there were no MPI.
check-gpu:
	@tests/gpu/lib/prepare.sh $(BUILD)
	@HPCTOP_GPU=$(GPU) tests/run.py -b $(BUILD) -k gpu -v $(RUNFLAGS) $(TESTS)
# For a machine with a GPU on which nothing can be installed: build/gpu-kit is all that check-gpu needs there, ready made.
gpu-kit: all nccl
	@tests/gpu/lib/kit.sh $(BUILD) build/gpu-kit
# Every NCCL of PyPI, one a minor release (300 MB each): its header, its library, and what is seen of it without a GPU.
check-versions:
	@tests/setup.sh check
	@$(MAKE) --no-print-directory all
	@tests/nccl_versions.py $(VERSIONS)
check-asan:
	@tests/setup.sh check
	@$(MAKE) --no-print-directory ASAN=1 OPT="-O1 -g" unit fuzz build/asan/hpctop
	@$(MAKE) --no-print-directory all workloads
	@tests/run.py -b build/asan $(RUNFLAGS) unit/ fuzz/
	@ASAN_HPCTOP=$(CURDIR)/build/asan/hpctop tests/run.py -b $(BUILD) -k asan $(RUNFLAGS)
check-tsan:
	@$(MAKE) --no-print-directory TSAN=1 OPT="-O1 -g" unit
	@tests/run.py -b build/tsan $(RUNFLAGS) unit/
tested: all unit fuzz workloads fortran nccl
# How often the verdict is right on random programs: PROGRAMS=4000 of them, from SEED=1 on.
yardstick: $(YARDSTICK)
	@$(YARDSTICK) -n $(or $(PROGRAMS),100000) -s $(or $(SEED),1)
# How often it is right on programs as users write them, hanging, dying, slow and healthy: half an hour under MPI=openmpi or mpich.
REPORTS = ../shared/field
field: all
	@nice -n 19 tests/field/run.py --mpi $(or $(MPI),openmpi) -j 2 $(TESTS)
	@test ! -f $(REPORTS)/cases.txt || nice -n 19 tests/field/reports.py -j 4 $(REPORTS) $(TESTS)
format-check:
	@TOP=$(CURDIR) tests/static/format.sh
# cppcheck and clang's analyser; some ten minutes of a processor.
lint: all
	@tests/run.py -b $(BUILD) -v static/lint
expand: interpose/mpi/wrap.c
	@$(CC) $(STD) -I. -E -P $< | clang-format | sed -n '/^int ipo_w_/,$$p'

demo:
	@tests/setup.sh build
	@$(MAKE) --no-print-directory all $(BUILD)/workloads/stencil
	@tests/demo.sh $(BUILD)
# What hpctop demo shows; as root, for the name of the host.
sample: all
	@tests/sample.sh tui/commands/demo.zst
$(BUILD)/tests/bench/relations: $(BUILD)/tests/bench/relations.o $(SUPPORT_OBJ) $(BUILD)/libana.a
	$(Q)$(CC) $(SAN) -o $@ $^ -lzstd -lm
$(BUILD)/tests/bench/frames: $(BUILD)/tests/bench/frames.o $(BUILD)/libtui.a $(BUILD)/libana.a
	$(Q)$(CC) $(SAN) -o $@ $^ $(TUI_LIBS)
bench:
	@tests/setup.sh check
	@$(MAKE) --no-print-directory all workloads $(BUILD)/tests/bench/relations $(BUILD)/tests/bench/frames $(MANY)
	@python3 tests/bench/bench.py $(BUILD)
	@python3 tests/bench/startup.py
	@python3 tests/bench/analysis.py $(BUILD)
	@python3 tests/bench/frames.py $(BUILD)
	@python3 tests/bench/prices.py $(BUILD)
	@python3 tests/bench/site.py $(BUILD)

include packaging/packaging.mk

compile_commands.json: $(TRACE_SRC) $(TUI_SRC) $(IPO_SRC) Makefile
	@tests/compile_commands.py '$(CURDIR)' '$(CC) $(ALL_CFLAGS)' $(TRACE_SRC) $(TUI_SRC) $(IPO_SRC) > $@

help:
	@echo "make              libtrace.so and hpctop"
	@echo "make demo         a 4-rank MPI job, watched in hpctop; installs what is missing"
	@echo "make sample       records the job of hpctop demo anew"
	@echo "make check        every test; TESTS=\"word ..\" only those that match"
	@echo "make install      PREFIX=/usr/local DESTDIR=; make uninstall; make tarball, wheel, deb: docs/install.md"
	@echo "make check-long   and the long ones"
	@echo "make check-matrix the workloads under every MPI that Debian's releases and PyPI have"
	@echo "make check-containers   jobs in Apptainer, Charliecloud and Podman; containers/ built"
	@echo "make check-releases make demo and make check in fresh releases of Debian; RELEASES=\"trixie ..\" only those"
	@echo "make check-programs programs of Debian's (HPCC, LAMMPS, PETSc ..): the same results, a trace that agrees with itself"
	@echo "make check-horovod a real Horovod and what goes wrong with it; builds it once"
	@echo "make check-gpu    NCCL and CUDA on this machine's GPU; GPU=double on the GPU double; gpu-kit: for where nothing can be built"
	@echo "make check-versions every NCCL of PyPI against the table of its calls; VERSIONS=\"2.28.9 ..\" only those"
	@echo "make yardstick   how often the verdict is right on random programs; PROGRAMS=4000 of them, from SEED=1 on"
	@echo "make field        and on programs as users write them; MPI=mpich; TESTS=\"word ..\" only those"
	@echo "make check-asan   unit tests, fuzz corpus and commands under AddressSanitizer and UBSan"
	@echo "make check-tsan   unit tests under ThreadSanitizer"
	@echo "make fuzz-run     libFuzzer on the reader, FUZZ_SECONDS=20 of it; needs clang"
	@echo "make bench        what recording costs: time, instructions and bytes a call; how fast traces are read"
	@echo "make expand       the generated wrappers, readable"
	@echo "make format-check is every file formatted as .clang-format says"
	@echo "make lint         cppcheck and clang --analyze, but for what tests/lint lists"
	@echo "make man          the manual page hpctop(1), as build/plain/hpctop.1"
	@echo "make compile_commands.json   for editors and analysers"
	@echo "make clean        back to the sources"
	@echo "V=1 shows commands; BUILD=dir builds elsewhere; ASAN=1, TSAN=1 build with that sanitizer"

clean:
	rm -rf build libtrace.so hpctop compile_commands.json

.PHONY: all fortran nccl unit fuzz fuzz-run fuzz-seeds workloads tested check check-long check-matrix check-containers check-asan check-tsan format-check lint expand demo sample bench help clean
.PHONY: check-releases check-horovod check-programs check-versions check-gpu gpu-kit yardstick field
.SECONDARY:
-include $(shell find build -path build/roots -prune -o -type f -name '*.d' -print 2>/dev/null)
