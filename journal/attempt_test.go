package journal_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"batch.example/batch/journal"
)

// facts are what both readers of an attempt know of it.
type facts struct {
	Attempt, Resumed  int
	Began             time.Time
	Ended, Unmasked   bool
	Steps             []stepFacts
	Turns             []journal.TurnEnd
	Patch             string
	Salvaged          bool
	Differences, Sent int // Sent: messages in the records of all steps, and before
}

type stepFacts struct {
	Asked                  time.Time
	Seconds, Waited, Limit float64
	Cost                   float64
	Input, Output          int64
	Actions                int
	Running                bool
	OutputBytes            int64
}

func factsOfHistory(h *journal.History) facts {
	f := facts{
		Attempt: h.Attempt, Resumed: h.Resumed, Began: h.Started, Ended: h.End != nil, Unmasked: h.Unmasked,
		Differences: h.Differences,
	}
	for _, s := range h.Steps {
		r := s.Reply
		if r == nil {
			continue
		}
		to := stepFacts{
			Asked: s.Asked, Seconds: r.Seconds, Waited: r.Waited, Limit: r.RateLimited(), Cost: r.Cost,
			Input: r.Usage.Input, Output: r.Usage.Output, Actions: len(s.Actions),
		}
		for _, a := range s.Actions {
			to.Running = a.Output == nil
			if a.Output != nil {
				to.OutputBytes += a.Output.Total
			}
		}
		f.Steps = append(f.Steps, to)
	}
	for i, t := range h.Turns {
		if i == 0 && t.Words == "" { // a batch run's turn is its attempt
			continue
		}
		end := journal.TurnEnd("")
		if t.End != nil {
			end = t.End.End
		}
		f.Turns = append(f.Turns, end)
	}
	switch {
	case h.Submission != nil && len(h.Submission.Submission) > 0:
		f.Patch = string(h.Submission.Submission)
	case h.Salvage != nil && len(h.Salvage.Patch) > 0:
		f.Patch, f.Salvaged = string(h.Salvage.Patch), true
	}
	f.Sent = len(h.Messages) + len(h.Later)
	return f
}

func factsOfAttempt(t *testing.T, a *journal.Attempt) facts {
	t.Helper()
	f := facts{Attempt: a.Number, Resumed: a.Resumed, Began: a.Began, Ended: a.Ended(), Unmasked: a.Unmasked}
	for _, m := range a.Steps {
		f.Steps = append(f.Steps, stepFacts{
			Asked: m.Asked, Seconds: m.Seconds, Waited: m.Waited, Limit: m.Limited, Cost: m.Cost,
			Input: m.Input, Output: m.Output, Actions: m.Actions, Running: m.Flags.Has(journal.FlagRunning), OutputBytes: m.OutputBytes,
		})
	}
	for _, turn := range a.Turns {
		f.Turns = append(f.Turns, turn.End)
	}
	err := a.Differences(1, len(a.Steps), func(int, *journal.Record, journal.Place) error { f.Differences++; return nil })
	if err != nil {
		t.Fatal(err)
	}
	patch, salvaged, err := a.Patch()
	if err != nil {
		t.Fatal(err)
	}
	f.Patch, f.Salvaged = string(patch), salvaged
	return f
}

// sent counts the messages in the records of the attempt that a resume would not take back.
func sent(t *testing.T, a *journal.Attempt) int {
	t.Helper()
	var reply *journal.ReplyData
	sure, later := 0, 0
	err := a.Walk(1, len(a.Steps), func(r *journal.Record, _ journal.Place) error {
		switch r.Type {
		case journal.TypeRequest:
			sure, later = sure+later, 0
		case journal.TypeResume:
			later = 0
		case journal.TypeReply:
			d, err := journal.Decode[journal.ReplyData](*r)
			if err != nil {
				return err
			}
			d.Message, reply = bytes.Clone(d.Message), &d
		case journal.TypeMessages:
			list, err := r.Messages(reply, nil)
			later += len(list)
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return sure + later
}

// The index of an attempt says what reading all of it says, wherever a crash cut its journal, and also if
// it has read what was there before.
func TestAnAttemptIsTheSameByItsIndex(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join("..", "results", "export", "testdata", "*", "*", "journal.jsonl"))
	if err != nil || len(paths) < 3 {
		t.Fatalf("recorded journals: %q, %v", paths, err)
	}
	for _, from := range paths {
		t.Run(filepath.Base(filepath.Dir(filepath.Dir(from))), func(t *testing.T) {
			t.Parallel()
			whole, err := os.ReadFile(from)
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(t.TempDir(), "journal.jsonl")
			var index *journal.Index
			for _, end := range cuts(whole) {
				if err := os.WriteFile(path, whole[:end], 0o600); err != nil {
					t.Fatal(err)
				}
				h, err := journal.ReadShown(path, 0)
				if err != nil {
					t.Fatalf("%d bytes: %v", end, err)
				}
				want := factsOfHistory(h)
				fresh, err := journal.NewIndex(path)
				if err != nil {
					t.Fatal(err)
				}
				if index == nil {
					index = fresh
				} else if _, err := index.Update(); err != nil {
					t.Fatal(err)
				}
				for name, x := range map[string]*journal.Index{"new": fresh, "updated": index} {
					a, err := x.Attempt(0)
					if err != nil {
						t.Fatalf("%d bytes: %v", end, err)
					}
					got := factsOfAttempt(t, a)
					got.Sent = sent(t, a)
					if diff := cmp.Diff(want, got); diff != "" || len(x.Problems()) > 0 {
						t.Fatalf("%d bytes, %s index: problems %v (-history +attempt):\n%s", end, name, x.Problems(), diff)
					}
				}
			}
		})
	}
}

// cuts are where a crash may cut a journal after its first record: behind each record, and within it.
func cuts(text []byte) (list []int) {
	for from := bytes.IndexByte(text, '\n') + 1; from < len(text); {
		n := bytes.IndexByte(text[from:], '\n') + 1
		list = append(list, from+1, from+n/2, from+n-1, from+n)
		from += n
	}
	return slices.Compact(list)
}
