package endpoint

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"batch.example/batch/fault"
	"batch.example/batch/internal/mask"
	"batch.example/batch/llm"
)

// maxSaid bounds the length of a provider's error message, in bytes.
const maxSaid = 600

// Refused returns the fault of an answer with an error status.
func (e *Endpoint) Refused(answer *http.Response) error {
	body, _ := io.ReadAll(io.LimitReader(answer.Body, 1<<20))
	return e.blame(answer.StatusCode, answer.Header, readErrorBody(body))
}

// RefusedInside is Refused for an answer whose error is in the body, not in the status.
func (e *Endpoint) RefusedInside(header http.Header, body []byte) error {
	s := readErrorBody(body)
	return e.blame(s.status(), header, s)
}

// Broke returns the fault of an error that may have come after a part of the reply, which is charged. Body
// has the form of a refusal.
func (e *Endpoint) Broke(header http.Header, body []byte) error {
	s := readErrorBody(body)
	return e.fault(s.status(), header, s)
}

// blame returns the fault of an answer with an error. A refused call is not charged; but if a gateway stopped
// waiting for a call, it still runs on the server.
func (e *Endpoint) blame(status int, header http.Header, s errorBody) error {
	err := e.fault(status, header, s)
	switch status {
	case http.StatusOK, http.StatusGatewayTimeout, 522, 524: // the latter are Cloudflare's
		return err
	}
	return &llm.Unpaid{Err: err}
}

func (e *Endpoint) fault(status int, header http.Header, s errorBody) error {
	said := strings.ToValidUTF8(e.Mask.Text(s.text), "\uFFFD")
	cause := fmt.Errorf("%s: %s", statusText(status), mask.Clip(said, maxSaid))
	after, waits := retryAfter(header, s, time.Now())
	if status == http.StatusTooManyRequests && !waits {
		after, waits = s.renewal(answered(header, time.Now()))
	}
	kind, hint := e.verdict(status, s, waits)
	switch {
	case kind == fault.Host && e.ofKey(status):
		cause = &refusedKey{cause}
		if hint == e.checkTheKey() {
			cause = fmt.Errorf("the provider refused %s (%w)", e.KeyVariable, cause)
		}
	case kind == fault.Instance:
		cause = s.typed(status, e.answerLimit(), cause)
	}
	if kind == fault.Transient && (waits || s.limited(status)) {
		rate := ReadRate(header, time.Now())
		if rate == nil && s.tokens > 0 {
			rate = &llm.Rate{Tokens: llm.Window{Limit: s.tokens}}
		}
		cause = &llm.RateLimited{After: after, Rate: rate, Err: cause}
	}
	f := fault.New(kind, e.Op(), cause)
	f.Hint = e.Mask.Text(hint)
	return f
}

func (e *Endpoint) verdict(status int, s errorBody, waits bool) (fault.Kind, string) {
	switch {
	case s.unpaid(status, waits):
		return fault.Host, "the account has no credit left; see the provider's billing page, then run again to resume"
	case status == http.StatusTooManyRequests && ofDay().MatchString(s.code):
		return fault.Host, "the quota of " + e.KeyVariable + " for the day is used up; run again to resume when it is renewed"
	case status == http.StatusBadRequest && s.refusesKey():
		return fault.Host, e.checkTheKey()
	case s.aboveAccount(status):
		return fault.Instance, llm.AccountHint
	case s.tooLong(status):
		return fault.Instance, "agent.context_policy (shorten or drop) keeps the conversation within the model's context; " +
			"so do a lower step limit and shorter observations"
	case s.unwanted(status):
		return fault.Instance, ""
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return fault.Host, e.checkTheKey()
	case status == http.StatusNotFound && ofItem().MatchString(s.text):
		return fault.Instance, ""
	case status == http.StatusNotFound, status == http.StatusMethodNotAllowed:
		return fault.Host, "check the model name " + e.Model + " and " + e.AddressVariable + ", now " + e.Address
	case status == http.StatusRequestTimeout, status == http.StatusConflict, status == http.StatusTooEarly,
		status == http.StatusTooManyRequests, status >= 500, status < 400:
		return fault.Transient, ""
	}
	return fault.Instance, ""
}

func (e *Endpoint) checkTheKey() string {
	return "check " + e.KeyVariable + ", and that it may use model " + e.Model + " at " + e.Address
}

// ofKey reports whether a refusal that stops a run is about the key or its account. A missing model counts
// too if the endpoint has answered before.
func (e *Endpoint) ofKey(status int) bool {
	return status != http.StatusNotFound && status != http.StatusMethodNotAllowed || e.answered.Load()
}

// untrusted reports whether the endpoint's certificate was refused.
func untrusted(err error) bool {
	_, badCert := errors.AsType[*tls.CertificateVerificationError](err)
	_, noCA := errors.AsType[x509.UnknownAuthorityError](err)
	return badCert || noCA
}

// unreached returns the fault of a call without an answer, or with only a part of one.
func (e *Endpoint) unreached(err error) error {
	f := fault.Newf(fault.Transient, "%s: %s", e.Op(), e.Mask.Text(err.Error()))
	absent := e.noServer(err)
	if absent != "" {
		f = fault.New(fault.Transient, e.Op(), e.wrongAddress(absent+" ("+e.cause(err)+")",
			fmt.Sprintf("check %s, now %s, and that a server runs there", e.AddressVariable, e.address())))
	}
	if untrusted(err) {
		f.Kind = fault.Host
		return &llm.Unpaid{Err: f.WithHint("the endpoint's certificate is not trusted on this machine; install its CA")}
	}
	f = f.WithHint("check that %s is right and reachable", e.address())
	if absent != "" {
		return &llm.Unpaid{Err: f}
	}
	return f
}

func statusText(status int) string {
	if status < 300 {
		return "the provider reports an error"
	}
	return strings.TrimSpace(fmt.Sprintf("%d %s", status, strings.ToLower(http.StatusText(status))))
}
