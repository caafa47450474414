# Common tasks; the work is in CMakePresets.json and tools/.
#   make demo     build, sample run, report           make bench    benchmarks, as a table and as JSON
#   make check    quick tests, two minutes            make fuzz     each target for FUZZ_SECONDS
#   make test     all tests that must pass            make lint     format, static checks, layers
#   make test-all more seeds, and slow tests          make install  into PREFIX (honors DESTDIR)
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
	@echo 'make demo: installs the packages needed, builds (a few minutes the first time), then writes a sample run and reports on it'
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
	@$(if $(filter test-all,$@),tools/install-notebook,:)
	@$(if $(filter test-all,$@),tools/install-integrations,:)
	@$(if $(filter test-all,$@),tools/install-jax,:)
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
	@tools/check-web --fix || [ $$? -eq 77 ]

clean:
	@rm -rf build
