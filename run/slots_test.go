package run

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"batch.example/batch/dataset"
)

func order(words string) (list []slot) {
	for word := range strings.FieldsSeq(words) { // a run and an instance: 0a
		list = append(list, slot{int(word[0] - '0'), dataset.Instance{ID: word[1:]}})
	}
	return list
}

// follow takes all instances of the runs, each from a goroutine of its own, and returns the
// order. A run that is in leaves ends before it takes the instance.
func follow(t *testing.T, words string, leaves map[int]string) []string {
	t.Helper()
	shared := newSlots(order(words))
	var mu sync.Mutex
	var taken []string
	var working sync.WaitGroup
	for run := range 3 {
		working.Go(func() {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			source := &slotsOf{slots: shared, run: run}
			for {
				mu.Lock()
				last := slices.Contains(taken, leaves[run])
				mu.Unlock()
				if last {
					return
				}
				in, ok, err := source.Next(ctx)
				if !ok || err != nil {
					return
				}
				mu.Lock()
				taken = append(taken, string(rune('0'+run))+in.ID)
				mu.Unlock()
				time.Sleep(time.Millisecond) // until there is a worker
				source.Entered()
				time.Sleep(time.Duration(run+1) * time.Second) // the next job of this run begins later
			}
		})
	}
	working.Wait()
	return taken
}

func TestRunsTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const words = "0a 1a 2a 1b 2b 0c 1c 2c 2d"
		if got := strings.Join(follow(t, words, nil), " "); got != words {
			t.Errorf("the order is %s, want %s", got, words)
		}
	})
}

// A run that ends early must not stop the others.
func TestTheTurnsOfAnEndedRunArePassedOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got := strings.Join(follow(t, "0a 1a 2a 0b 1b 2b 0c 1c 2c", map[int]string{1: "1a"}), " ")
		if want := "0a 1a 2a 0b 2b 0c 2c"; got != want {
			t.Errorf("the order is %s, want %s", got, want)
		}
	})
}

func TestWhatIsLeftOfARunIsCounted(t *testing.T) {
	shared := newSlots(order("0a 1a 0b 1b"))
	first, second := &slotsOf{slots: shared, run: 0}, &slotsOf{slots: shared, run: 1}
	if _, ok, _ := first.Next(t.Context()); !ok {
		t.Fatal("the first run has no turn")
	}
	shared.leave(0)
	if _, ok, _ := first.Next(t.Context()); ok {
		t.Error("a run that has left takes an instance")
	}
	for range 2 {
		second.Entered()
		if _, ok, _ := second.Next(t.Context()); !ok {
			t.Error("the second run waits for one that has left")
		}
	}
	if first.Left() != 1 || second.Left() != 0 {
		t.Errorf("%d and %d are left, want 1 and 0", first.Left(), second.Left())
	}
}

// A run of a sweep stays open for an instance that will be added.
func TestAHeldRunStaysOpen(t *testing.T) {
	shared := newSlots(order("0a"))
	shared.linger = true
	first, second := &slotsOf{slots: shared, run: 0}, &slotsOf{slots: shared, run: 1}
	if _, ok, _ := first.Next(t.Context()); !ok || !second.Hold() {
		t.Fatal("the second run is not open")
	}
	first.Entered()
	first.Ended()
	if _, ok, wait := shared.take(1); ok || wait == nil || !second.Add(dataset.Instance{ID: "b"}) {
		t.Error("a run that is held has ended")
	}
	second.Ended()
	if in, ok, _ := second.Next(t.Context()); !ok || in.ID != "b" {
		t.Errorf("next is %v, %v", in.ID, ok)
	}
	second.Entered()
	second.Ended()
	if _, ok, wait := shared.take(1); ok || wait != nil || second.Hold() {
		t.Error("the second run is open after all have ended")
	}
}
