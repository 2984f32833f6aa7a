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
	failures := func() *failing { return &failing{[]error{silent, silent}} }
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
		inner, ok := c.model.(*failing)
		if !ok {
			inner = c.model.(patient).Model.(*failing)
		}
		if len(inner.failures) != c.calls {
			t.Errorf("%s: %d failures were not met, want %d", name, len(inner.failures), c.calls)
		}
	}
}

// script is a model. Its calls end with the given errors, in order.
type script []error

func (s *script) Generate(context.Context, *llm.Request) (*llm.Response, error) {
	err := (*s)[0]
	*s = (*s)[1:]
	return &llm.Response{}, err
}

func TestThreeWrongAddressesInARowAreAHostFault(t *testing.T) {
	wrong := &llm.Unpaid{Err: fault.New(fault.Transient, "asking", &llm.WrongAddress{Err: io.EOF, Hint: "is it 100% right?"})}
	busy := fault.Newf(fault.Transient, "busy")
	for name, c := range map[string]struct {
		tries int
		errs  script
		left  int
		kind  fault.Kind
	}{
		"three in a row":         {6, script{wrong, wrong, wrong, nil}, 1, fault.Host},
		"two, then an answer":    {6, script{wrong, wrong, nil}, 0, -1},
		"not in a row":           {6, script{wrong, wrong, busy, wrong, wrong, nil}, 0, -1},
		"two, and no more tries": {2, script{wrong, wrong, nil}, 1, fault.Host},
		"one, and no more tries": {1, script{wrong, nil}, 1, fault.Host},
	} {
		_, err := llm.Calls{}.Compose(patient{&c.errs, llm.RetryPolicy{Tries: c.tries, Base: time.Microsecond}}).Generate(t.Context(), &llm.Request{})
		if (err == nil) != (c.kind < 0) || err != nil && fault.KindOf(err) != c.kind || len(c.errs) != c.left {
			t.Errorf("%s: got %v (%v) with %d answers left; want no error: %v, otherwise kind %v, and %d left",
				name, err, fault.KindOf(err), len(c.errs), c.kind < 0, c.kind, c.left)
		}
		if err != nil && (fault.HintOf(err) != "is it 100% right?" || !errors.Is(err, io.EOF) || llm.Lost(err) != 0) {
			t.Errorf("%s: hint %q of %v, %d calls lost; want the hint and cause of a wrong address, none lost", name, fault.HintOf(err), err, llm.Lost(err))
		}
	}
}
