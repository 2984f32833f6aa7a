package openai

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"batch.example/batch/fault"
	"batch.example/batch/llm"
)

// maxSaid bounds how much of a provider's error stands in ours, in bytes.
const maxSaid = 600

// tooLong matches how OpenAI, vLLM, SGLang, Anthropic and others say that the
// conversation does not fit; only OpenAI has a code for it.
var tooLong = regexp.MustCompile(`(?i)context[ _-]?(length|window|size)|maximum (context|model|input) length|` +
	`(prompt|input|request) is too long|too many (input )?tokens|exceeds? .{0,40}(max_model_len|token limit|input length)`)

// flagged matches a refusal of this conversation, not of the key.
var flagged = regexp.MustCompile(`(?i)moderation|flagged|content.?policy|content.?filter`)

// noCredit matches the codes of an account that must be paid first.
var noCredit = regexp.MustCompile(`insufficient_quota|billing_hard_limit_reached|billing_not_active`)

// said is what a provider's error body says, in its several forms.
type said struct {
	text string
	code string // its code and type
	http int    // status that a proxy puts into the body of a 200
}

func readSaid(body []byte) said {
	var outer struct {
		Error   json.RawMessage `json:"error"`
		Message string          `json:"message"`
		Detail  json.RawMessage `json:"detail"`
		Type    string          `json:"type"`
		Code    any             `json:"code"`
	}
	if json.Unmarshal(body, &outer) != nil {
		return said{text: string(body)}
	}
	var inner struct {
		Message string `json:"message"`
		Type    string `json:"type"`
		Code    any    `json:"code"`
	}
	inner.Message, inner.Type, inner.Code = outer.Message, outer.Type, outer.Code
	if isSet(outer.Error) && json.Unmarshal(outer.Error, &inner) != nil {
		_ = json.Unmarshal(outer.Error, &inner.Message) // a bare text, as Ollama writes it
	}
	s := said{text: inner.Message, code: inner.Type}
	switch c := inner.Code.(type) {
	case string:
		s.code = c + " " + inner.Type
		s.http, _ = strconv.Atoi(c)
	case float64:
		s.http = int(c)
	}
	if s.text == "" {
		s.text = string(body)
	}
	return s
}

// refused is the fault of an answer with an error status.
func (m *Model) refused(answer *http.Response) error {
	body, _ := io.ReadAll(io.LimitReader(answer.Body, 1<<20))
	return m.blame(answer.StatusCode, answer.Header, body)
}

// blame turns an error body into a fault.
func (m *Model) blame(status int, header http.Header, body []byte) error {
	s := readSaid(body)
	if status == http.StatusOK && s.http >= 400 && s.http < 600 {
		status = s.http
	}
	cause := fmt.Errorf("%s: %s", statusText(status), clip(m.mask.Text(s.text)))
	kind, hint := m.verdict(status, s)
	if kind == fault.Instance && isTooLong(status, s) {
		cause = fmt.Errorf("%w: %w", llm.ErrContextLength, cause)
	}
	if after, ok := retryAfter(header, time.Now()); ok && kind == fault.Transient {
		cause = &llm.RateLimited{After: after, Err: cause}
	}
	f := fault.New(kind, m.op(), cause)
	f.Hint = m.mask.Text(hint)
	return f
}

func (m *Model) verdict(status int, s said) (fault.Kind, string) {
	switch {
	case noCredit.MatchString(s.code), status == http.StatusPaymentRequired:
		return fault.Host, "the account has no credit left; see the provider's billing page, then run again to resume"
	case isTooLong(status, s):
		return fault.Instance, "a lower step limit or shorter observations keep the conversation within the model's context"
	case status == http.StatusForbidden && flagged.MatchString(s.text+s.code):
		return fault.Instance, ""
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return fault.Host, "check OPENAI_API_KEY, and that it may use model " + m.cfg.Model + " at " + m.cfg.BaseURL
	case status == http.StatusNotFound, status == http.StatusMethodNotAllowed:
		return fault.Host, "check the model name " + m.cfg.Model + " and OPENAI_BASE_URL, now " + m.cfg.BaseURL
	case status == http.StatusRequestTimeout, status == http.StatusConflict, status == http.StatusTooEarly,
		status == http.StatusTooManyRequests, status >= 500, status < 400:
		return fault.Transient, ""
	}
	return fault.Instance, ""
}

func isTooLong(status int, s said) bool {
	switch status {
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
		return strings.Contains(s.code, "context_length_exceeded") || tooLong.MatchString(s.text)
	}
	return false
}

// unreached is the fault of a call that got no answer, or half of one.
func (m *Model) unreached(err error) error {
	f := fault.Newf(fault.Transient, "%s: %s", m.op(), m.mask.Text(err.Error()))
	if nobody(err) {
		f = fault.New(fault.Transient, m.op(), &strayed{text: m.mask.Text(err.Error())})
	}
	_, badCert := errors.AsType[*tls.CertificateVerificationError](err)
	_, noCA := errors.AsType[x509.UnknownAuthorityError](err)
	if badCert || noCA {
		f.Kind = fault.Host
		return f.WithHint("the endpoint's certificate is not trusted on this machine; install its CA")
	}
	return f.WithHint("is %s right and reachable?", m.address())
}

// retryAfter reads when the provider wants to be asked again, in its three forms.
func retryAfter(h http.Header, now time.Time) (time.Duration, bool) {
	for _, f := range []struct {
		name string
		unit time.Duration
	}{{"Retry-After-Ms", time.Millisecond}, {"Retry-After", time.Second}} {
		n, err := strconv.ParseFloat(h.Get(f.name), 64)
		if err == nil && n >= 0 {
			return time.Duration(min(n*float64(f.unit), math.MaxInt64/2)), true
		}
	}
	if at, err := http.ParseTime(h.Get("Retry-After")); err == nil {
		return max(0, at.Sub(now)), true
	}
	return 0, false
}

func statusText(status int) string {
	if status < 300 {
		return "the provider reports an error"
	}
	return strings.TrimSpace(fmt.Sprintf("%d %s", status, strings.ToLower(http.StatusText(status))))
}

func clip(s string) string {
	s = strings.ToValidUTF8(strings.Join(strings.Fields(s), " "), "\uFFFD")
	if len(s) > maxSaid {
		return strings.ToValidUTF8(s[:maxSaid], "") + "..."
	}
	return s
}
