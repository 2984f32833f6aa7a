package faults

import (
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"batch.example/batch/e2e"
	"batch.example/batch/internal/sample"
)

// crashes is the number of crashes at random instants: BATCH_CRASHES, or 3 in `make test` and 20 elsewhere.
func crashes(t *testing.T) int {
	t.Helper()
	text := os.Getenv("BATCH_CRASHES")
	if text == "" {
		return map[bool]int{true: 20, false: 3}[sample.All()]
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("BATCH_CRASHES: %v", err)
	}
	return n
}

// somePoints are where the ordinary test is killed, once in each process of one run:
// before and after a record, with a container created and not yet recorded, a reply
// paid and not yet recorded, a file written and not yet renamed.
var somePoints = [][]string{
	{"journal.append:4=kill", "engine.start:2=kill", "journal.sync:9=kill"},
	{"model.answer:3=kill", "file.rename:2=kill", "journal.append:30=kill"},
	{"engine.create:2=kill", "model.call:7=kill", "engine.remove:1=kill", "dir.sync:7=kill"},
}

func TestARunKilledAtSomePointsLosesNothing(t *testing.T) {
	e2e.NeedDocker(t)
	t.Parallel()
	want := undisturbed(t)
	for _, specs := range somePoints {
		t.Run(specs[0], func(t *testing.T) {
			t.Parallel()
			r := newCrashRun(t, 2)
			for _, spec := range specs {
				if !r.live("--inject", spec) {
					t.Errorf("%s: the process was not killed", spec)
				}
			}
			r.finish(want)
			var sum tally
			sum.add(r)
			t.Log(sum)
			sum.check(t, len(specs))
		})
	}
}

// points is how often a run passes a point at least: some of its processes are killed at one
// of these.
const points = 60

// TestARunKilledAtAnyPointLosesNothing kills a run at its n-th pass through any point and resumes it:
// in `make test` for two n that the seed chooses, elsewhere for every sixth from one that it chooses. A run
// passes about 180 points, and results.TestKilledAtEveryPoint tries all of its own.
func TestARunKilledAtAnyPointLosesNothing(t *testing.T) {
	e2e.NeedDocker(t)
	t.Parallel()
	want := undisturbed(t)
	var sum tally
	killed := func(n int) (died bool) {
		r := newCrashRun(t, 2)
		died = r.live("--inject", fmt.Sprintf("*:%d=kill", n))
		r.finish(want)
		sum.add(r)
		return died
	}
	if !sample.All() {
		for _, n := range sample.Of(t, 2, points) {
			if !killed(n + 1) {
				t.Errorf("the process was not killed at point %d", n+1)
			}
		}
		t.Log(sum)
		return
	}
	const step = 6
	n := 1 + sample.Rand(t).IntN(step)
	for killed(n) && !t.Failed() {
		n += step
	}
	if n < points {
		t.Errorf("only %d points were reached, want at least %d", n, points)
	}
	t.Log(sum)
	sum.check(t, 1)
}

// TestARunKilledAtRandomInstantsLosesNothing kills a run of four workers
// repeatedly until it is complete, and then the next one.
func TestARunKilledAtRandomInstantsLosesNothing(t *testing.T) {
	e2e.NeedDocker(t)
	t.Parallel()
	deaths := crashes(t)
	want := undisturbed(t)
	rng := sample.Rand(t)
	var sum tally
	for sum.deaths < deaths && !t.Failed() {
		t.Run(strconv.Itoa(sum.deaths), func(t *testing.T) {
			r := newCrashRun(t, 4)
			for r.liveFor(time.Duration(rng.Int64N(int64(calm.took)))) {
				if sum.deaths+r.deaths >= deaths {
					break
				}
			}
			r.finish(want)
			sum.add(r)
		})
	}
	t.Log(sum)
	if deaths >= 20 { // fewer may all happen before the first call
		sum.check(t, deaths)
	}
}
