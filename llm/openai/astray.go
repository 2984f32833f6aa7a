package openai

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"syscall"

	"batch.example/batch/fault"
	"batch.example/batch/llm"
)

// maxAstray is how often one call finds no chat endpoint before the address is
// taken to be wrong.
const maxAstray = 3

// strayed is the cause of a failure that a wrong address would explain.
type strayed struct {
	text    string // without secrets
	garbled bool   // somebody answers, but not with a chat completion
}

func (s *strayed) Error() string { return s.text }

// judge gives up on an endpoint that has never answered properly. With fewer
// attempts allowed than maxAstray, the last one decides.
func (o *once) judge(resp *llm.Response, err error) (*llm.Response, error) {
	m := o.m
	if err == nil {
		m.answered.Store(true)
		return resp, nil
	}
	cause, ok := errors.AsType[*strayed](err)
	if !ok || m.answered.Load() {
		o.astray = 0
		return nil, err
	}
	o.astray++
	limit := maxAstray
	if n := m.cfg.Retry.Attempts; n > 0 {
		limit = min(limit, n)
	}
	if o.astray < limit {
		return nil, err
	}
	f := fault.New(fault.Host, "", err)
	if cause.garbled {
		return nil, f.WithHint("is OPENAI_BASE_URL, now %s, an OpenAI-compatible endpoint? it usually ends in /v1", m.address())
	}
	return nil, f.WithHint("is OPENAI_BASE_URL, now %s, right, and does a server run there?", m.address())
}

// nobody reports whether err says that there is no server at the address.
func nobody(err error) bool {
	dns, ok := errors.AsType[*net.DNSError](err)
	return errors.Is(err, syscall.ECONNREFUSED) || ok && dns.IsNotFound || errors.Is(err, http.ErrSchemeMismatch)
}

// redirected reports whether the endpoint sent us elsewhere: net/http follows
// where the request can be made again as it was, else it asks without a body.
func redirected(answer *http.Response, err error) bool {
	if answer != nil && answer.StatusCode >= 300 && answer.StatusCode < 400 {
		return true
	}
	if answer != nil && answer.Request != nil && answer.Request.Method != http.MethodPost {
		return true
	}
	// Neither the SDK nor net/http gives these errors a type.
	return err != nil && (strings.Contains(err.Error(), "request URL origin must match the configured base URL") ||
		strings.Contains(err.Error(), "stopped after 10 redirects"))
}

// elsewhere is the fault of a redirect.
func (m *Model) elsewhere(answer *http.Response, err error) error {
	what := "it redirects to another address"
	switch {
	case err != nil && strings.Contains(err.Error(), "stopped after"):
		what = "it redirects in a circle"
	case answer != nil && answer.StatusCode >= 300 && answer.StatusCode < 400:
		what = fmt.Sprintf("it redirects (%s)", statusText(answer.StatusCode))
	}
	kind := fault.Host
	if m.answered.Load() {
		kind = fault.Transient
	}
	return fault.Newf(kind, "%s: %s", m.op(), what).
		WithHint("set OPENAI_BASE_URL, now %s, to the address that it redirects to", m.address())
}

// address is the base URL without secrets.
func (m *Model) address() string { return m.mask.Text(m.cfg.BaseURL) }
