// Package batch is the tour of the house. It has no code: the program is
// [batch.example/batch/cmd/batch], and every room below can be used as a library.
//
// A run turns a dataset into predictions. The way of one instance:
//
//		dataset ──rows──▶ runner ──attempt──▶ solver ──▶ agent ◀──replies── llm
//		                    ▲                   │  │       │
//		                  result                │  └──┬────┘
//		                    │                   ▼     ▼
//		        report ◀── results ◀── journal     sandbox ──▶ docker, imagecache
//
//	  - run is all of this as one call: a configuration, instances and a directory
//	    go in, a summary comes out. `batch run` is one.
//	  - dataset knows what to run: it reads rows (parquet, JSON, the Hugging Face
//	    hub, the embedded demo), selects among them and names their images.
//	  - runner knows who runs when: how many jobs at once, retries by blame, the
//	    budget, draining. It has seen neither Docker nor a model, nor what a job is.
//	  - solver makes one attempt at one instance: it is where a row, a sandbox, an
//	    agent and the journal meet. It sees the sandbox as an interface only.
//	  - sandbox opens one instance's environment and ends it: its image, the
//	    container that a dead run left or a new one, the shell. It reaps what is
//	    left of others.
//	  - docker is one container's life: the image, which all that need it pull
//	    once; start, commands, files, and the end, which always comes. Process 1
//	    of each is internal/boxinit.
//	  - imagecache decides which images are there: what is pulled ahead of the
//	    workers, what makes room, what must stay. It asks docker to do it.
//	  - agent is the loop: ask the model, parse its actions, run them, observe,
//	    until an interrupt ends it. agent/config reads its settings and prompts.
//	  - llm is one call to a model, with a folder for each provider, and the
//	    scripted models that need none. llm/catalogue is the table of them all.
//	  - journal is the only truth about an instance: what happened, in order,
//	    whatever ended the program.
//	  - results is the run directory: what is derived from journals (trajectories,
//	    predictions that are valid at every instant) and the lock. Its doc comment
//	    specifies the format.
//	  - report turns results into tables, and does nothing else.
//	  - doctor looks whether a machine can do all that.
//	  - vocab has the words that all rooms share: how an instance ends, what a
//	    command printed, what an image is, what a call used.
//	  - fault names who is to blame when something fails. Everything that is
//	    retried, resumed, counted or reported follows from its kinds.
//
// cmd/batch is the program around it: flags, signals, exit codes and what a person
// sees. It alone reads arguments and the environment. Imports point one way, and
// internal/archtest fails the build where they do not.
//
// Three promises hold the rest together. What was paid for is on disk before
// the next call is made. What fails by our fault is never counted as the
// model's. Whatever ends a run, running the same command again goes on from there.
package batch
