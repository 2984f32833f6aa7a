// Package manifest writes and reads manifest.json of a run directory: the request and the
// facts about the runs. It finds the differences between two manifests, and which of them
// affect results.
//
// The file is written when a run starts and when it ends; a later run into the directory
// replaces the request and the settings, and adds to dataset, images, runs and mixed.
// Secrets are hidden in it. Empty members are absent.
//
//	format_version  2. Another one is refused
//	batch_version   version of batch, with the revision it was built from
//	go_version      of the Go that built it
//	created         when the directory was begun
//	command         of batch that made the directory: run, grade, select, chat,
//	                attach or serve
//	argv            of the last such command, without batch itself; for
//	                people: batch reads the request
//	dir             the folder that it was started in
//	request         the settings and the selection of that command: see below
//	git             {commit, branch, dirty} of that folder, if it is in a git
//	                working tree. commit is "(initial)" before the first
//	                commit, branch is "(detached)" without a branch; dirty:
//	                tracked files were changed
//	model           as requested
//	model_ids       the provider's names of the models that answered, sorted
//	agent_versions  what programs that were the agent said their version is, sorted
//	price           by which calls are counted: see below. Absent if the
//	                provider reports costs, or calls are free
//	seed            of --shuffle
//	salvage         true: the working tree's diff is the prediction of an agent
//	                that did not submit
//	timeout_multiplier
//	                of the time limits of task folders; absent: 1
//	config          the settings with every default filled in, as
//	                `batch config keys` describes them
//	prompts         where they come from: batch's built-in default, or a file
//	dataset         the dataset and the selection from it: see below
//	host            {hostname, os, arch, cpus}: the machine
//	images          by instance id: ref, the image as requested; id; digest
//	                in its registry, absent if built on this machine
//	runs            [{started, ended, argv, cost_limit_total,
//	                cost_limit_shard, engines, mask_patterns}]: the commands that
//	                worked here, in order, with the limit in US dollars, this
//	                shard's part of it, the engines that were named and the
//	                patterns of --mask. A crashed one has no end
//	mixed           [{name, now, was, matters}]: the differences that affect
//	                results and were accepted (--accept-changes) while results
//	                of the earlier settings stayed. name is a dotted path, such
//	                as agent.step_limit; now and was are JSON in a text, at the
//	                last time; matters is true
//
// # request
//
// The resolved flags of batch run. batch resume runs it again, from any folder. Absent
// members are flags that were not given. Paths are absolute. Relative paths in the
// configuration's values, such as a script's, start in dir.
//
//	dir                the folder that the command was started in
//	subset, split, revision
//	                   the dataset: a short name, an id on the hub, or a path
//	filter, slice, instances_file, shard, shuffle, seed
//	                   the selection from it, as the flags of these names
//	named              ids given as arguments
//	configs            the values of -c, from left to right
//	model, model_class, environment_class, network, memory, disk, cpus,
//	keep_git_history, allow_commit_mismatch
//	                   as the flags of these names
//	engines            the values of --engine
//	salvage, grade     true if --salvage and --grade were given
//	workers            --workers; 0 is auto
//	grade_workers      --grade-workers; absent is auto
//	engine_wait_seconds
//	                   --engine-wait
//	cost_limit_total   US dollars; absent: no limit
//	retry              [KIND=N]: over the default retries
//	durability         power or process
//	mask_patterns      of --mask
//	record, replay, replay_changed
//	                   as the flags of these names; replay is a directory
//	task_env           of --task-env
//	timeout_multiplier --timeout-multiplier; absent: 1
//	image_prefix       --image-prefix
//	disk_budget_bytes  --disk-budget; absent: no limit
//	disk_reserve_bytes --disk-reserve
//	prefetch, pulls    numbers of images
//	order              grouped or given
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
//	                    absent: unknown
//	cache_write_free, cache_write_1h_free
//	                    true: the price is absent because it is zero
//	output              of output, with the reasoning
//	tiers               [{above, ...}]: the prices of every token in a call with
//	                    more than above tokens of input
//	services            other prices by name, such as flex and priority
package manifest
