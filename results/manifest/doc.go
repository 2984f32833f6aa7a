// Package manifest writes and reads manifest.json of a run directory: what was asked for and
// what ran. It finds where two of them differ, and which differences affect results.
//
// The file is written when a run starts and when it ends; a later run into the directory
// replaces what it was asked for, and adds to dataset, images, runs and mixed. Secrets are
// hidden in it. Members that would say nothing are absent.
//
//	format_version  1. Another version of batch refuses a greater one than its
//	                own
//	batch_version   version of batch, with the revision it was built from
//	go_version      of the Go that built it
//	created         when the directory was begun
//	argv            of the last command that wrote here, without batch itself
//	dir             the folder that it was started in
//	git             {commit, branch, dirty} of that folder, where it is in a
//	                git working tree. commit is "(initial)" before the first
//	                one, branch "(detached)" where there is none; dirty:
//	                tracked files were changed
//	model           as it was asked for
//	model_ids       as the provider named what answered, sorted
//	price           by which calls are counted: see below. Absent where the
//	                provider reports what calls cost, or they are free
//	seed            of --shuffle
//	salvage         true: the working tree's diff is the prediction of an agent
//	                that did not submit
//	config          the settings with every default filled in, as
//	                `batch config keys` describes them
//	prompts         whose they are: batch's built-in default, or a file's
//	dataset         what was selected from what: see below
//	host            {hostname, os, arch, cpus}: the machine
//	images          by instance id: ref, the image as it was asked for; id;
//	                digest in its registry, absent if it is of this machine
//	runs            [{started, ended, argv}]: the commands that worked here, in
//	                order. One that crashed has no end
//	mixed           [{name, now, was, matters}]: the differences that affect
//	                results and were accepted (--accept-changes) while results
//	                of the earlier settings stayed. name is a dotted path, such
//	                as agent.step_limit; now and was are JSON in a text, at the
//	                last time; matters is true
//
// # dataset
//
//	name       as --subset had it
//	split      as --split had it
//	revision   of a dataset on the hub
//	digest     SHA-256 of the files that were read, before the selection
//	selection  the flags that select, such as --filter and --shuffle
//	count      number of instances that were selected
//	instances  their ids, in order
//
// # price
//
// All are US dollars per token:
//
//	input               of input that is neither read from a cache nor written
//	                    to one
//	cached_input        of input that was read from the provider's cache
//	cache_write         of input that was written to it; absent: as input
//	cache_write_1h      of input that was written to be kept for an hour;
//	                    absent: not known
//	cache_write_free, cache_write_1h_free
//	                    true: that price is absent since it costs nothing
//	output              of output, with the reasoning
//	tiers               [{above, ...}]: what every token costs in a call with
//	                    more than so many tokens of input
//	services            other prices by name, such as flex and priority
package manifest
