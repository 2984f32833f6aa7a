// Package endpoint is shared by the providers that are called over HTTP. It classifies error answers: the
// kind of fault, whether the call may have been charged, when to retry, and what the user should check. Its
// errors contain no secrets.
//
// Its API is not promised to other programs: see package batch.
package endpoint

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"batch.example/batch/fault"
	"batch.example/batch/internal/mask"
	"batch.example/batch/llm"
)

// Endpoint is the address of a model's server, with the settings of its requests. It is safe for concurrent
// use; its fields must not be changed.
type Endpoint struct {
	Config                    // with the overrides of the kwargs
	Base    *url.URL          // BaseURL, parsed
	Body    map[string]any    // members of each request, without the protocol's own
	Headers map[string]string // headers of each request
	Stream  bool              // whether answers are to be streamed
	Dropped []string          // model_kwargs that the provider does not take
	HTTP    *http.Client      // cuts stalled streams
	Mask    *mask.Masker      // hides the secrets of the config

	protocol      Protocol
	streamTimeout time.Duration // RequestTimeout of a stream
	named         []string      // members of the request as the user wrote them in model_kwargs
	answered      atomic.Bool
}

// Op names the operation in the faults of a call.
func (e *Endpoint) Op() string { return "asking model " + e.Model }

// address returns the base URL without secrets.
func (e *Endpoint) address() string { return e.Mask.Text(e.BaseURL) }

// proven reports whether such a request has been answered before: by the endpoint, or earlier in the same
// conversation.
func (e *Endpoint) proven(req *llm.Request) bool {
	return e.Proven || e.answered.Load() ||
		slices.ContainsFunc(req.Messages, func(msg llm.Message) bool { return msg.Role == llm.RoleAssistant })
}

// Text returns the body of an answer with U+FFFD in place of invalid UTF-8, so that writing it to a file and
// reading it back changes nothing.
func Text(body []byte) []byte {
	if utf8.Valid(body) {
		return body
	}
	return bytes.ToValidUTF8(body, []byte("\uFFFD"))
}

// Members returns the members of an object, which are slices of raw; nil for any other value.
func Members(raw json.RawMessage) map[string]json.RawMessage {
	if !json.Valid(raw) {
		return nil
	}
	all := gjson.ParseBytes(raw)
	if !all.IsObject() {
		return nil
	}
	m := map[string]json.RawMessage{}
	all.ForEach(func(name, value gjson.Result) bool {
		end := value.Index + len(value.Raw)
		m[name.Str] = raw[value.Index:end:end]
		return true
	})
	return m
}

// IsSet reports whether a member of an answer has a value.
func IsSet(raw json.RawMessage) bool {
	switch string(bytes.TrimSpace(raw)) {
	case "", "null", "{}", `""`, "false":
		return false
	}
	return true
}

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
	resp, err := e.ask(ctx, req, send)
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

func (e *Endpoint) ask(ctx context.Context, req *llm.Request, send Send) (*llm.Response, error) {
	limit, within := e.RequestTimeout, ctx
	if req.Relay != nil && req.Relay.Stream {
		limit, within = e.streamTimeout, context.WithValue(ctx, watched{}, true)
	}
	try, cancel := context.WithTimeout(within, limit)
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
		return nil, fault.Newf(fault.Transient, "%s: no answer within %v", e.Op(), limit).
			WithHint("a slow model may need a longer request timeout")
	}
	return nil, e.unreached(err)
}

// maxRefusal bounds the size of an error answer, in bytes.
const maxRefusal = 1 << 20

// errRefused stands for an answer with an error status.
var errRefused = errors.New("the request was refused")

// Send sends a request. An answer with an error status is returned together with an error, with its body in
// memory. The caller must close the body of any other answer.
func (e *Endpoint) Send(r *http.Request) (*http.Response, error) {
	answer, err := e.HTTP.Do(r)
	if err != nil || answer.StatusCode < http.StatusBadRequest {
		return answer, err
	}
	defer answer.Body.Close()
	said, err := io.ReadAll(io.LimitReader(answer.Body, maxRefusal))
	answer.Body = io.NopCloser(bytes.NewReader(said))
	return answer, cmp.Or(err, errRefused)
}

// ended returns a reply that ended normally; any other end is a fault, because the agent must not act on a
// reply that may be truncated. Such a reply may have been charged.
func (e *Endpoint) ended(resp *llm.Response) (*llm.Response, error) {
	if slices.ContainsFunc(e.ReplyEnds, func(word string) bool { return strings.EqualFold(word, resp.FinishReason) }) {
		resp.FinishReason = declared
		return resp, nil
	}
	word := e.Mask.Text(resp.FinishReason)
	odd := llm.Lasting{Err: fmt.Errorf("the reply ended by %q", word)}
	hint := fmt.Sprintf("if the replies of %s that end so are whole, declare it:\n-c 'model.reply_ends=[%q]'", e.address(), word)
	switch end := resp.End(); {
	case end == llm.EndFiltered && !resp.Filtered(), end == llm.EndMalformed, resp.FinishReason == "" && broken(resp):
		odd.Reply = resp // another sample may succeed; if not, the agent reads the reason
	case end == llm.EndUnknown:
		odd.Hint = fmt.Sprintf("no provider is known to end a reply by %q; %s", word, hint)
	case end == llm.EndFailed:
		return nil, fault.New(fault.Transient, e.Op(), odd.Err).WithHint("%s", hint)
	default:
		return resp, nil
	}
	return nil, fault.New(fault.Transient, e.Op(), &odd)
}

// declared replaces a finish reason that the user declared to be the end of a whole reply, so that
// [llm.EndOf] agrees wherever the reply is read, also in a resumed run. The recorded answer keeps the
// provider's word.
const declared = "stop"

// broken reports whether a call's arguments are truncated. A call without arguments is complete.
func broken(resp *llm.Response) bool {
	return slices.ContainsFunc(resp.Message.ToolCalls(), func(c llm.ToolCall) bool { return c.Arguments != "" && !json.Valid([]byte(c.Arguments)) })
}

// Price fills in resp's cost: the provider's own figure in US dollars (named, nil if there is none),
// otherwise the price from the table.
func (e *Endpoint) Price(resp *llm.Response, named *float64) {
	if named != nil && *named > mostPerCall { // it cannot be dollars
		named = nil
	}
	if named != nil {
		resp.Cost, resp.Priced = *named, true
		return
	}
	hasUsage := resp.Usage.Input+resp.Usage.Output > 0
	cost, known := e.Prices.Cost(resp.Usage, cmp.Or(resp.Service, e.service()), e.listed(resp.Model), e.listed(e.Model))
	if known && hasUsage {
		resp.Cost, resp.Priced = cost, true
		return
	}
	resp.Priced = e.IgnoreCost
}

// service returns the service tier in the requests, because gateways leave the tier out of their answers.
func (e *Endpoint) service() (name string) {
	for _, member := range []string{"speed", "service_tier", "serviceTier"} { // the first is Anthropic's
		if asked, ok := e.Body[member].(string); ok && name == "" {
			name = asked
		}
	}
	return name
}

// listed returns a model's name in the table of prices.
func (e *Endpoint) listed(model string) string {
	if e.Provider == "" {
		return model
	}
	return e.Provider + "/" + model
}
