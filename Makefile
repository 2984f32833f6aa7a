# The work is done by scripts/; this is the list of its doors.

.PHONY: build test check demo bench

build: # the program, as bin/batch
	@scripts/build

test: # all tests, Docker ones included; installs and starts Docker where it may
	@scripts/test

check: # form, vet, staticcheck, module files, tests under the race detector
	@scripts/check

demo: # the embedded demo, from nothing to a table
	@scripts/demo

bench: # the numbers we hold ourselves to
	@scripts/bench
