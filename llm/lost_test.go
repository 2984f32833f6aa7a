package llm_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"batch.example/batch/fault"
	"batch.example/batch/llm"
)

// failing fails as given, then answers.
type failing struct{ failures []error }

func (f *failing) Generate(context.Context, *llm.Request) (*llm.Response, error) {
	if len(f.failures) == 0 {
		return &llm.Response{}, nil
	}
	err := f.failures[0]
	f.failures = f.failures[1:]
	return nil, err
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
		resp, err := llm.Calls{}.Compose(patient{&failing{tt.failures}, policy}).Generate(t.Context(), &llm.Request{})
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
	_, err := llm.Calls{}.Compose(patient{&failing{[]error{silent, refused, refused}}, llm.RetryPolicy{Base: time.Hour}}).Generate(ctx, waits)
	if n := llm.Lost(err); n != 1 || !errors.Is(err, context.Canceled) {
		t.Errorf("stopped while waiting: %d, want the one that was not answered (%v)", n, err)
	}
}
