# hpctop: one Makefile.  `make` builds libtrace.so and hpctop; `make help` lists the targets.
CC      ?= gcc
STD      = -std=c11 -D_GNU_SOURCE
WARN     = -Wall -Wextra -Werror -Wshadow -Wstrict-prototypes -Wmissing-prototypes
OPT     ?= -O2 -g
SAN      =
ifeq ($(ASAN),1)
SAN      = -fsanitize=address,undefined -fno-omit-frame-pointer
endif
ifeq ($(TSAN),1)
SAN      = -fsanitize=thread
endif
BUILD   ?= build$(if $(ASAN),-asan)$(if $(TSAN),-tsan)
CFLAGS   = $(STD) $(WARN) $(OPT) $(SAN) -I. -MMD -MP
V       ?= 0
Q        = $(if $(filter 1,$(V)),,@)
