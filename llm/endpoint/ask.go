package endpoint

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"batch.example/batch/fault"
	"batch.example/batch/llm"
)

// Send makes one request and reads its answer. It returns the HTTP answer if there was one. [Endpoint.Ask]
// classifies an error that is not a *fault.Error yet, and reads the body of an answer with an error status.
type Send func(try context.Context) (*http.Response, *llm.Response, error)

// Ask makes the one request of a call, within the endpoint's time limit, and classifies its failure. If the
// endpoint has never answered, its settings are probably wrong: a redirect or a refused first request is a
// Host fault; a missing server or an answer in another protocol is an [llm.Lasting]. After an answer, such
// failures mean that the server restarts behind a proxy, and a refusal means that the cause is in the
// request.
//
// If the context has an [authority.Authority] with a key, the request uses that key. Its refusal is a fault
// of the kind [fault.Expired], which concerns this call alone. The key is hidden in every error.
func (e *Endpoint) Ask(ctx context.Context, req *llm.Request, send Send) (*llm.Response, error) {
	if err := e.checkKey(ctx); err != nil {
		return nil, &llm.Unpaid{Err: err}
	}
	resp, err := e.ask(ctx, send)
	if err != nil && turnKey(ctx) != "" {
		err = e.refusedTurn(err)
	}
	if own := transportFault(err); own != nil {
		return nil, own
	}
	if err != nil {
		return nil, e.misconfigured(req, err)
	}
	e.answered.Store(true)
	return resp, nil
}

// transportFault returns a transport's own fault, such as a recording without an answer, without the address
// before it; nil if err is something else. Such a fault is not a provider's refusal.
func transportFault(err error) error {
	sending, ok := errors.AsType[*url.Error](err)
	if !ok {
		return nil
	}
	if _, known := errors.AsType[*fault.Error](sending.Err); !known {
		return nil
	}
	return sending.Err
}

func (e *Endpoint) ask(ctx context.Context, send Send) (*llm.Response, error) {
	try, cancel := context.WithTimeout(ctx, e.RequestTimeout)
	defer cancel()
	answer, resp, err := send(try)
	_, known := errors.AsType[*fault.Error](err)
	elsewhere := e.redirected(answer, err)
	switch {
	case ctx.Err() == nil && elsewhere != nil:
		return nil, elsewhere
	case err == nil: // the answer is paid for, even if the caller has stopped meanwhile
		if resp.Rate == nil && answer != nil {
			resp.Rate = ReadRate(answer.Header, time.Now())
		}
		return resp, nil
	case known:
		return nil, err
	case ctx.Err() != nil:
		return nil, fmt.Errorf("%s: %w", e.Op(), ctx.Err())
	case answer != nil && answer.StatusCode >= http.StatusBadRequest:
		return nil, e.Refused(answer)
	case errors.Is(err, errTooLarge):
		return nil, fault.Newf(fault.Transient, "%s: the answer is longer than %d MiB", e.Op(), maxAnswer>>20)
	case errors.Is(err, errStalled):
		return nil, fault.Newf(fault.Transient, "%s: the answer stalled: nothing came for too long", e.Op()).
			WithHint("model_kwargs.stream_timeout is how many seconds a streamed answer may pause")
	case try.Err() != nil:
		return nil, fault.Newf(fault.Transient, "%s: no answer within %v", e.Op(), e.RequestTimeout).
			WithHint("a slow model may need a longer request timeout")
	}
	return nil, e.unreached(err)
}
