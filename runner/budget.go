package runner

import (
	"context"
	"errors"
	"sync"
)

// ErrBudget says that the whole run's cost limit is reached. It is nobody's
// fault: an instance that meets it stays pending and can go on in a later run.
var ErrBudget = errors.New("the cost limit of the whole run is reached")

// Budget counts what a run spends against its limit. It is safe for
// concurrent use.
//
// Each call is taken to cost what the dearest one before it did, and begins
// only if it and the calls under way all fit at that price. So the sum passes
// the limit only by what calls cost above the dearest before them. While no
// call has told its cost yet, one is made at a time.
type Budget struct {
	limit float64

	mu       sync.Mutex
	spent    float64
	dearest  float64       // cost of a call
	known    bool          // dearest is that of a call
	underWay int           // calls reserved and not ended
	changed  chan struct{} // closed when a call ends
}

// NewBudget returns a budget of limit US dollars, 0 being no limit, of which
// spent, the cost of earlier runs into the same directory, is gone already.
// estimate is what one of their calls cost at most, 0 if that is not known.
func NewBudget(limit, spent, estimate float64) *Budget {
	return &Budget{limit: limit, spent: spent, dearest: estimate, known: estimate > 0, changed: make(chan struct{})}
}

// Guess says what a call may cost while none has told: an unanswered one that may
// have been charged counts as that much then. It is asked before the first Reserve.
func (b *Budget) Guess(dollars float64) {
	if !b.known {
		b.dearest = dollars
	}
}

// Reserve sets money aside for one call, which the caller must Settle or
// Release. While calls under way leave too little, it waits for them to end;
// when there is too little for one call alone, it is ErrBudget at once.
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
		return &Reservation{budget: b, dollars: b.dearest}, nil, nil
	case !b.fits(1):
		return nil, nil, ErrBudget
	default:
		return nil, b.changed, nil
	}
}

// rounding is what sums of costs may be off by.
const rounding = 1e-9

// fits reports whether n more calls fit. b.mu is held.
func (b *Budget) fits(n int) bool {
	if !b.known {
		return b.left()
	}
	return b.left() && b.spent+float64(n)*b.dearest <= b.limit+rounding
}

// left reports whether there is any money. b.mu is held.
func (b *Budget) left() bool { return b.spent < b.limit-rounding }

// Open reports whether a call can begin, now or once those under way have
// ended. When it is false it stays so.
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

// end takes back a reservation and counts what the call cost.
func (b *Budget) end(dollars float64, paid bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.underWay--
	if paid {
		b.spent += dollars
		if !b.known {
			b.dearest = 0 // a guess
		}
		b.dearest, b.known = max(b.dearest, dollars), true
	}
	close(b.changed)
	b.changed = make(chan struct{})
}

func (b *Budget) lose(dollars float64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.spent += dollars
}

// Reservation is the money set aside for one call; nil is none. Only the first
// of its calls to Settle and Release counts. It is not safe for concurrent use.
type Reservation struct {
	budget  *Budget
	dollars float64
	ended   bool
}

// Reserved returns the US dollars set aside, 0 where there is no limit to keep.
func (r *Reservation) Reserved() float64 {
	if !r.Limited() {
		return 0
	}
	return r.dollars
}

// Limited reports whether there is a limit to keep.
func (r *Reservation) Limited() bool { return r != nil && r.budget.limit > 0 }

// Lose counts calls as spent, each at what was set aside, that were not answered and
// may have been charged all the same: those of this reservation that were made
// besides the one that is settled or released. It returns the US dollars counted.
func (r *Reservation) Lose(calls int) float64 {
	if !r.Limited() || calls <= 0 {
		return 0
	}
	dollars := float64(calls) * r.dollars
	r.budget.lose(dollars)
	return dollars
}

// Settle says what the call cost, in US dollars.
func (r *Reservation) Settle(dollars float64) { r.end(dollars, true) }

// Release says that the call was not made, or failed unpaid.
func (r *Reservation) Release() { r.end(0, false) }

func (r *Reservation) end(dollars float64, paid bool) {
	if r == nil || r.ended {
		return
	}
	r.ended = true
	r.budget.end(dollars, paid)
}
