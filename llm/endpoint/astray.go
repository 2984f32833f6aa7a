package endpoint

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

// astray is the cause of a failure that a wrong address would explain, unless a
// reply has come from there already. It is a text without secrets.
func (e *Endpoint) astray(text, hint string) error {
	if e.answered.Load() {
		return errors.New(text)
	}
	return &llm.Astray{Err: errors.New(text), Hint: hint}
}

// NoReply is the fault of an answer that an endpoint of the protocol would not
// give; should says what the address usually looks like.
func (e *Endpoint) NoReply(what string, err error, should string) error {
	if err != nil {
		what += ": " + e.Mask.Text(err.Error())
	}
	return fault.New(fault.Transient, e.Op(), e.astray(what, fmt.Sprintf("is %s, now %s, %s", e.AddressVariable, e.address(), should)))
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

// Redirected is the fault of being sent elsewhere, and nil of all else.
func (e *Endpoint) Redirected(answer *http.Response, err error) error {
	if !redirected(answer, err) {
		return nil
	}
	what := "it redirects to another address"
	switch {
	case err != nil && strings.Contains(err.Error(), "stopped after"):
		what = "it redirects in a circle"
	case answer != nil && answer.StatusCode >= 300 && answer.StatusCode < 400:
		what = fmt.Sprintf("it redirects (%s)", statusText(answer.StatusCode))
	}
	kind := fault.Host
	if e.answered.Load() {
		kind = fault.Transient
	}
	return &llm.Unpaid{Err: fault.Newf(kind, "%s: %s", e.Op(), what).
		WithHint("set %s, now %s, to the address that it redirects to", e.AddressVariable, e.address())}
}
