package runner

import (
	"context"
	"errors"
	"sync"
	"time"
)

// ErrBudget means that the whole run's cost limit is reached. It is not a failure: the
// instance stays pending, and a later run can continue it.
var ErrBudget = errors.New("the cost limit of the whole run is reached")

// Budget counts what a run spends against its limit. It is safe for
// concurrent use.
//
// Each try of a call is a call of its own. Each call is expected to cost as much as the most
// expensive call before it. It begins only if the limit allows that cost for it and for each running
// call. So the sum exceeds the limit only by the amounts by which calls cost more than the most
// expensive call before them, or calls without an answer more than was expected of them. Until the
// cost of a first call is known, one call is made at a time.
type Budget struct {
	shared Shared // nil: no other process shares the limit

	mu       sync.Mutex
	limit    float64
	spent    float64
	highest  float64       // cost of a call so far
	known    bool          // highest is the cost of a call, not a guess
	underWay int           // calls reserved and not ended
	changed  chan struct{} // closed when a call ends

	others struct{ spent, reserved float64 } // by other processes, as far as known
}

// Shared is a limit that several processes share. results/sweeps.Share implements it.
type Shared interface {
	// Update calls decide with the US dollars that the others have spent and reserved, and with
	// the cost of the most expensive call of any process (0: not known). It publishes the figures
	// that decide returns for this process. No other process decides meanwhile.
	Update(decide func(spent, reserved, highest float64) (ownSpent, ownReserved, ownHighest float64)) error
}

// Share shares the limit with other processes. It must be called before the first Reserve.
func (b *Budget) Share(s Shared) { b.shared = s }

// poll is how often a waiting reservation checks whether other processes have freed money.
const poll = 200 * time.Millisecond

// NewBudget returns a budget of limit US dollars; 0 means no limit. Spent has the dollars
// of earlier runs into the same directory, and estimate the cost of their most expensive
// call, 0 if unknown.
func NewBudget(limit, spent, estimate float64) *Budget {
	return &Budget{limit: limit, spent: spent, highest: estimate, known: estimate > 0, changed: make(chan struct{})}
}

// Guess sets the assumed cost of a call, also of an unanswered one that may have been
// charged, until the cost of a first call is known. It must be called before the first
// Reserve.
func (b *Budget) Guess(dollars float64) {
	if !b.known {
		b.highest = dollars
	}
}

// Reserve reserves money for one call, which the caller must Settle or
// Release. If the running calls leave too little, it waits for them to end. If there is
// too little even for a single call, it returns ErrBudget at once.
func (b *Budget) Reserve(ctx context.Context) (*Reservation, error) {
	for {
		r, wait, err := b.take()
		if r != nil || err != nil {
			return r, err
		}
		var others <-chan time.Time
		if b.shared != nil {
			others = time.After(poll)
		}
		select {
		case <-wait:
		case <-others:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// take reserves, refuses, or returns a channel to wait for.
func (b *Budget) take() (r *Reservation, wait <-chan struct{}, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	failed := b.update(func() {
		switch {
		case b.limit <= 0, b.fits(b.underWay+1, b.others.reserved) && (b.known || b.underWay == 0):
			b.underWay++
			r = &Reservation{budget: b, dollars: b.highest}
		case !b.fits(1, 0):
			err = ErrBudget
		default:
			wait = b.changed
		}
	})
	if failed != nil && r != nil {
		b.underWay--
	}
	if failed != nil {
		return nil, nil, failed
	}
	return r, wait, err
}

// update makes a change, and passes it on to the processes that share the limit. b.mu is
// held.
func (b *Budget) update(change func()) error {
	if b.shared == nil {
		change()
		return nil
	}
	return b.shared.Update(func(spent, reserved, highest float64) (float64, float64, float64) {
		b.others.spent, b.others.reserved = spent, reserved
		if highest > 0 {
			b.learn(highest)
		}
		change()
		highest = 0
		if b.known {
			highest = b.highest
		}
		return b.spent, float64(b.underWay) * b.highest, highest
	})
}

// rounding is the largest error of a sum of costs.
const rounding = 1e-9

// fits reports whether n calls fit beside what others have reserved. A guess does not refuse
// the first call of all. b.mu is held.
func (b *Budget) fits(n int, reserved float64) bool {
	spent := b.spent + b.others.spent + reserved
	if !b.known && spent == 0 {
		return true
	}
	return spent < b.limit-rounding && spent+float64(n)*b.highest <= b.limit+rounding
}

// SetLimit changes the limit of this process, in US dollars; 0 means no limit. Calls that wait for
// money begin if they fit now.
func (b *Budget) SetLimit(limit float64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.limit = limit
	b.broadcast()
}

// Limit returns the limit of this process, in US dollars; 0 means no limit.
func (b *Budget) Limit() float64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.limit
}

// Open reports whether a call can begin, now or after the running calls have
// ended. Once false, it stays false until SetLimit.
func (b *Budget) Open() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.limit <= 0 || b.fits(1, 0)
}

// Spent returns the US dollars settled so far, earlier runs included.
func (b *Budget) Spent() float64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.spent
}

// Stand is how a budget stands, in US dollars.
type Stand struct {
	Spent float64 // by all processes that share it, as far as known, and earlier runs
	Next  float64 // reserved for a next call; 0: unknown
}

// Stand returns how the budget stands. A nil Budget has none.
func (b *Budget) Stand() Stand {
	if b == nil {
		return Stand{}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return Stand{Spent: b.spent + b.others.spent, Next: b.highest}
}

// end ends a reservation and counts the cost of the call.
func (b *Budget) end(dollars float64, paid bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	_ = b.settle(func() { // an error would come again with the next call
		b.underWay--
		if paid {
			b.spent += dollars
			b.learn(dollars)
		}
	})
	b.broadcast()
}

// broadcast is called with b.mu held.
func (b *Budget) broadcast() {
	close(b.changed)
	b.changed = make(chan struct{})
}

// learn takes note of the cost of a call, here or in another process. b.mu is held.
func (b *Budget) learn(dollars float64) {
	if !b.known && dollars > 0 {
		b.highest = 0 // it was a guess
	}
	b.highest, b.known = max(b.highest, dollars), true
}

func (b *Budget) lose(dollars float64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	_ = b.settle(func() { b.spent += dollars })
}

// settle makes a change, even if it cannot be passed on. b.mu is held.
func (b *Budget) settle(change func()) error {
	change = sync.OnceFunc(change)
	defer change()
	return b.update(change)
}

// Reservation is the money reserved for one call; a nil Reservation has none. Only the first
// Settle or Release counts. It is not safe for concurrent use.
type Reservation struct {
	budget  *Budget
	dollars float64
	ended   bool
}

// Reserved returns the expected cost of the call, in US dollars; 0 if unknown. Until [Reservation.Expect]
// it is that of the most expensive call so far.
func (r *Reservation) Reserved() float64 {
	if r == nil {
		return 0
	}
	return r.dollars
}

// Expect sets what the call may cost, if that is known better; 0: it is not. The limit is still
// held as [Budget] says.
func (r *Reservation) Expect(dollars float64) {
	if r != nil && dollars > 0 {
		r.dollars = dollars
	}
}

// Limited reports whether there is a limit.
func (r *Reservation) Limited() bool { return r != nil && r.budget.Limit() > 0 }

// Lose counts unanswered calls that may have been charged as spent, each with the reserved
// amount. They were made under this reservation in addition to the one that is settled or
// released. It returns the US dollars counted.
func (r *Reservation) Lose(calls int) float64 {
	if r == nil || calls <= 0 {
		return 0
	}
	dollars := float64(calls) * r.dollars
	r.budget.lose(dollars)
	return dollars
}

// Settle ends the reservation of a call that cost so many US dollars.
func (r *Reservation) Settle(dollars float64) { r.end(dollars, true) }

// Release ends the reservation of a call that was not made, or failed without cost.
func (r *Reservation) Release() { r.end(0, false) }

func (r *Reservation) end(dollars float64, paid bool) {
	if r == nil || r.ended {
		return
	}
	r.ended = true
	r.budget.end(dollars, paid)
}
