package runner

import (
	"context"
	"errors"
	"sync"
)

// ErrBudget means that the whole run's cost limit is reached. It is not a failure: the
// instance stays pending, and a later run can continue it.
var ErrBudget = errors.New("the cost limit of the whole run is reached")

// Budget counts what a run spends against its limit. It is safe for
// concurrent use.
//
// Each try of a call is a call of its own. Each call is expected to cost as much as the most expensive call before it. It begins only
// if the limit allows that cost for it and for each running call. So the sum exceeds the
// limit only by what a call costs more than the most expensive call before it. Until the
// cost of a first call is known, one call is made at a time.
type Budget struct {
	limit float64

	mu       sync.Mutex
	spent    float64
	highest  float64       // cost of a call so far
	known    bool          // highest is the cost of a call, not a guess
	underWay int           // calls reserved and not ended
	changed  chan struct{} // closed when a call ends
}

// NewBudget returns a budget of limit US dollars; 0 means no limit. Spent is what
// earlier runs into the same directory have spent already. Estimate is the highest cost of
// one of their calls, 0 if that is not known.
func NewBudget(limit, spent, estimate float64) *Budget {
	return &Budget{limit: limit, spent: spent, highest: estimate, known: estimate > 0, changed: make(chan struct{})}
}

// Guess sets the assumed cost of a call until the cost of one is known: an unanswered call
// that may have been charged counts as that much. It must be called before the first Reserve.
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
		select {
		case <-wait:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// take reserves, refuses, or returns what to wait for.
func (b *Budget) take() (*Reservation, <-chan struct{}, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.limit <= 0, b.fits(b.underWay+1) && (b.known || b.underWay == 0):
		b.underWay++
		return &Reservation{budget: b, dollars: b.highest}, nil, nil
	case !b.fits(1):
		return nil, nil, ErrBudget
	default:
		return nil, b.changed, nil
	}
}

// rounding is the largest error of a sum of costs.
const rounding = 1e-9

// fits reports whether n calls fit. A guess does not refuse the first call of all. b.mu is
// held.
func (b *Budget) fits(n int) bool {
	if !b.known && b.spent == 0 {
		return true
	}
	return b.spent < b.limit-rounding && b.spent+float64(n)*b.highest <= b.limit+rounding
}

// Open reports whether a call can begin, now or after the running calls have
// ended. Once false, it stays false.
func (b *Budget) Open() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.limit <= 0 || b.fits(1)
}

// Spent returns the US dollars settled so far, earlier runs included.
func (b *Budget) Spent() float64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.spent
}

// end ends a reservation and counts the cost of the call.
func (b *Budget) end(dollars float64, paid bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.underWay--
	if paid {
		b.spent += dollars
		if !b.known {
			b.highest = 0 // it was a guess
		}
		b.highest, b.known = max(b.highest, dollars), true
	}
	close(b.changed)
	b.changed = make(chan struct{})
}

func (b *Budget) lose(dollars float64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.spent += dollars
}

// Reservation is the money reserved for one call; a nil Reservation has none. Only the first
// Settle or Release counts. It is not safe for concurrent use.
type Reservation struct {
	budget  *Budget
	dollars float64
	ended   bool
}

// Reserved returns what the call may cost, in US dollars; 0 if nothing is known of that.
func (r *Reservation) Reserved() float64 {
	if r == nil {
		return 0
	}
	return r.dollars
}

// Limited reports whether there is a limit.
func (r *Reservation) Limited() bool { return r != nil && r.budget.limit > 0 }

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
