package llm

import (
	"context"
	"log/slog"

	"batch.example/batch/fault"
)

// Calls says what is done about the calls of a run, whichever provider answers them.
type Calls struct {
	Log *slog.Logger // of failures that are repeated; nil discards

	// At makes calls fail on demand: it is asked with model.call before each one, and
	// with model.answer when its answer has come and nobody else knows of it yet. Nil
	// for none.
	At func(point string) error
}

// Compose returns a provider's bare model with all that its calls have in common
// around it. From the outside: failures on demand; then repeats and waits for rate
// limits, see [Retry], where m has a RetryPolicy.
func (c Calls) Compose(m Model) Model {
	if patient, ok := m.(interface{ RetryPolicy() RetryPolicy }); ok {
		m = Retry(m, patient.RetryPolicy(), c.Log)
	}
	if c.At != nil {
		m = &failing{m, c.At}
	}
	return m
}

// failing is a model that fails on demand.
type failing struct {
	model Model
	at    func(point string) error
}

// Generate implements [Model]. An answer that is made to fail is lost, as when the
// connection breaks behind its last byte.
func (f *failing) Generate(ctx context.Context, req *Request) (*Response, error) {
	if err := f.at("model.call"); err != nil {
		return nil, &Unpaid{fault.New(fault.Transient, "calling the model", err)}
	}
	answer, err := f.model.Generate(ctx, req)
	if err != nil {
		return nil, err
	}
	if err := f.at("model.answer"); err != nil {
		return nil, fault.New(fault.Transient, "reading the model's answer", err)
	}
	return answer, nil
}
