package runner

import (
	"errors"
	"sync"
)

// ErrBudget says that the whole run's cost limit is reached. It is nobody's
// fault: an instance that meets it stays pending and can go on in a later run.
var ErrBudget = errors.New("the cost limit of the whole run is reached")

// Budget counts what a run spends against its limit. The zero limit is none.
// It is safe for concurrent use.
type Budget struct {
	mu    sync.Mutex
	limit float64
	spent float64
}

// NewBudget returns a budget of limit US dollars of which spent, the cost of
// earlier runs into the same directory, is gone already.
func NewBudget(limit, spent float64) *Budget {
	return &Budget{limit: limit, spent: spent}
}

// Admit returns ErrBudget when nothing may be started that costs money.
func (b *Budget) Admit() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.limit > 0 && b.spent >= b.limit {
		return ErrBudget
	}
	return nil
}

// Spend settles the cost of one call. Calls that were under way when the
// limit was reached still count, so the sum may pass it by those.
func (b *Budget) Spend(dollars float64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.spent += dollars
}

// Spent returns the US dollars spent so far, earlier runs included.
func (b *Budget) Spent() float64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.spent
}
