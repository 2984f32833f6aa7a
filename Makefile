# `make NAME` runs scripts/NAME; each script says more about itself.

.PHONY: build test test-all check demo bench completions image

build: # build the program as bin/batch
	@scripts/build --say

test: # what must hold on every commit, in ten minutes; installs and starts Docker where it may
	@scripts/test

test-all: # all tests, whole, with the race detector, and all checks: at most an hour
	@scripts/test all

check: # formatting, spelling, vet, staticcheck, module files
	@scripts/check

demo: # run the embedded demo from nothing to a table
	@scripts/demo

bench: # measure the numbers that batch is held to
	@scripts/bench

completions: # write the completion scripts to bin/completions
	@scripts/completions

image: # build the Docker image batch:latest
	@scripts/image
