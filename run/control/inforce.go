package control

import (
	"maps"
	"slices"
	"strings"
)

// InForce has the effects of commands that last for the next process in a directory. A pause, a drain
// and a stop end with their process.
type InForce struct {
	Width    int              // 0: not set
	Budget   *float64         // US dollars; 0: no limit; nil: not set
	Limits   map[string]Limit // by instance; "" has the limits of all
	Canceled []string         // sorted
	Requeued []Record         // not complete yet, oldest first
	Said     []Record         // messages of people that no agent has read, oldest first
}

// InForce returns what the commands of h leave in force.
func (h *History) InForce() InForce {
	f := InForce{Budget: h.above.Budget, Limits: map[string]Limit{}}
	maps.Copy(f.Limits, h.above.Limits)
	canceled, begun := map[string]bool{}, 0
	for _, id := range h.above.Canceled {
		canceled[id] = true
	}
	given := func(before int) {
		for ; begun < len(h.begun) && h.begun[begun] <= before; begun++ {
			b := h.given[begun]
			f.Width = ifSet(b.Width != 0, 0, f.Width)
			f.Budget = ifSet(b.Budget != nil, nil, f.Budget)
		}
	}
	for i, r := range h.Commands {
		given(i)
		if h.brief[r.ID] {
			continue
		}
		switch r.Verb {
		case SetWidth:
			f.Width = r.Width
		case SetBudget:
			f.Budget = &r.Budget
		case SetLimit:
			f.limit(r)
		case Cancel:
			canceled[r.Instance] = true
			f.forget(r.Instance)
		case Requeue:
			delete(canceled, r.Instance)
			f.forget(r.Instance)
			if !h.done[r.ID] {
				f.Requeued = append(f.Requeued, r)
			}
		case Say:
			if !h.done[r.ID] {
				f.Said = append(f.Said, r)
			}
		}
	}
	given(len(h.Commands))
	f.Canceled = slices.Sorted(maps.Keys(canceled))
	return f
}

// Below says that h is of a cell that works alone, and above in force for it by its sweep: the budget, the
// limits and what was canceled. What commands to the cell say overrules it.
func (h *History) Below(above InForce) { h.above = above }

// forget leaves out the requeues of an instance, because a later command replaces them.
func (f *InForce) forget(instance string) {
	f.Requeued = slices.DeleteFunc(f.Requeued, func(q Record) bool { return q.Instance == instance })
}

func ifSet[T any](set bool, then, otherwise T) T {
	if set {
		return then
	}
	return otherwise
}

// limit takes a command about limits into account. Limits of all replace what the command
// sets in the limits of single instances, because they were set later.
func (f *InForce) limit(r Record) {
	if r.Limit == nil {
		return
	}
	if r.Instance == "" {
		for id, l := range f.Limits {
			f.Limits[id] = r.Limit.Over(l)
		}
	}
	f.Limits[r.Instance] = r.Limit.Over(f.Limits[r.Instance])
}

// Over returns l, with the limits of before that l leaves as they are.
func (l Limit) Over(before Limit) Limit {
	both := Limit{}
	maps.Copy(both, before)
	maps.Copy(both, l)
	return both
}

// Of returns the limits of an instance.
func (f InForce) Of(instance string) Limit { return f.Limits[instance].Over(f.Limits[""]) }

// Cell returns what is in force for one cell of a sweep, by the names of its instances. A run that is not
// in a sweep has no name.
func (f InForce) Cell(name string) InForce {
	if name == "" {
		return f
	}
	c := InForce{Width: f.Width, Budget: f.Budget, Limits: map[string]Limit{"": f.Limits[""]}}
	for id, l := range f.Limits {
		if in, ok := strings.CutPrefix(id, name+"/"); ok {
			c.Limits[in] = l
		}
	}
	for _, id := range f.Canceled {
		if in, ok := strings.CutPrefix(id, name+"/"); ok {
			c.Canceled = append(c.Canceled, in)
		}
	}
	c.Requeued, c.Said = ofCell(name, f.Requeued), ofCell(name, f.Said)
	return c
}

// ofCell returns the records about instances of a cell, with the names that these have in it.
func ofCell(cell string, list []Record) (own []Record) {
	for _, r := range list {
		if in, ok := strings.CutPrefix(r.Instance, cell+"/"); ok {
			r.Instance = in
			own = append(own, r)
		}
	}
	return own
}
