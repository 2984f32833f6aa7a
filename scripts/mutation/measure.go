package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"time"
)

// result has the verdicts on one package's mutants.
type result struct {
	name     string
	killed   int
	survived []mutant
	broken   int // did not compile

	needEngine int      // tests that skip without an engine
	onEngine   []string // the tests among them that ran with an engine
	spoilt     error    // why the verdicts of these are not to be believed
}

func (r result) counted() int { return r.killed + len(r.survived) }

func (r result) percent() float64 {
	return 100 * float64(r.killed) / float64(max(1, r.counted()))
}

// measure tries the chosen mutants of a package.
func measure(ctx context.Context, s settings, name string, excluded []exclusion, progress io.Writer) (result, error) {
	r := result{name: name}
	all, err := mutantsOfPackage(name, s.files)
	if err != nil {
		return r, err
	}
	all = slices.DeleteFunc(all, func(m mutant) bool {
		return slices.ContainsFunc(excluded, func(e exclusion) bool { return e.fits(m) })
	})
	if len(all) == 0 {
		return r, errors.New("there is nothing to change")
	}
	shuffle(all, s.seed, name)
	b, err := newBench(ctx, s, name)
	if err != nil {
		return r, err
	}
	defer b.close()
	err = r.tryAll(ctx, s, b, all, progress)
	r.needEngine, r.onEngine, r.spoilt = b.needEngine, b.onEngine(), b.end(ctx)
	slices.SortFunc(r.survived, func(a, b mutant) int {
		return cmp.Or(cmp.Compare(a.file, b.file), a.line-b.line, a.start-b.start)
	})
	return r, err
}

type ended struct {
	mutant
	verdict verdict
	by      string
	took    time.Duration
	err     error
}

// tryAll tries mutants until enough have compiled. The ones that count are the
// first so many of the list that compile, however many run at once: no other is
// begun while those under way may still be enough.
func (r *result) tryAll(ctx context.Context, s settings, b *bench, all []mutant, progress io.Writer) error {
	results := make(chan ended)
	running, next := 0, 0
	var failed error
	for {
		for running < s.parallel && next < len(all) && failed == nil && ctx.Err() == nil &&
			(s.count == 0 || r.counted()+running < s.count) {
			m := all[next]
			next++
			running++
			go func() {
				began := time.Now()
				v, by, err := b.try(ctx, m)
				results <- ended{m, v, by, time.Since(began), err}
			}()
		}
		if running == 0 {
			return cmp.Or(failed, ctx.Err())
		}
		e := <-results
		running--
		e.file = b.relative(e.file)
		failed = cmp.Or(failed, e.err)
		if e.err != nil || ctx.Err() != nil {
			continue
		}
		switch e.verdict {
		case killed:
			r.killed++
		case survived:
			r.survived = append(r.survived, e.mutant)
		case broken:
			r.broken++
		}
		if s.verbose {
			fmt.Fprintf(progress, "%3d %-12s %5.1fs %s  [%s]\n", r.counted(), e.verdict, e.took.Seconds(), e.mutant, e.by)
		}
	}
}

func shuffle(list []mutant, seed uint64, name string) {
	h := fnv.New64a()
	io.WriteString(h, name)
	rng := rand.New(rand.NewPCG(seed, h.Sum64()))
	rng.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
}

// mutantsOfPackage returns the mutants of the files that are compiled here.
func mutantsOfPackage(name, only string) ([]mutant, error) {
	wanted, err := regexp.Compile(only)
	if err != nil {
		return nil, err
	}
	out, err := exec.Command("go", "list", "-json=Dir,GoFiles", name).Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	var p struct {
		Dir     string
		GoFiles []string
	}
	if err := json.Unmarshal(out, &p); err != nil {
		return nil, err
	}
	var all []mutant
	for _, file := range p.GoFiles {
		path := filepath.Join(p.Dir, file)
		if !wanted.MatchString(file) {
			continue
		}
		src, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		found, err := mutantsOf(path, src)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}
