# make install, and what others install from: a relocatable folder, a Debian package, a wheel.  Included by the Makefile.
PREFIX    ?= /usr/local
DESTDIR   ?=
VERSION    = $(shell sed -n 's/^\#define HPCTOP_VERSION *"\(.*\)"/\1/p' trace/format/version.h)
STAGE      = $(DESTDIR)$(PREFIX)
PACKAGES   = build/packages
PORTABLE   = build/portable/hpctop
INSTALLED ?= $(HPCTOP)# the hpctop that is installed

# Where each file goes, below PREFIX.  `uninstall` removes just these.
FILES_755 = bin/hpctop lib/hpctop/libtrace.so share/hpctop/slurm/prolog share/hpctop/slurm/task-prolog \
            share/hpctop/slurm/epilog
FILES_644 = include/hpctop.h share/hpctop/hpctop.f90 share/hpctop/python/hpctop.py \
            share/hpctop/python/hpctop_notebook.py share/man/man1/hpctop.1 share/man/man7/libtrace.7 share/man/man5/hpctop-format.5 \
            share/bash-completion/completions/hpctop share/zsh/site-functions/_hpctop \
            share/fish/vendor_completions.d/hpctop.fish share/hpctop/modulefiles/hpctop share/hpctop/slurm/enter
OWN_DIRS  = lib/hpctop share/hpctop/python share/hpctop/modulefiles share/hpctop/slurm share/hpctop

GENERATED = $(BUILD)/share
$(GENERATED): $(HPCTOP) packaging/modulefile packaging/hpctop-format.5
	$(Q)rm -rf $@.new && mkdir -p $@.new
	$(Q)./$(HPCTOP) help man > $@.new/hpctop.1
	$(Q)./$(HPCTOP) help libtrace > $@.new/libtrace.7
	$(Q)cp packaging/hpctop-format.5 $@.new/hpctop-format.5
	$(Q)./$(HPCTOP) help bash > $@.new/hpctop
	$(Q)./$(HPCTOP) help zsh > $@.new/_hpctop
	$(Q)./$(HPCTOP) help fish > $@.new/hpctop.fish
	$(Q)rm -rf $@ && mv $@.new $@

install: all $(GENERATED)
	$(Q)set -e; for file in $(FILES_755) $(FILES_644); do mkdir -p "$(STAGE)/$$(dirname $$file)"; done
	$(Q)install -m 755 $(INSTALLED) "$(STAGE)/bin/hpctop"
	$(Q)install -m 755 $(LIBTRACE) "$(STAGE)/lib/hpctop/libtrace.so"
	$(Q)install -m 755 $(addprefix packaging/slurm/,prolog task-prolog epilog) "$(STAGE)/share/hpctop/slurm/"
	$(Q)install -m 644 packaging/slurm/enter "$(STAGE)/share/hpctop/slurm/"
	$(Q)install -m 644 include/hpctop.h "$(STAGE)/include/hpctop.h"
	$(Q)install -m 644 include/hpctop.f90 "$(STAGE)/share/hpctop/hpctop.f90"
	$(Q)install -m 644 include/hpctop.py include/hpctop_notebook.py "$(STAGE)/share/hpctop/python/"
	$(Q)for n in 1/hpctop.1 7/libtrace.7 5/hpctop-format.5; do \
	    install -m 644 $(GENERATED)/$${n#*/} "$(STAGE)/share/man/man$$n" || exit 1; done
	$(Q)install -m 644 $(GENERATED)/hpctop "$(STAGE)/share/bash-completion/completions/hpctop"
	$(Q)install -m 644 $(GENERATED)/_hpctop "$(STAGE)/share/zsh/site-functions/_hpctop"
	$(Q)install -m 644 $(GENERATED)/hpctop.fish "$(STAGE)/share/fish/vendor_completions.d/hpctop.fish"
	$(Q)sed 's|@PREFIX@|$(PREFIX)|; s|@VERSION@|$(VERSION)|' packaging/modulefile \
	    > "$(STAGE)/share/hpctop/modulefiles/hpctop" && chmod 644 "$(STAGE)/share/hpctop/modulefiles/hpctop"

uninstall:
	$(Q)cd "$(STAGE)" && rm -f $(FILES_755) $(FILES_644) lib/hpctop/libcjson.so.1 && rmdir $(OWN_DIRS) 2>/dev/null || true

# hpctop for any Linux on x86-64 since glibc 2.17: libraries inside, but cJSON, of which Debian has no static one.
OLD_GLIBC  = $(shell sed -n 's/^WRAP.[a-z \*]*, \([a-z_]*\),.*/\1/p' packaging/old_glibc.c) stat fstat lstat fstatat \
             __libc_start_main $(addprefix __isoc23_,strtol strtoul strtoll strtoull sscanf fscanf)
PORTABLE_LIBS = -Wl,-Bstatic -lncursesw -ltinfo -ldw -lelf -lzstd -lz -llzma -lbz2 -Wl,-Bdynamic -lcjson -lm \
             -Wl,--no-as-needed -l:libdl.so.2 -l:libpthread.so.0 -Wl,-rpath,'$$ORIGIN/../lib/hpctop'
$(PORTABLE): $(BUILD)/libtui.a $(BUILD)/libana.a $(BUILD)/tui/main.o packaging/old_glibc.c packaging/eu_search.c packaging/needs.sh $(LIBTRACE)
	@mkdir -p $(@D)
	$(Q)$(CC) -O2 -fno-builtin -c -o $(@D)/old_glibc.o packaging/old_glibc.c
	$(Q)$(CC) $(STD) -O2 -c -o $(@D)/eu_search.o packaging/eu_search.c
	$(Q)$(CC) -o $@.new $(BUILD)/tui/main.o $(@D)/old_glibc.o $(@D)/eu_search.o $(BUILD)/libtui.a $(BUILD)/libana.a \
	    $(OLD_GLIBC:%=-Wl,--wrap=%) $(PORTABLE_LIBS)
	$(Q)sh packaging/needs.sh 2.17 $@.new $(LIBTRACE)
	$(Q)mv $@.new $@
portable: all $(PORTABLE)

TARBALL = hpctop-$(VERSION)-linux-x86_64
tarball: portable $(GENERATED)
	$(Q)rm -rf $(PACKAGES)/$(TARBALL) $(PACKAGES)/$(TARBALL)-debug && mkdir -p $(PACKAGES)
	$(Q)$(MAKE) --no-print-directory install INSTALLED=$(PORTABLE) DESTDIR= PREFIX='$(abspath $(PACKAGES)/$(TARBALL))'
	$(Q)strip $(PACKAGES)/$(TARBALL)/bin/hpctop
	$(Q)sh packaging/split.sh $(PACKAGES)/$(TARBALL)/lib/hpctop/libtrace.so $(PACKAGES)/$(TARBALL)-debug
	$(Q)cp -L $$($(CC) -print-file-name=libcjson.so.1) $(PACKAGES)/$(TARBALL)/lib/hpctop/
	$(Q)cp README.md LICENSE $(PACKAGES)/$(TARBALL)/
	$(Q)sed "s|@PREFIX@|[file dirname [file dirname [file dirname [file dirname [file normalize \$$ModulesCurrentModulefile]]]]]|; s|@VERSION@|$(VERSION)|" \
	    packaging/modulefile > $(PACKAGES)/$(TARBALL)/share/hpctop/modulefiles/hpctop
	$(Q)for name in $(TARBALL) $(TARBALL)-debug; do \
	    tar -C $(PACKAGES) --owner=0 --group=0 -czf $(PACKAGES)/$$name.tar.gz $$name && echo $(PACKAGES)/$$name.tar.gz || exit 1; done

wheel: tarball
	$(Q)python3 packaging/wheel.py $(PACKAGES)/$(TARBALL) $(VERSION) $(PACKAGES)

deb:
	$(Q)sh packaging/deb.sh $(VERSION) $(PACKAGES)

.PHONY: install uninstall portable tarball wheel deb
