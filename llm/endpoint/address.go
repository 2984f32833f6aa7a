package endpoint

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"syscall"

	"batch.example/batch/fault"
	"batch.example/batch/llm"
)

// wrongAddress returns the cause of a failure that a wrong address may explain. After the address has
// answered once, it is an ordinary error. The text must not contain secrets.
func (e *Endpoint) wrongAddress(text, hint string) error {
	if e.answered.Load() {
		return errors.New(text)
	}
	return &llm.Lasting{Err: errors.New(text), Hint: hint}
}

// NoReply returns the fault of an answer that does not follow the protocol; should describes a usual address.
func (e *Endpoint) NoReply(what string, err error, should string) error {
	if err != nil {
		what += ": " + e.Mask.Text(err.Error())
	}
	return fault.New(fault.Transient, e.Op(), e.wrongAddress(what, fmt.Sprintf("check that %s, now %s, %s", e.AddressVariable, e.address(), should)))
}

// noServer describes in plain words why no server is at the address; "" if err has another cause.
func (e *Endpoint) noServer(err error) string {
	op, _ := errors.AsType[*net.OpError](err)
	dns, _ := errors.AsType[*net.DNSError](err)
	switch {
	case errors.Is(err, syscall.ECONNREFUSED) && op != nil && op.Op == "proxyconnect":
		return "the proxy on the way to " + e.address() + " does not answer"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "nothing answers at " + e.address()
	case dns != nil && dns.IsNotFound:
		return "there is no host " + e.Mask.Text(dns.Name)
	case errors.Is(err, http.ErrSchemeMismatch):
		return "the server at " + e.address() + " answers over http, not https"
	}
	return ""
}

// cause returns err's text without the request and without secrets.
func (e *Endpoint) cause(err error) string {
	if failed, ok := errors.AsType[*url.Error](err); ok {
		err = failed.Err
	}
	return e.Mask.Text(err.Error())
}

// elsewhere reports whether the endpoint redirected the request. net/http repeats the request unchanged if it
// can; otherwise it sends a request without a body.
func elsewhere(answer *http.Response, err error) bool {
	if answer != nil && answer.StatusCode >= 300 && answer.StatusCode < 400 {
		return true
	}
	if answer != nil && answer.Request != nil && answer.Request.Method != http.MethodPost {
		return true
	}
	return errors.Is(err, errCircle)
}

// redirected returns the fault of a redirect, or nil if there was none.
func (e *Endpoint) redirected(answer *http.Response, err error) error {
	if !elsewhere(answer, err) {
		return nil
	}
	what := "it redirects to another address"
	switch {
	case errors.Is(err, errCircle):
		what = "it redirects in a circle"
	case answer != nil && answer.StatusCode >= 300 && answer.StatusCode < 400:
		what = fmt.Sprintf("it redirects (%s)", statusText(answer.StatusCode))
	}
	kind := fault.Host
	if e.answered.Load() {
		kind = fault.Transient
	}
	return &llm.Unpaid{Err: fault.Newf(kind, "%s: %s", e.Op(), what).
		WithHint("set %s, now %s, to the redirect's target", e.AddressVariable, e.address())}
}
