// Package harbor reads task folders in Harbor's format, schema 1.0 to 1.4. Terminal-Bench and many
// other datasets are made of such folders:
//
//	task.toml               settings
//	instruction.md          what the agent is asked
//	environment/Dockerfile  the image, unless task.toml names one
//	tests/test.sh           the verifier, with the files beside it
//	solution/solve.sh       a solution, for batch grade --check
//
// A dataset is a folder of task folders, one of them, or a registry.json in a checkout that has the
// tasks, whose dataset --split names:
//
//	batch grade --check --subset path/to/tasks
//	batch run --subset path/to/tasks -c tasks -m openai/gpt-5 -o runs/tasks
//
// The first command runs each task's solution, which must earn the reward, and nothing, which must
// not: broken tasks are found before a model costs money. The prompts of -c tasks ask for the state of a
// machine instead of a patch. An instance_id is the task's name,
// org__name for org/name.
//
// # What a run does
//
// The image is built once for each content of the folder environment, by the engine's own BuildKit:
// batch needs neither the docker command nor its plugins. Two images are built at a time, each within
// build_timeout_sec. A build that fails is an infrastructure failure. Images stay, as pulled ones do,
// and --disk-budget counts them. Pods cannot build: their tasks need a docker_image. Here-documents in
// a Dockerfile need Docker 23.0 or a line # syntax=docker/dockerfile:1.
//
// The container has the task's limits, variables, working directory and network, and runs the image's
// ENTRYPOINT. The flags --network, --memory, --cpus and --disk replace the task's word. Most tasks open
// the network to the agent; a run says so. The agent works at most timeout_sec.
//
// When the agent has ended, also at a limit, the task is verified in the same container: all processes
// are ended, /logs/verifier is emptied, tests is copied to /tests, and test.sh runs. Everything is
// ended again before its reward is read: reward.json, an object of numbers, or else reward.txt, a
// number. The reward is the number with the name reward, or the only one, and 1 is resolved. A verifier
// without a valid reward, or without an end, has the verdict no_reward: it counts as not resolved.
// Only failures of the engine, the image, the disk or the machine count in no rate.
//
// A verifier with an environment of its own (environment_mode separate) runs in another container, of
// its docker_image, of tests/Dockerfile, or of another copy of environment. First the hooks of
// verifier.collect run in the agent's container. Then /logs/artifacts and the paths of artifacts are
// copied from there to the same places, and nothing else, whatever the agent has done to its tar.
//
// A server that the agent has started is ended too, before the verifier runs: in Harbor it goes on. So a
// task whose tests talk to such a server cannot be resolved here; --check shows it.
//
// A killed run verifies again when it is resumed, in the same container while that lives. Later, there
// is nothing to grade again: batch grade keeps the verdicts.
//
// --timeout-multiplier multiplies all limits of time. A value ${NAME} in a task's variables is a
// variable of this machine: it must be allowed by --task-env NAME. ${NAME:-default} is the default where
// it is not.
//
// # Keys of task.toml
//
// Each key is done, or ignored because it changes no reward, or it is refused: then the task is not
// run, and nothing is paid. Unknown keys are ignored, as in Harbor, and named with the nearest one that
// exists. These are refused, if they are not empty:
//
//	steps, steps/, trajectory.json          several steps, and conversations
//	environment/docker-compose.yaml         several containers
//	network_mode allowlist, allowed_hosts   a network to some hosts only
//	another network for the verifier        than for the agent, in one container
//	environment.gpus, gpu_types, tpu, os windows
//	environment.healthcheck, mcp_servers, skills_dir
//
// Files that Git LFS has not downloaded, and a test.sh with the line ends of Windows, are refused too.
//
// Its API is not promised to other programs: see package batch.
package harbor
