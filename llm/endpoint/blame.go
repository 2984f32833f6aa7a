package endpoint

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"syscall"
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
		return fault.Host, "check the model name " + e.Model + " and " + e.protocol.AddressVariable + ", now " + e.BaseURL
	case status == http.StatusRequestTimeout, status == http.StatusConflict, status == http.StatusTooEarly,
		status == http.StatusTooManyRequests, status >= 500, status < 400:
		return fault.Transient, ""
	}
	return fault.Instance, ""
}

func (e *Endpoint) checkTheKey() string {
	return "check " + e.KeyVariable + ", and that it may use model " + e.Model + " at " + e.BaseURL
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
			fmt.Sprintf("check %s, now %s, and that a server runs there", e.protocol.AddressVariable, e.address())))
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

// wrongAddress returns the cause of a failure that a wrong address may explain. After the address has
// answered once, it is an ordinary error. The text must not contain secrets.
func (e *Endpoint) wrongAddress(text, hint string) error {
	if e.answered.Load() {
		return errors.New(text)
	}
	return &llm.Lasting{Err: errors.New(text), Hint: hint}
}

// Garbled returns the fault of an answer that does not follow the protocol.
func (e *Endpoint) Garbled(what string, err error) error {
	if err != nil {
		what += ": " + e.Mask.Text(err.Error())
	}
	return fault.New(fault.Transient, e.Op(), e.wrongAddress(what,
		fmt.Sprintf("check that %s, now %s, %s", e.protocol.AddressVariable, e.address(), e.protocol.Usual)))
}

// Soiled returns the fault of an event of a stream that is not an object; some says that others came before it.
func (e *Endpoint) Soiled(some bool, what string, err error) error {
	if !some {
		return e.Garbled(what, err)
	}
	return fault.Newf(fault.Transient, "%s: %s: %s", e.Op(), what, e.Mask.Text(err.Error()))
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
		WithHint("set %s, now %s, to the redirect's target", e.protocol.AddressVariable, e.address())}
}

// answerLimits are the members of a request that reserve room for the answer.
var answerLimits = []string{"max_tokens", "max_completion_tokens", "max_output_tokens", "max_new_tokens", "maxOutputTokens"}

// answerLimit returns the number of tokens that requests reserve for the answer; 0 if they do not say.
func (e *Endpoint) answerLimit() (most int64) {
	ofGemini, _ := e.Body["generationConfig"].(map[string]any)
	for _, name := range answerLimits {
		value, _ := json.Marshal(cmp.Or(e.Body[name], ofGemini[name]))
		most = max(most, Tokens(value))
	}
	return most
}

// misconfigured turns the refusal of a first request into a Host fault if the settings may explain it,
// because all conversations share them. A refusal of this conversation's content stays unchanged, unless the
// room that the settings reserve for the answer leaves none for a conversation.
func (e *Endpoint) misconfigured(req *llm.Request, err error) error {
	if fault.KindOf(err) != fault.Instance || errors.Is(err, llm.ErrContentPolicy) || errors.Is(err, llm.ErrAccountLimit) || e.proven(req) {
		return err
	}
	names := e.named
	if errors.Is(err, llm.ErrContextLength) {
		names = slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !slices.Contains(answerLimits, bare(name)) })
		if len(names) == 0 {
			return err
		}
	}
	said := plain(err.Error())
	named := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !strings.Contains(said, plain(bare(name))) })
	if len(named) > 0 {
		names = named
	}
	what := "the model's name " + e.Model
	if len(names) > 0 {
		what = "model_kwargs." + strings.Join(names, ", model_kwargs.")
	}
	return fault.New(fault.Host, "", err).WithHint("no request was answered yet, and all instances send a similar one: check %s\n"+
		"and what %s supports; if only this instance is refused, run the others first (--filter, --slice)",
		e.Mask.Text(what), e.address())
}

// bare returns the provider's name of a member of model_kwargs or of extra_body.
func bare(name string) string { return strings.TrimPrefix(name, inExtraBody) }

// plain returns text in which both spellings of a name are equal: top_p and topP.
func plain(text string) string { return strings.ToLower(strings.ReplaceAll(text, "_", "")) }
