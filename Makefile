# hpctop: the one build.  `make` builds libtrace.so and hpctop; `make help` lists the targets.
CC     ?= gcc
STD     = -std=c11 -D_GNU_SOURCE
WARN    = -Wall -Wextra -Werror -Wshadow -Wstrict-prototypes -Wmissing-prototypes
OPT    ?= -O2 -g
ifeq ($(ASAN),1)
SAN     = -fsanitize=address,undefined -fno-omit-frame-pointer
BUILD  ?= build/asan
endif
ifeq ($(TSAN),1)
SAN     = -fsanitize=thread
BUILD  ?= build/tsan
endif
BUILD  ?= build/plain
CFLAGS ?=
ALL_CFLAGS = $(STD) $(WARN) $(OPT) $(SAN) -I. -MMD -MP $(CFLAGS)
Q       = $(if $(filter 1,$(V)),,@)

# Products lie at the top for a plain build, under $(BUILD) otherwise.
TOP     = $(if $(SAN),$(BUILD)/)
LIBTRACE = $(TOP)libtrace.so
HPCTOP   = $(TOP)hpctop

TRACE_SRC = $(wildcard trace/*.c)
TUI_SRC   = $(wildcard tui/*.c)
IPO_SRC   = $(wildcard interpose/*.c)
UNIT_SRC  = $(wildcard tests/unit/*.c)
WORK_SRC  = $(wildcard workloads/*.c)

TRACE_OBJ = $(TRACE_SRC:%.c=$(BUILD)/%.o)
TUI_OBJ   = $(TUI_SRC:%.c=$(BUILD)/%.o)
TUI_LIB   = $(filter-out $(BUILD)/tui/main.o,$(TUI_OBJ))
IPO_OBJ   = $(IPO_SRC:%.c=$(BUILD)/%.pic.o)
UNIT_BIN  = $(UNIT_SRC:%.c=$(BUILD)/%)
WORK_BIN  = $(WORK_SRC:%.c=$(BUILD)/%)

TUI_LIBS  = -lncursesw -lcjson -ldw -lelf -lm

all: $(LIBTRACE) $(HPCTOP)

# libtrace.so: libc and libdl of an old glibc, nothing else (DESIGN 4).  -fexceptions lets a C++ exception pass.
# libdl is named outright: since glibc 2.34 it is a stub, but older systems have dlsym there.
IPO_CFLAGS = -fPIC -fvisibility=hidden -ftls-model=initial-exec -fexceptions -fno-stack-protector -U_FORTIFY_SOURCE
LIBDL     ?= $(shell $(CC) -print-file-name=libdl.so.2)
$(BUILD)/interpose/%.pic.o: interpose/%.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) $(IPO_CFLAGS) -c -o $@ $<
$(LIBTRACE): $(IPO_OBJ) interpose/export.map
	@mkdir -p $(@D)
	$(Q)$(CC) -shared $(OPT) $(SAN) -o $@ $(IPO_OBJ) -Wl,--version-script=interpose/export.map \
	    -Wl,-z,now -Wl,-z,relro $(if $(SAN),,-Wl,-z,defs) -Wl,--no-as-needed $(LIBDL) -Wl,--hash-style=gnu

$(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -c -o $@ $<
$(BUILD)/libana.a: $(TRACE_OBJ)
	$(Q)rm -f $@; ar rcs $@ $^
$(BUILD)/libtui.a: $(TUI_LIB)
	$(Q)rm -f $@; ar rcs $@ $^
$(HPCTOP): $(BUILD)/tui/main.o $(BUILD)/libtui.a $(BUILD)/libana.a
	@mkdir -p $(@D)
	$(Q)$(CC) $(SAN) -o $@ $^ $(TUI_LIBS)

# A unit test is one program: exit 0 passed, 77 skipped, anything else failed.
$(BUILD)/tests/unit/%: $(BUILD)/tests/unit/%.o $(BUILD)/libtui.a $(BUILD)/libana.a
	$(Q)$(CC) $(SAN) -o $@ $^ $(TUI_LIBS) -lpthread
unit: $(UNIT_BIN)

MPICC  ?= mpicc
$(BUILD)/workloads/%: workloads/%.c
	@mkdir -p $(@D)
	$(Q)$(MPICC) -std=c11 -D_GNU_SOURCE -Wall -Wextra -O1 -g -o $@ $< -lpthread -lm
workloads: $(WORK_BIN)

clean:
	rm -rf build libtrace.so hpctop

.PHONY: all unit workloads clean
.SECONDARY:
-include $(shell find build -name '*.d' 2>/dev/null)
