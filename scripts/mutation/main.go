// Mutation makes small faults in packages, one at a time, and reports which of
// them no test notices.
//
// A mutant is the package with one change: a condition negated, < made
// <=, && made ||, a statement left out, an error returned as nil, + made -, a
// constant one larger, true made false. It is compiled with go test -overlay,
// so the tree is never changed. It must fail its package's own tests or, if it passes
// them, the tests of the packages in holders.go. The choice of mutants depends only on
// -seed and -n. Mutants that do not compile are not counted. Mutants whose change no
// test can notice are left out by equivalent.txt, each with its reason.
//
// No mutant can reach the machine's Docker engine, since it might remove containers:
// DOCKER_HOST points nowhere. With -engine, the address of an engine that
// nothing else uses, mutants that pass without an engine must also pass the
// package's tests that skip without one. scripts/engine starts such an engine:
//
//	scripts/engine sh -c 'scripts/mutate -engine $DOCKER_HOST ./docker/containers'
//
// The exit code is 0 if every package reaches -min, 1 if one does not, and
// 2 if nothing could be measured or the figures are unreliable.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"text/tabwriter"
	"time"
)

// packages are measured if no package is named.
var packages = []string{"./journal", "./results", "./session", "./solver", "./internal/boxgit", "./agent", "./agent/config", "./runner", "./docker", "./docker/images", "./docker/containers", "./docker/internal/daemon"}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// settings are the caller's flags.
type settings struct {
	seed       uint64
	count      int
	least      float64
	parallel   int
	timeout    time.Duration
	engine     string
	engineSkip string
	excluded   string
	files      string
	verbose    bool
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var s settings
	fs := flag.NewFlagSet("mutate", flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.Uint64Var(&s.seed, "seed", 1, "which mutants are chosen")
	fs.IntVar(&s.count, "n", 40, "how many mutants that compile, per package; 0 is all")
	fs.Float64Var(&s.least, "min", 90, "percentage killed that each package has to reach")
	fs.IntVar(&s.parallel, "parallel", 2, "how many mutants at a time")
	fs.DurationVar(&s.timeout, "timeout", 0, "for one mutant's tests, and never less than twice what the unchanged package took; 0 is five times that, 30s at least")
	fs.StringVar(&s.engine, "engine", "", "address (DOCKER_HOST) of a Docker engine for the mutants alone")
	fs.StringVar(&s.engineSkip, "engine-skip", "", "with -engine, leave out tests whose names match this regular expression")
	fs.StringVar(&s.excluded, "equivalent", "scripts/mutation/equivalent.txt", "mutants that change nothing")
	fs.StringVar(&s.files, "files", "", "only files whose names match this regular expression")
	fs.BoolVar(&s.verbose, "v", false, "print each mutant as it ends")
	if err := fs.Parse(args); err != nil {
		return 2
	}
	names := fs.Args()
	if len(names) == 0 {
		names = packages
	}
	results, err := measureAll(ctx, s, names, stderr)
	if err != nil {
		fmt.Fprintln(stderr, "mutate:", err)
		return 2
	}
	return report(stdout, s, results)
}

// measureAll measures the packages, one after the other.
func measureAll(ctx context.Context, s settings, names []string, progress io.Writer) ([]result, error) {
	excluded, err := readExclusions(s.excluded)
	if err != nil {
		return nil, err
	}
	var all []result
	for _, name := range names {
		r, err := measure(ctx, s, name, excluded, progress)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		all = append(all, r)
	}
	return all, nil
}

// report writes the survivors and the table, and returns the exit code.
func report(w io.Writer, s settings, all []result) int {
	code := 0
	for _, r := range all {
		for _, m := range r.survived {
			fmt.Fprintf(w, "survived %s\n", m)
		}
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(table, "package\tmutants\tkilled\tsurvived\tnot compiled\tkilled %%\t\n")
	for _, r := range all {
		fmt.Fprintf(table, "%s\t%d\t%d\t%d\t%d\t%.1f\t\n",
			r.name, r.counted(), r.killed, len(r.survived), r.broken, r.percent())
		if r.percent() < s.least {
			code = 1
		}
	}
	table.Flush()
	for _, r := range all {
		if r.onEngine != nil {
			fmt.Fprintf(w, "%s: what passed without an engine had to pass with one too, in %d of the %d tests that need it (-engine-skip %q)\n",
				r.name, len(r.onEngine), r.needEngine, s.engineSkip)
		}
		if r.spoilt != nil {
			fmt.Fprintf(w, "%s: the figures are not to be believed, mutants spoilt the engine: %v\n", r.name, r.spoilt)
			code = 2
		}
	}
	fmt.Fprintf(w, "seed %d, n %d, at least %g %% in each\n", s.seed, s.count, s.least)
	return code
}
