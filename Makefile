# A front for Meson, so that nobody needs to know it.
#
#   make            builds build/sonde
#   make dev        the same with warnings as errors, as tests/all builds it
#   make static     builds build-static/sonde: one file that needs no library
#   make demo       installs what is missing, builds, and traces this machine for five seconds (root)
#   make test       installs what is missing and runs all tests
#   make quick      runs the tests that need neither root nor QEMU
#   make kernel T=NAME [K=6.12]   runs the kernel tests of that name (or glob), with their output, on one kernel in QEMU:
#                   6.1, 6.12, sid, inject; host: on this machine (root)
#   make soak       runs Sonde for an hour in QEMU beside work that disturbs it
#   make fuzz       gives made-up inputs to every reader of untrusted bytes, a minute each
#   make bench      measures Sonde beside bpftrace (root); writes docs/benchmarks.md
#   make format     lays the source out as .clang-format says
#   make docs       writes docs/reference and the manual page anew, from the tables in the source
#   make install    copies the program and its manual page to PREFIX (/usr/local)
#   make clean      removes what was built

BUILD ?= build
PREFIX ?= /usr/local
DESTDIR ?=

.PHONY: all dev static demo test quick kernel fuzz soak bench format docs install clean

all: $(BUILD)/build.ninja
	@$(call new_files,$(BUILD))
	@ninja -C $(BUILD) --quiet

# Also of a build that exists; once.
dev: $(BUILD)/build.ninja
	@[ -e $(BUILD)/werror ] || { meson setup --reconfigure -Dwerror=true $(BUILD) >$(BUILD)/log 2>&1 && touch $(BUILD)/werror; } || \
		{ cat $(BUILD)/log >&2; exit 1; }
	@$(MAKE) --no-print-directory all

static: build-static/build.ninja
	@$(call new_files,build-static)
	@ninja -C build-static --quiet

# Meson's talk is of interest only when it fails.
build-static/build.ninja: MESON_ARGS = -Dstatic_link=true --buildtype=release
%/build.ninja:
	@command -v meson >/dev/null && command -v ninja >/dev/null || \
		{ echo "Meson and ninja are needed to build Sonde; on Debian, as root: tools/setup build" >&2; exit 1; }
	@meson setup $* $(MESON_ARGS) >$*.log 2>&1 || \
		{ cat $*.log >&2; rm -rf $* $*.log; echo "tools/setup build installs what is missing" >&2; exit 1; }
	@rm -f $*.log
	@echo $(SOURCES) >$*/sources

# Meson looks for source files when it sets a build up: a new or vanished one needs that again.
SOURCES := $(sort $(wildcard src/*/*.c tests/unit/test_*.c))
new_files = echo $(SOURCES) | cmp -s - $(1)/sources || \
	{ meson setup --reconfigure $(1) >$(1)/log 2>&1 || { cat $(1)/log >&2; exit 1; }; echo $(SOURCES) >$(1)/sources; }

demo:
	@tools/setup build
	@$(MAKE) --no-print-directory all
	@tools/demo $(BUILD)/sonde

test:
	@tests/all

quick: all
	@tests/quick --build-dir $(BUILD)

kernel:
	@tests/lab/run-one "$(T)" "$(K)"

soak: static
	@tests/soak/run

fuzz:
	@tests/fuzz/run

bench:
	@bench/run

format:
	@tools/format

# tests/docs-check has what to print, and where to.
docs: all
	@mkdir -p docs/reference
	@grep -v '^#' tests/docs-check | while read -r line; do \
		set -- $$line; \
		while [ $$# -gt 1 ]; do args="$$args $$1"; shift; done; \
		$(BUILD)/sonde $$args >"$$1" || exit 1; \
		args=; \
	done

install: all
	install -D -m 755 $(BUILD)/sonde $(DESTDIR)$(PREFIX)/bin/sonde
	install -d $(DESTDIR)$(PREFIX)/share/man/man8
	$(BUILD)/sonde --print-doc man >$(DESTDIR)$(PREFIX)/share/man/man8/sonde.8

clean:
	rm -rf build build-*
