package llm_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"batch.example/batch/fault"
	"batch.example/batch/llm"
)

// patient is a model with errors that are worth a retry.
type patient struct {
	llm.Model
	policy llm.RetryPolicy
}

func (p patient) RetryPolicy() llm.RetryPolicy { return p.policy }

func TestComposeOrder(t *testing.T) {
	silent := fault.Newf(fault.Transient, "no answer")
	quick := llm.RetryPolicy{Tries: 3, Base: time.Microsecond}
	failures := func() *answers { return &answers{errs: []error{silent, silent}} }
	for name, c := range map[string]struct {
		model llm.Model
		at    string // point of the injected failure
		calls int    // failures of the model that are left
		lost  int
		kind  fault.Kind // of the error; -1 for an answer
	}{
		"a model that is asked once":       {failures(), "", 1, 1, fault.Transient},
		"a model that is asked again":      {patient{failures(), quick}, "", 0, 2, -1},
		"an outage before the call":        {patient{failures(), quick}, "model.call", 2, 0, fault.Transient},
		"an outage behind the last byte":   {patient{failures(), quick}, "model.answer", 0, 1, fault.Transient},
		"an outage that is somewhere else": {patient{failures(), quick}, "elsewhere", 0, 2, -1},
	} {
		var calls llm.Calls
		if c.at != "" {
			calls.At = func(point string) error {
				if point == c.at {
					return io.ErrUnexpectedEOF
				}
				return nil
			}
		}
		resp, err := calls.Compose(c.model).Generate(t.Context(), &llm.Request{})
		lost := llm.Lost(err)
		if err == nil {
			lost = resp.Lost
		}
		if lost != c.lost || (err == nil) != (c.kind < 0) || err != nil && fault.KindOf(err) != c.kind {
			t.Errorf("%s: %v, %d lost, want %v and %d", name, err, lost, c.kind, c.lost)
		}
		inner, ok := c.model.(*answers)
		if !ok {
			inner = c.model.(patient).Model.(*answers)
		}
		if n := max(0, len(inner.errs)-len(inner.calls)); n != c.calls {
			t.Errorf("%s: %d failures were not used, want %d", name, n, c.calls)
		}
	}
}

func TestThreeWrongAddressesInARowAreAHostFault(t *testing.T) {
	wrong := &llm.Unpaid{Err: fault.New(fault.Transient, "asking", &llm.Lasting{Err: io.EOF, Hint: "is it 100% right?"})}
	busy := fault.Newf(fault.Transient, "busy")
	for name, c := range map[string]struct {
		tries int
		errs  []error
		left  int
		kind  fault.Kind
	}{
		"three in a row":         {6, []error{wrong, wrong, wrong, nil}, 1, fault.Host},
		"two, then an answer":    {6, []error{wrong, wrong, nil}, 0, -1},
		"not in a row":           {6, []error{wrong, wrong, busy, wrong, wrong, nil}, 0, -1},
		"two, and no more tries": {2, []error{wrong, wrong, nil}, 1, fault.Host},
		"one, and no more tries": {1, []error{wrong, nil}, 1, fault.Host},
	} {
		m := &answers{errs: c.errs}
		_, err := llm.Calls{}.Compose(patient{m, llm.RetryPolicy{Tries: c.tries, Base: time.Microsecond}}).Generate(t.Context(), &llm.Request{})
		left := len(c.errs) - len(m.calls)
		if (err == nil) != (c.kind < 0) || err != nil && fault.KindOf(err) != c.kind || left != c.left {
			t.Errorf("%s: got %v (%v) with %d answers left; want no error: %v, otherwise kind %v, and %d left",
				name, err, fault.KindOf(err), left, c.kind < 0, c.kind, c.left)
		}
		if err != nil && (fault.HintOf(err) != "is it 100% right?" || !errors.Is(err, io.EOF) || llm.Lost(err) != 0) {
			t.Errorf("%s: hint %q of %v, %d calls lost; want the hint and cause of a wrong address, none lost", name, fault.HintOf(err), err, llm.Lost(err))
		}
	}
}

func TestCallsThatMayHaveBeenChargedAreCounted(t *testing.T) {
	silent := fault.Newf(fault.Transient, "no answer")
	refused := &llm.Unpaid{Err: fault.Newf(fault.Transient, "503")}
	rejected := &llm.Unpaid{Err: fault.Newf(fault.Instance, "400")}
	policy := llm.RetryPolicy{Tries: 4, Base: time.Microsecond}
	for name, tt := range map[string]struct {
		failures []error
		want     int
	}{
		"an answer at once":              {nil, 0},
		"refused, then an answer":        {[]error{refused, refused}, 0},
		"silence, then an answer":        {[]error{silent, refused, silent}, 2},
		"refused until the end":          {[]error{refused, refused, refused, refused}, 0},
		"silence until the end":          {[]error{silent, silent, silent, silent}, 4},
		"silence, then refused for good": {[]error{silent, rejected}, 1},
		"refused for good":               {[]error{rejected}, 0},
		"silence that ends the call":     {[]error{fault.Newf(fault.Host, "gone")}, 1},
		"stopped while it was under way": {[]error{context.Canceled}, 1},
		"stopped after a refused one":    {[]error{refused, context.Canceled}, 1},
	} {
		resp, err := llm.Calls{}.Compose(patient{&answers{errs: tt.failures}, policy}).Generate(t.Context(), &llm.Request{})
		got := llm.Lost(err)
		if err == nil {
			got = resp.Lost
		}
		if got != tt.want {
			t.Errorf("%s: %d calls may have been charged, want %d (%v)", name, got, tt.want, err)
		}
	}
	// When the call is stopped during a wait, no request is under way.
	ctx, cancel := context.WithCancel(t.Context())
	waits := &llm.Request{Repeating: func(llm.Repeat) { cancel() }}
	_, err := llm.Calls{}.Compose(patient{&answers{errs: []error{silent, refused, refused}}, llm.RetryPolicy{Base: time.Hour}}).Generate(ctx, waits)
	if n := llm.Lost(err); n != 1 || !errors.Is(err, context.Canceled) {
		t.Errorf("stopped while waiting: %d calls lost, want 1, the call without an answer (%v)", n, err)
	}
}
