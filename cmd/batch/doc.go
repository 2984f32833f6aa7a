// Batch runs an LLM coding agent over SWE-bench-style datasets.
//
//	batch run --subset verified --split test -m openai/gpt-5 -w 8 -o runs/gpt-5
//
// It starts one Docker container per instance, lets the agent work in it under
// step and cost limits, and writes trajectories, patches and preds.json, which
// the SWE-bench harness and sb-cli take as they are. Running the same command
// again goes on where it stopped.
//
// # Commands
//
//	run         turn a dataset into predictions
//	resume      go on with a run that was stopped or died
//	status      show how the instances of a run directory ended
//	retry       run chosen instances of a run directory again
//	diff        compare two run directories
//	dataset     list instances, or show one
//	images      show which images a selection needs; pull them, evict them
//	clean       remove the containers that dead runs left
//	doctor      check that this machine can run it, and say what to do
//	version     print the version
//	completion  print a completion script for a shell
//
// # Models
//
//	openai/NAME      any server that speaks OpenAI's chat completions; OPENAI_API_KEY
//	                 and OPENAI_BASE_URL say which (vLLM, SGLang, Ollama, OpenRouter, LiteLLM)
//	oracle           submits each row's gold patch: checks that the images work
//	noop             submits an empty patch: checks that nothing passes by itself
//	scripted/demo    the recorded replies of the embedded demo
//	scripted/PATH    replies from a YAML or JSON file, a trajectory, or a folder of them
//
// # Endings
//
// Every instance ends as submitted, submitted empty, limit, format (its own
// doing: a result), infrastructure (ours, with the kind of fault) or pending
// (told to stop, or out of money). --retry KIND=N says which are tried again
// within a run, with a growing wait where the fault was ours; batch retry does
// so later. An agent that ended without submitting leaves its work tree's diff
// as INSTANCE.salvaged.patch, which --salvage makes its prediction.
//
// # Exit codes
//
//	0    every instance asked for has a result
//	1    the run could not go on: the engine, the disk, the key, or a bug
//	2    usage: flags, config or dataset; nothing was started
//	3    the run ended, but some instances have no result
//	4    the output directory is in use by another run
//	130  interrupted; finished work is on disk
//
// All but 2 and 4 leave a directory that the same command resumes.
//
// # Signals
//
// The first interrupt drains: no instance is admitted, the running ones end.
// The second, or a SIGTERM, cancels the running ones, saves what they did and
// removes their containers. The third leaves at once.
package main
