package run

import (
	"fmt"
	"log/slog"
	"testing"

	"batch.example/batch/dataset"
	"batch.example/batch/results"
	"batch.example/batch/results/grades"
	"batch.example/batch/run/grading"
	"batch.example/batch/runner"
)

// newGrader returns a grader of a directory of rows with one test, and the configuration of its
// pool.
func newGrader(t *testing.T) (*grader, grading.Config) {
	t.Helper()
	dir := t.TempDir()
	log, err := grades.Open(dir, grades.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = log.Close() })
	g := &grader{jobs: runner.NewRoster[grading.Job](nil), log: slog.New(slog.DiscardHandler), done: make(chan struct{})}
	g.jobs.Hold()
	return g, grading.Config{Settings: grading.Settings{RunID: "run"}, Dir: dir, Grades: log}
}

// emptyPatch is a job that needs no container for its verdict.
func emptyPatch(id string) grading.Job {
	in := dataset.Instance{ID: id, Repo: "o/r", BaseCommit: "c0ffee12"}
	in.EvalScript, in.LogParser, in.EvalType, in.FailToPass = "./test\n", "parse_log_pytest", "pass_and_fail", []string{"test_a"}
	return grading.Settings{}.Job(in, results.Prediction{InstanceID: id, Model: "m"}.WithText())
}

func TestAnImageIsReleasedOnceWhenItsInstanceIsGraded(t *testing.T) {
	g, c := newGrader(t)
	graded, released := make(chan string, 3), map[string]int{}
	c.Graded = func(grade grades.Grade) { graded <- grade.InstanceID }
	for i := range 3 {
		id := fmt.Sprintf("a__%d", i)
		g.images.add(id, func() { released[id]++ })
		g.images.wait(id)
		g.jobs.Add(emptyPatch(id))
	}
	g.images.add("a__3", func() { released["a__3"]++ })
	g.images.release("a__3") // its attempt made no prediction
	go g.run(t.Context(), c)
	g.jobs.Release()
	<-g.done
	if g.err != nil || g.sum.Final != 3 || len(graded) != 3 {
		t.Errorf("%+v, %v, %d graded; want 3 verdicts", g.sum, g.err, len(graded))
	}
	for i := range 4 {
		if id := fmt.Sprintf("a__%d", i); released[id] != 1 {
			t.Errorf("the image of %s is released %d times, want once", id, released[id])
		}
	}
}

func TestADrainReleasesWhatDidNotBegin(t *testing.T) {
	g, c := newGrader(t)
	drain := make(chan struct{})
	close(drain)
	c.Pool.Drain = drain
	released := 0
	for i := range 5 {
		id := fmt.Sprintf("a__%d", i)
		g.images.add(id, func() { released++ })
		g.images.wait(id)
		g.jobs.Add(emptyPatch(id))
	}
	g.run(t.Context(), c)
	if g.err != nil || g.sum.Pending != 5 || released != 5 {
		t.Errorf("%+v, %v, %d released; want 5 pending and released", g.sum, g.err, released)
	}
}

// Agents that still work after a drain submit predictions that are no longer graded. Other
// instances would wait for the disk space of their images.
func TestAGraderThatHasEndedReleasesWhatComesLater(t *testing.T) {
	g, c := newGrader(t)
	drain := make(chan struct{})
	close(drain)
	c.Pool.Drain = drain
	g.run(t.Context(), c)
	released := 0
	g.images.add("a__1", func() { released++ })
	if released != 1 {
		t.Errorf("released %d times, want once", released)
	}
}

// Another attempt at an instance holds its image again.
func TestAnImageIsHeldOncePerInstance(t *testing.T) {
	var h held
	first, second := 0, 0
	h.add("a__1", func() { first++ })
	h.add("a__1", func() { second++ })
	if first != 1 || second != 0 {
		t.Errorf("released %d and %d times, want 1 and 0", first, second)
	}
	h.end()
	h.end()
	h.release("a__1")
	if first != 1 || second != 1 {
		t.Errorf("released %d and %d times in the end, want once each", first, second)
	}
}

// The image of an attempt that `--retry empty=1` makes stays when the first prediction is graded.
func TestAnImageOfALaterAttemptIsKept(t *testing.T) {
	var h held
	first, second := 0, 0
	h.add("a__1", func() { first++ })
	h.wait("a__1")
	h.add("a__1", func() { second++ })
	if first != 0 {
		t.Error("the image of a prediction that waits was released by the next attempt")
	}
	h.graded("a__1")
	if first != 1 || second != 0 {
		t.Errorf("released %d and %d times when the first was graded, want 1 and 0", first, second)
	}
	h.wait("a__1")
	h.graded("a__1")
	h.graded("a__1")
	h.end()
	if first != 1 || second != 1 {
		t.Errorf("released %d and %d times in the end, want once each", first, second)
	}
}
