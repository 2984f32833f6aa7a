package runner_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"batch.example/batch/journal"
	"batch.example/batch/results"
	"batch.example/batch/results/manifest"
	"batch.example/batch/runner"
)

// TestTheCostLimitHoldsOverCrashes plays runs of several workers that die at
// random instants, against real journals, until the money is spent. At every instant the
// sum in the journals exceeds the limit at most by the amounts by which the calls running
// at the last admission cost more than the most expensive call before them.
func TestTheCostLimitHoldsOverCrashes(t *testing.T) {
	for seed := range uint64(8) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			p := newPlay(t, seed)
			defer p.close()
			for range 400 {
				p.step()
				p.check()
				if p.spentOut() {
					break
				}
			}
			p.goOn()
		})
	}
}

// play is a run in which each worker has one instance.
type play struct {
	t       *testing.T
	rand    *rand.Rand
	limit   float64
	dir     string
	store   *results.Store
	budget  *runner.Budget
	workers []*player
	crashes int

	bound  float64 // upper bound of the journals' sum
	billed float64 // charged by the provider
	lost   float64 // part of billed that crashes hid beyond the reservations
}

type player struct {
	attempt *results.Attempt
	steps   int
	call    *runner.Reservation // under way
	cost    float64             // of the call
	done    bool
}

func newPlay(t *testing.T, seed uint64) *play {
	p := &play{t: t, rand: rand.New(rand.NewPCG(seed, 0)), dir: t.TempDir()}
	p.limit = 1 + 4*p.rand.Float64()
	p.bound = p.limit
	for range 2 + p.rand.IntN(4) {
		p.workers = append(p.workers, &player{})
	}
	p.open()
	return p
}

// open begins a run in the directory as it is.
func (p *play) open() {
	p.t.Helper()
	store, err := results.Open(p.dir, results.Options{})
	if err != nil {
		p.t.Fatal(err)
	}
	p.store = store
	estimate := 0.0
	for _, r := range store.Records() {
		estimate = max(estimate, r.Cost/float64(max(1, r.Steps)))
	}
	p.budget = runner.NewBudget(p.limit, store.Spent(), estimate)
	for i, w := range p.workers {
		a, _, err := store.Resume(fmt.Sprintf("x__%d", i), manifest.Settings{})
		if err != nil {
			p.t.Fatal(err)
		}
		*w = player{attempt: a, steps: w.steps}
	}
}

func (p *play) close() {
	if err := p.store.Close(); err != nil {
		p.t.Error(err)
	}
}

func (p *play) step() {
	w := p.workers[p.rand.IntN(len(p.workers))]
	switch n := p.rand.IntN(40); {
	case n == 0:
		p.crash()
	case w.call == nil:
		p.begin(w)
	case n == 1: // the provider refuses without charging
		p.billed -= w.cost
		p.journal(w, journal.TypeUnpaid, journal.UnpaidData{Step: w.steps})
		w.call.Release()
		w.call = nil
	default:
		p.journal(w, journal.TypeReply, journal.ReplyData{Step: w.steps, Cost: w.cost, Priced: true})
		w.call.Settle(w.cost)
		w.call = nil
	}
}

// begin makes a call if it may begin without waiting.
func (p *play) begin(w *player) {
	ctx, cancel := context.WithCancel(p.t.Context())
	cancel()
	call, err := p.budget.Reserve(ctx)
	if err != nil {
		w.done = errors.Is(err, runner.ErrBudget)
		return
	}
	w.call, w.cost = call, p.rand.Float64()*0.3
	w.steps++
	p.billed += w.cost
	p.journal(w, journal.TypeRequest, journal.RequestData{Step: w.steps, Reserved: call.Reserved()})
	p.bound = p.limit
	for _, w := range p.workers {
		if w.call != nil {
			p.bound += max(0, w.cost-call.Reserved())
		}
	}
}

func (p *play) journal(w *player, typ string, data any) {
	p.t.Helper()
	j := w.attempt.Journal()
	if err := errors.Join(j.Append(typ, data), j.Sync()); err != nil {
		p.t.Fatal(err)
	}
}

// crash continues in a copy of the journals, which alone must suffice. The derived
// files, which the store writes in the background, might vanish during the copy.
func (p *play) crash() {
	p.t.Helper()
	p.crashes++
	for _, w := range p.workers {
		if w.call != nil {
			p.lost += max(0, w.cost-w.call.Reserved())
		}
	}
	copied := filepath.Join(p.t.TempDir(), "copy")
	journals, err := filepath.Glob(filepath.Join(p.dir, "*", "journal.jsonl"))
	if err != nil || len(journals) != len(p.workers) {
		p.t.Fatalf("%d journals of %d workers: %v", len(journals), len(p.workers), err)
	}
	for _, from := range journals {
		to := filepath.Join(copied, filepath.Base(filepath.Dir(from)), filepath.Base(from))
		text, err := os.ReadFile(from)
		if err == nil {
			err = errors.Join(os.MkdirAll(filepath.Dir(to), 0o755), os.WriteFile(to, text, 0o600))
		}
		if err != nil {
			p.t.Fatal(err)
		}
	}
	p.close()
	p.dir = copied
	p.open()
}

func (p *play) check() {
	p.t.Helper()
	const rounding = 1e-6
	sum := p.store.Spent()
	if sum > p.bound+rounding {
		p.t.Fatalf("the journals add up to %v after %d crashes, limit %v, at most %v", sum, p.crashes, p.limit, p.bound)
	}
	if p.billed-p.lost > p.bound+rounding {
		p.t.Fatalf("%v was billed after %d crashes, %v of it lost by crashes; limit %v, at most %v", p.billed, p.crashes, p.lost, p.limit, p.bound)
	}
}

// spentOut reports whether all workers have met the limit.
func (p *play) spentOut() bool {
	for _, w := range p.workers {
		if !w.done || w.call != nil {
			return false
		}
	}
	return true
}

// goOn checks the end, and opens the directory again with a higher limit.
func (p *play) goOn() {
	p.t.Helper()
	if !p.spentOut() {
		p.t.Fatalf("after 400 steps and %d crashes %v of %v is spent", p.crashes, p.store.Spent(), p.limit)
	}
	if p.budget.Open() {
		p.t.Error("the limit refused every worker but is reported as open")
	}
	if left := p.limit - p.store.Spent(); left > 0.3 {
		p.t.Errorf("%v of %v is left, more than any call costs", left, p.limit)
	}
	p.limit = p.store.Spent() + 1
	p.crash()
	if p.begin(p.workers[0]); p.workers[0].call == nil {
		p.t.Error("the run does not continue with a higher limit")
	}
}

func TestAReservationWaitsForCallsUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := runner.NewBudget(1, 0.2, 0.3)
		first, _ := b.Reserve(t.Context())
		second, _ := b.Reserve(t.Context())
		if first == nil || second == nil {
			t.Fatal("0.20 spent and two calls of 0.30 do not fit into 1")
		}
		start := time.Now()
		time.AfterFunc(time.Minute, func() { first.Settle(0.1) })
		third, err := b.Reserve(t.Context())
		if err != nil || time.Since(start) != time.Minute {
			t.Errorf("%v after %v, want a place once a call was cheaper, after 1m", err, time.Since(start))
		}
		time.AfterFunc(time.Minute, func() { second.Settle(0.5) })
		time.AfterFunc(2*time.Minute, func() { third.Release(); third.Settle(9) })
		if fourth, err := b.Reserve(t.Context()); !errors.Is(err, runner.ErrBudget) {
			t.Errorf("%v %v; 0.80 is spent and a call may cost 0.50", fourth, err)
		}
		if b.Spent() < 0.8-1e-9 || b.Spent() > 0.8+1e-9 {
			t.Errorf("spent %v, want 0.80: the third was released", b.Spent())
		}
	})
}

func TestACallWaitsOnlyForReservedMoney(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := runner.NewBudget(1, 0.5, 0.3)
		first, err := b.Reserve(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		time.AfterFunc(time.Minute, first.Release)
		second, err := b.Reserve(t.Context())
		if err != nil || time.Since(start) != time.Minute {
			t.Fatalf("got %v after %v, want a reservation after the 1m that the other call held the money", err, time.Since(start))
		}
		second.Lose(1) // the rest is less than a call costs, however this one ends
		if third, err := b.Reserve(t.Context()); !errors.Is(err, runner.ErrBudget) || time.Since(start) != time.Minute {
			t.Errorf("got %v, %v after %v; want a refusal, since no ending call leaves enough", third, err, time.Since(start))
		}
		second.Release()
	})
}

func TestASpentLimitRefusesCalls(t *testing.T) {
	for _, limit := range []float64{0.01, 0.5, 1, 2} {
		if b := runner.NewBudget(limit, limit, 0); b.Open() {
			t.Errorf("all of $%v is spent, but the limit is open", limit)
		}
		if b := runner.NewBudget(limit, limit/2, 0); !b.Open() {
			t.Errorf("half of $%v is spent, but the limit is closed", limit)
		}
	}
	if b := runner.NewBudget(1, 0.5, 0.5); !b.Open() {
		t.Error("one more call fits, but the limit is closed")
	}
	if b := runner.NewBudget(0, 100, 1); !b.Open() {
		t.Error("a budget without a limit is closed")
	}
}

func TestTheFirstCallsUnderALimitAreMadeOneAtATime(t *testing.T) {
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	b := runner.NewBudget(1, 0, 0)
	first, err := b.Reserve(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Reserve(stopped); !errors.Is(err, context.Canceled) {
		t.Errorf("a second call while no price is known: %v", err)
	}
	first.Settle(0)
	for range 10 { // calls are free
		if _, err := b.Reserve(stopped); err != nil {
			t.Error(err)
		}
	}
}

func TestUnansweredCallsCountAsSpent(t *testing.T) {
	b := runner.NewBudget(1, 0, 0)
	b.Guess(0.3) // no call has shown its price
	for n := 0; ; n++ {
		call, err := b.Reserve(t.Context())
		if errors.Is(err, runner.ErrBudget) {
			if n != 3 || b.Spent() > 1 {
				t.Errorf("%d calls were made and %v is spent, want 3 of a guessed $0.30 under a limit of $1", n, b.Spent())
			}
			break
		}
		if err != nil || call.Reserved() != 0.3 || call.Lose(1) != 0.3 {
			t.Fatalf("reserved %v, %v; want 0.3 reserved and 0.3 lost, no error", call.Reserved(), err)
		}
		call.Release()
	}
	b = runner.NewBudget(1, 0, 0)
	b.Guess(0.3)
	call, err := b.Reserve(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	call.Settle(0.1) // a known price replaces the guess
	if call, err = b.Reserve(t.Context()); err != nil || call.Reserved() != 0.1 {
		t.Errorf("reserved %v, %v; want reserved 0.1, no error", call.Reserved(), err)
	}
	call.Lose(2)
	call.Settle(0.2)
	if spent := b.Spent(); math.Abs(spent-0.5) > 1e-9 {
		t.Errorf("spent %v, want 0.1, twice 0.1 and 0.2", spent)
	}
	unlimited := runner.NewBudget(0, 0, 0)
	unlimited.Guess(0.3)
	if call, err := unlimited.Reserve(t.Context()); err != nil || math.Abs(call.Lose(3)-0.9) > 1e-9 || call.Limited() {
		t.Errorf("without a limit: %v, want 3 times the guess lost, limited false, no error", err)
	}
}

// A guess above the limit refuses the second call, not the first.
func TestAGuessRefusesNoFirstCall(t *testing.T) {
	b := runner.NewBudget(0.2, 0, 0)
	b.Guess(0.3)
	call, err := b.Reserve(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	call.Lose(1)
	call.Release()
	if _, err := b.Reserve(t.Context()); !errors.Is(err, runner.ErrBudget) {
		t.Errorf("got %v after a call that counts as more than the limit", err)
	}
}

func TestAReservationIsReleasedOnce(t *testing.T) {
	b := runner.NewBudget(10, 0, 1)
	near := func(what string, want float64) {
		t.Helper()
		if got := b.Spent(); math.Abs(got-want) > 1e-9 {
			t.Errorf("%s: spent %v, want %v", what, got, want)
		}
	}
	call, err := b.Reserve(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	call.Settle(0.5)
	call.Settle(0.5)
	call.Release()
	near("settled twice", 0.5)
	if call, err = b.Reserve(t.Context()); err != nil {
		t.Fatal(err)
	}
	call.Release()
	call.Settle(2)
	near("released, then settled", 0.5)
	for _, calls := range []int{0, -1} {
		if lost := call.Lose(calls); lost != 0 {
			t.Errorf("got %d lost calls cost %v; want lost 0", calls, lost)
		}
	}
	var none *runner.Reservation
	none.Settle(1)
	none.Release()
	if none.Lose(1) != 0 || none.Reserved() != 0 || none.Limited() {
		t.Error("Reserve returned nil")
	}
	b = runner.NewBudget(0, 0, 0)
	for _, want := range []float64{0, 0.5} { // the second call knows the cost of a call
		if call, err = b.Reserve(t.Context()); err != nil {
			t.Fatal(err)
		}
		if lost := call.Lose(1); lost != want || call.Reserved() != want {
			t.Errorf("without a limit, an unanswered call counts as %v, reserved %v; want %v", lost, call.Reserved(), want)
		}
		call.Settle(0.5)
	}
	near("without a limit", 1.5)
}

func TestAReservationOfExactlyTheRestIsGranted(t *testing.T) {
	b := runner.NewBudget(1, 0.5, 0.25)
	for range 2 {
		call, err := b.Reserve(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		call.Settle(0.25)
	}
	if _, err := b.Reserve(t.Context()); !errors.Is(err, runner.ErrBudget) || b.Open() {
		t.Errorf("got error %v with all of the limit spent", err)
	}
}

// ledger is a limit shared with others.
type ledger struct {
	mu              sync.Mutex
	spent, reserved float64 // by the others
	highest         float64 // of a call
	own             string
	err             error
}

func (l *ledger) Update(decide func(spent, reserved, highest float64) (float64, float64, float64)) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return l.err
	}
	spent, reserved, highest := decide(l.spent, l.reserved, l.highest)
	l.highest = max(l.highest, highest)
	l.own = fmt.Sprint(spent, " ", reserved)
	return nil
}

func TestOthersSpendOfASharedLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, others := runner.NewBudget(2, 0.5, 0.5), &ledger{spent: 0.5, reserved: 0.5}
		b.Share(others)
		call, err := b.Reserve(t.Context())
		if err != nil || others.own != "0.5 0.5" {
			t.Fatalf("%v, entered %s; want 0.5 spent and 0.5 reserved", err, others.own)
		}
		time.AfterFunc(time.Second, func() {
			others.mu.Lock()
			defer others.mu.Unlock()
			others.reserved = 0
		})
		began := time.Now()
		second, err := b.Reserve(t.Context())
		if err != nil || time.Since(began) < time.Second {
			t.Errorf("%v after %v, want a reservation when the others have released their money", err, time.Since(began))
		}
		call.Settle(0.5)
		second.Lose(1)
		second.Release()
		if others.own != "1.5 0" {
			t.Errorf("entered %s, want 1.5 spent", others.own)
		}
		if _, err := b.Reserve(t.Context()); !errors.Is(err, runner.ErrBudget) || b.Open() {
			t.Errorf("got %v, want that nothing is left", err)
		}
	})
}

// A process without calls knows the cost of other processes' calls: if two begin at once, they do
// not both take the last money for a guess.
func TestTheCostOfOthersCallsIsKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, others := runner.NewBudget(2, 0, 0), &ledger{spent: 1.9, highest: 0.25}
		b.Guess(0.03)
		b.Share(others)
		if _, err := b.Reserve(t.Context()); !errors.Is(err, runner.ErrBudget) {
			t.Errorf("got %v, want that nothing is left", err)
		}
		others = &ledger{}
		first := runner.NewBudget(2, 0, 0)
		first.Guess(0.03)
		first.Share(others)
		call, err := first.Reserve(t.Context())
		if err != nil || others.highest != 0 {
			t.Fatalf("%v, entered %v; a guess is not the cost of a call", err, others.highest)
		}
		call.Settle(0.5)
		if others.highest != 0.5 || others.own != "0.5 0" {
			t.Errorf("entered %s, highest %v; want 0.5", others.own, others.highest)
		}
	})
}

func TestASharedLimitThatCannotBeReadRefusesCalls(t *testing.T) {
	b, others := runner.NewBudget(2, 0, 0.5), &ledger{}
	b.Share(others)
	call, err := b.Reserve(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	others.err = errors.New("the disk is gone")
	call.Settle(0.75)
	if _, err := b.Reserve(t.Context()); !errors.Is(err, others.err) || b.Spent() != 0.75 {
		t.Errorf("got %v and %v spent, want the error, 0.75", err, b.Spent())
	}
	if others.err = nil; others.own != "0 0.5" {
		t.Errorf("entered %s", others.own)
	}
	if _, err = b.Reserve(t.Context()); err != nil || others.own != "0.75 0.75" {
		t.Errorf("%v, entered %s; want what was spent meanwhile", err, others.own)
	}
}
