package runner

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func order(words string) (list []Turn[string]) {
	for word := range strings.FieldsSeq(words) { // a pool and a job: 0a
		list = append(list, Turn[string]{int(word[0] - '0'), word[1:]})
	}
	return list
}

// follow takes all jobs of three pools, each from a goroutine of its own, and returns the order. A pool
// that is in leaves ends after that job.
func follow(t *testing.T, words string, leaves map[int]string) []string {
	t.Helper()
	rosters := TakeTurns(3, order(words))
	var mu sync.Mutex
	var taken []string
	var working sync.WaitGroup
	for pool, roster := range rosters {
		working.Go(func() {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			defer roster.Close()
			for {
				mu.Lock()
				last := slices.Contains(taken, leaves[pool])
				mu.Unlock()
				if last {
					return
				}
				job, ok := roster.next(ctx)
				if !ok {
					return
				}
				mu.Lock()
				taken = append(taken, string(rune('0'+pool))+job)
				mu.Unlock()
				time.Sleep(time.Millisecond) // until there is a worker
				roster.begun()
				time.Sleep(time.Duration(pool+1) * time.Second) // the next job of this pool begins later
				roster.ended()
			}
		})
	}
	working.Wait()
	return taken
}

func TestPoolsTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const words = "0a 1a 2a 1b 2b 0c 1c 2c 2d"
		if got := strings.Join(follow(t, words, nil), " "); got != words {
			t.Errorf("the order is %s, want %s", got, words)
		}
	})
}

// A pool that ends early must not stop the others.
func TestTheTurnsOfAnEndedPoolAreSkipped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got := strings.Join(follow(t, "0a 1a 2a 0b 1b 2b 0c 1c 2c", map[int]string{1: "1a"}), " ")
		if want := "0a 1a 2a 0b 2b 0c 2c"; got != want {
			t.Errorf("the order is %s, want %s", got, want)
		}
	})
}

func TestWhatIsLeftOfAPoolIsCounted(t *testing.T) {
	rosters := TakeTurns(2, order("0a 1a 0b 1b"))
	first, second := rosters[0], rosters[1]
	if _, ok := first.next(t.Context()); !ok {
		t.Fatal("the first pool has no turn")
	}
	first.Close()
	first.begun()
	if _, ok := first.next(t.Context()); ok {
		t.Error("a pool that has ended takes a job")
	}
	for range 2 {
		if _, ok := second.next(t.Context()); !ok {
			t.Error("the second pool waits for one that has ended")
		}
		second.begun()
	}
	if first.Left() != 1 || second.Left() != 0 {
		t.Errorf("%d and %d are left, want 1 and 0", first.Left(), second.Left())
	}
}

// A pool stays open for a job that will be added.
func TestAHeldRosterStaysOpen(t *testing.T) {
	rosters := TakeTurns(2, order("0a"))
	first, second := rosters[0], rosters[1]
	if _, ok := first.next(t.Context()); !ok || !second.Hold() {
		t.Fatal("the second pool is not open")
	}
	first.begun()
	first.ended()
	if _, ok, wait := second.take(); ok || wait == nil || !second.Add("b") {
		t.Error("a pool that is held has ended")
	}
	second.Release()
	if job, ok := second.next(t.Context()); !ok || job != "b" {
		t.Errorf("next is %v, %v", job, ok)
	}
	second.begun()
	second.ended()
	if _, ok, wait := second.take(); ok || wait != nil || second.Hold() {
		t.Error("the second pool is open after all jobs have ended")
	}
}
