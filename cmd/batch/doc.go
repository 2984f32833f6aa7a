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
//	resume      resume a run that was stopped or died
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
// With model.provider=openai, say, the name is that provider's own and needs no prefix.
//
// Limits on the cost need a price: the model's own in batch's list, or in the
// file that model.litellm_model_registry names (LiteLLM's form), or the provider
// tells what each call cost (OpenRouter). Without one, --cost-limit-total and an
// agent.cost_limit=VALUE are refused.
//
// # Configurations
//
//	-c FILE          a file in the current directory or MSWEA_CONFIG_DIR, .yaml may be
//	                 left out; also one of mini-swe-agent's, of which batch has no copy
//	-c default       batch's own prompts, always underneath: the model calls the tool bash
//	-c text          batch's own: the model writes its command in a fence
//	-c tools         batch's own: the model has an editor beside bash
//	-c KEY=VALUE     one value
//
// They are merged from left to right. A file that is named and is not there is
// an error; batch's own names have no ending and mean no file.
//
// # Images and commits
//
// Once run.env_startup_command has run, and before the model is asked anything, the
// repository around the working directory must be at the row's base_commit: HEAD is
// that commit, or one commit on top of it which changes no file, or only files that
// setting up an environment changes (setup.py, tox.ini, package.json and the like,
// see setUpFiles in internal/boxgit) and none that the gold patch changes. Those
// files are listed in agent.log, in the journal and in the trajectory's info, as
// image_commit. Anything else, also a commit that the image does not have, or an image
// without git or repository, is a fault of the instance unless
// --allow-commit-mismatch is given. Rows without base_commit are not checked, and
// what the image has not committed does not count; agent.log mentions it. Then the
// history beyond HEAD is removed, unless --keep-git-history is given.
//
// That goes on beside the model's first call; the first command waits for it. What it
// came to is remembered over runs, by image, directory, base_commit and script. Where
// it takes a second or more, and the image was used before or more instances of the run
// need it than the engine has CPUs, the image is scrubbed once, in a container of its
// own, and kept as one of its own, batch-scrubbed/..., of which the containers are made;
// results name the image itself all the same. It counts for --disk-budget, goes before
// the image that it was made of, and batch images shows and evicts it. Nothing is
// remembered or shared with run.env_startup_command, a --user or a GIT_DIR.
//
// # Output
//
// What comes from outside (ids, errors, a model's words) moves no cursor and
// sets no colour: control characters and those that turn the direction of text
// are shown as escapes such as \u001b. JSON says the same text with them.
//
// # Endings
//
// Every instance ends as submitted, submitted empty, limit, format, failed (its
// own doing: a result), infrastructure (ours, with the kind of fault) or pending
// (told to stop, or out of money). A conversation that has outgrown the model's
// context ends as limit (ContextWindowExceeded), one that the provider's content
// policy refuses as failed (ContentPolicyViolation); both predict nothing. What an
// agent does to its own container is its own doing too: when no command can be run in
// it any more, the attempt ends as failed (EnvironmentDestroyed) and predicts nothing. A
// container that somebody else ended, or that died with its engine, is replaced and
// the attempt resumed. With --disk (environment.disk), an agent whose files take more
// than that is stopped alone: writing fails, or all that runs in its container is
// killed and it is told to make room, and ends as EnvironmentDestroyed when it does
// not; batch doctor says which. --retry KIND=N says which are tried again within a run,
// with a growing wait where the fault was ours; batch retry does so later. An agent that
// ended without submitting leaves its work tree's diff as INSTANCE.salvaged.patch, which
// --salvage makes its prediction.
//
// # Exit codes
//
//	0    every instance asked for has a result
//	1    the run could not go on: the engine, the disk, the key, a setting that
//	     engine or provider refuse, or a bug
//	2    usage: flags, config or dataset; nothing was started
//	3    the run ended, but some instances have no result
//	4    the output directory is in use by another run
//	130  interrupted; finished work is on disk
//
// All but 2 and 4 leave a directory that the same command resumes. So does a kill -9:
// the containers live on, and a command that was under way in one goes on. The resumed
// run takes them over, waits for that command and gets its output; it does not run twice.
// Where its container is gone, it runs in a fresh one, behind the recorded commands.
//
// # Signals
//
// The first interrupt drains: no instance is admitted, the running ones end.
// The second, or a SIGTERM, cancels the running ones, saves what they did and
// removes their containers. The third leaves at once.
package main
