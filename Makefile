# `make NAME` runs scripts/NAME; each script says more about itself.

.PHONY: build test check demo bench man image

build: # build the program as bin/batch
	@scripts/build --say

test: # run all tests, also those that need Docker; installs and starts Docker where it may
	@scripts/test

check: # formatting, spelling, vet, staticcheck, module files, release builds, tests under the race detector
	@scripts/check

demo: # run the embedded demo from nothing to a table
	@scripts/demo

bench: # measure the numbers that batch is held to
	@scripts/bench

man: # write the man pages and completion scripts to bin/share
	@scripts/man

image: # build the Docker image batch:latest
	@scripts/image
