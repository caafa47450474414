# The usual errands; the work is in CMakePresets.json and tools/.
#   make demo     from nothing to a first result      make bench    speed, as a table and as JSON
#   make check    what is quick, before a review      make fuzz     each target for FUZZ_SECONDS
#   make test     everything that must hold           make lint     format, static checks, layers
#   make test-all more seeds, and what takes long     make install  into PREFIX (DESTDIR is honoured)
#   make wheel    import kino, as a wheel and an sdist
PREFIX ?= /usr/local
JOBS ?= $(shell nproc)
FUZZ_SECONDS ?= 600

.PHONY: all release demo check test test-all bench lint fuzz install wheel clean format

all: release

release:
	@tools/install-deps build
	@tools/build release --jobs $(JOBS) --progress

demo:
	@echo 'make demo: the packages that the build needs, the build (some minutes the first time), then a run and its report'
	@$(MAKE) --no-print-directory release
	@tools/run-demo build/release/kino

check:
	@tools/install-deps build
	@tools/run-tests --tier check --jobs $(JOBS)

test test-all:
	@tools/install-deps test
	@tools/install-torch
	@tools/install-hta
	@tools/install-python
	@tools/run-tests --tier $(patsubst test-%,%,$@) --jobs $(JOBS)

bench:
	@tools/install-deps bench
	@tools/build bench --jobs $(JOBS)
	@tools/run-bench build/bench

lint:
	@tools/install-deps lint
	@tools/run-lint --jobs $(JOBS)

fuzz:
	@tools/install-deps fuzz
	@tools/run-fuzz --seconds $(FUZZ_SECONDS) --jobs $(JOBS)

install:
	@tools/install-deps install
	@tools/build release --jobs $(JOBS) -DKINO_MAN=ON
	@cmake --install build/release --prefix '$(PREFIX)'

wheel:
	@tools/install-deps python
	@tools/make-wheel

format:
	@tools/run-format

clean:
	@rm -rf build
