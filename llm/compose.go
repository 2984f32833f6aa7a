package llm

import (
	"context"
	"log/slog"

	"batch.example/batch/fault"
	"batch.example/batch/internal/mask"
)

// Calls configures the calls of a run, whichever provider answers them.
type Calls struct {
	Log *slog.Logger // receives failures that are retried; nil discards

	Mask *mask.Masker // hides secrets in the reports of those failures; nil hides none

	// Gate admits every try of a model that has a RetryPolicy; nil admits all at once. It
	// belongs to the provider and key of the model.
	Gate Gate

	// At makes calls fail on demand: it is called with model.call before each one, and
	// with model.answer when the answer has arrived but is not processed yet. Nil
	// for none.
	At func(point string) error
}

// Compose wraps a provider's bare model with the layers that all models share, from the outside in: failures
// on demand; then, if m has a RetryPolicy, retries and waits for rate limits, see [RetryPolicy].
func (c Calls) Compose(m Model) Model {
	if patient, ok := m.(interface{ RetryPolicy() RetryPolicy }); ok {
		m = c.retry(m, patient.RetryPolicy())
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

// Generate implements [Model]. An answer that is made to fail is lost, as if the
// connection broke after its last byte.
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
