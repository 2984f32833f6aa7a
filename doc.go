// Package batch is an overview of the packages. It has no code: the program is
// [batch.example/batch/cmd/batch].
//
// A run turns a dataset into predictions. One instance's path through the packages:
//
//		dataset ──rows──▶ runner ──job──▶ attempt ──▶ agent ◀──replies── llm
//		                    ▲               │  │        │
//		                  result            │  └──┬─────┘
//		                    │               ▼     ▼
//		        report ◀── results ◀── journal   sandbox ──▶ docker, kube
//
//	  - run does all of this in one call: it takes a configuration, instances and
//	    a directory and returns a summary. `batch run` is one such call. The run's
//	    request is a value in its manifest, and continuing the run needs nothing else.
//	    A sweep is several runs that take turns, on one engine and one budget, and a plain
//	    run is a sweep of one cell: run/group.go starts both and orders their instances.
//	    run/sweep defines the cells, and results/sweeps is the index of the folder.
//	  - dataset reads rows (parquet, JSON, the Hugging Face hub, the embedded
//	    demo), selects among them and names their images.
//	  - runner schedules: how many jobs at once, retries by blame, the budget,
//	    draining. It does not know Docker, models or what a job does.
//	  - attempt makes one attempt at one instance. It connects a row, a sandbox, an
//	    agent and the journal, and sees the sandbox only as an interface.
//	    attempt/session is a conversation of several turns, which a person leads in
//	    attempt/chat, and another program over the A2A protocol in attempt/serve.
//	  - sandbox opens and closes one instance's environment: its image, a new
//	    container or the one that a crashed run left, the shell. It removes the leftovers
//	    of crashed runs.
//	  - sandbox/engine is the interface to an engine of containers, with a suite that
//	    each engine passes (enginetest) and an engine of plain processes for tests
//	    (memory). The table of engines is run/engines. sandbox/images decides which images
//	    an engine pulls ahead of the workers, and which it removes to free disk space.
//	  - docker manages images and containers: it pulls each image once for all jobs that
//	    need it, creates and starts containers, runs commands, copies files and always
//	    removes the container. Process 1 of each container is internal/boxinit.
//	  - kube is another engine: pods of a Kubernetes cluster, with the same process 1.
//	  - agent is the loop: ask the model, parse its actions, run them, observe,
//	    until an interrupt ends it. Before each call step.go checks the limits.
//	    agent/config reads its settings and prompts. agent/program.go is a run that a program
//	    of the user's leads: attempt/program.go starts it in the sandbox, and gateway serves the
//	    calls that it makes from there.
//	  - llm is one call to a model, with a folder for each provider and one for
//	    scripted models. llm/catalogue is the table of providers, llm/limit keeps calls
//	    within a key's rate and waits after a provider's 429 or 529, llm/retry.go repeats other
//	    failed calls, and internal/retry draws the waits of all further tries.
//	  - journal records what happened to an instance, in order. It is the only
//	    source of truth and survives every kind of crash.
//	  - results is the run directory: what is derived from journals (trajectories,
//	    predictions that are valid at every instant, results.parquet) and the lock. Its
//	    doc comment specifies the format. internal/mask hides secrets in what people read.
//	  - results/export writes attempts as training data and as a table of steps.
//	  - report turns results into tables. report/compare says which of several runs is
//	    better and how certain that is, and report/attempts evaluates several attempts.
//	    report/stats has the statistics of both. results/scores reads their input, also
//	    from other tools' files.
//	  - view shows runs and their trajectories as pages, whose texts are in view/pages;
//	    view/report is the one that compares runs. internal/progress shows work under way, in a
//	    terminal and as JSON.
//	  - audit looks in attempts for signs that a result is not the agent's own work on the
//	    task. It changes no score.
//	  - grade turns the log of a test run into a verdict, by the rules of SWE-bench.
//	    grade/logparse reads logs, grade/family knows the particulars of each family of
//	    datasets, grade/evalscript derives scripts, grade/evaluate runs a script in a
//	    container that it sees as an interface, grade/regrade grades saved logs.
//	    internal/swebench reads and writes the files of the SWE-bench harness: predictions,
//	    logs and reports.
//	  - run/merging makes one run directory of the shards of a run.
//	  - run/grading is the pool that grades predictions in sandboxes, and
//	    results/grades the record of their verdicts.
//	  - run/selecting chooses one of several attempts at an instance, and results/selections
//	    is the record. grade/program runs the user's programs that choose or read logs.
//	  - run/control is the socket over which other programs watch and change running work,
//	    by verbs (command.go) that run/steering carries out and cmd/batch/ctl.go reads.
//	  - run/doctor checks whether a machine can run all this.
//	  - vocab has the types that all packages share: how an instance ends, what a
//	    command printed, what an image is, what a call used, the limits of an attempt, and
//	    the events of a run's work.
//	  - fault says who is to blame when something fails. Its kinds decide what is
//	    retried, resumed, counted and reported.
//
// cmd/batch is the program: flags, signals, exit codes and output. Only it reads
// arguments and the environment. Imports point one way; internal/archtest checks this.
//
// # Library
//
// Other programs may rely on these packages, and on the types that these packages' exported declarations
// name. A change that such a program would notice is in CHANGELOG.md.
//
//	run               a run as a value: its request, its work, how it goes on later
//	dataset           rows, their selection and their images
//	results           the run directory
//	results/manifest  what was asked and what ran
//	results/grades    the verdicts
//	results/scores    the results of several runs, for a comparison
//	report/compare    which of several runs is better, and how certain that is
//	sandbox/engine    the interface to an engine of containers
//	attempt           one attempt at one instance: its models and its listeners
//	agent             the agent's loop and its events
//	agent/config      the configuration
//	llm               a model and its messages
//	vocab             how an instance ends, what a command printed, what a call used
//	fault             who is to blame for a failure
//
// The other packages may change at any time; each says so.
//
// # Promises
//
// Three promises hold everywhere. Each paid result is on disk before the next call is
// made. An infrastructure failure is never counted as the model's. Whatever ends a run,
// running the same command again continues it.
package batch
