// Package gateway is a model endpoint for one program in a container. The program's calls are passed on to
// the model of the attempt, in the protocol that both speak.
//
// It promises that neither the key nor the address of the endpoint reaches the program, that a call is made
// only when the attempt takes it from [Gateway.Calls], and that a program which sends a request again after a
// broken answer gets the answer of the first. Bytes pass as they are, in both directions, but for the model's
// name and for what would reach beyond the call: see the table of each protocol.
//
// A Gateway knows no agent by name. What each program does is in a configuration.
//
// Its API is not promised to other programs: see package batch.
package gateway

import (
	"cmp"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/tidwall/gjson"
	"golang.org/x/sync/semaphore"

	"batch.example/batch/fault"
	"batch.example/batch/internal/mask"
	"batch.example/batch/llm"
	"batch.example/batch/llm/inbound"
)

// Bounds of one gateway.
const (
	MaxBody  = 64 << 20 // bytes of a request, and of all requests in memory at once
	kept     = 8        // last answers that are kept for a program that asks again
	counting = 4        // requests at once that only count tokens
)

// Config describes a gateway. Count, Helper, Hosted, Mask and Log may be left out.
type Config struct {
	Wire  string // the protocol: one of [llm.Wires]
	Model string // the model's name at its endpoint: whatever name a call has, this model is asked
	Alias string // the model's name for the program
	Token string // that every request carries as its key

	// Count asks the model's endpoint how many tokens a conversation has, which is free and no call. Nil: the
	// program is told that there is no such thing.
	Count func(context.Context, *llm.Relay) error

	Helper string       // the header of calls of other agents than the main one; empty: none is known
	Hosted bool         // leave the tools in requests that run at the provider
	Mask   *mask.Masker // hides secrets in the provider's refusals; nil hides none
	Log    *slog.Logger // nil discards
}

// dialects are the protocols, by the names in [llm.Wires].
var dialects = map[string]dialect{"messages": messages{}, "chat": chat{}, "responses": responses{}, "gemini": gemini{}}

// Gateway serves one program. It is an [http.Handler]. It answers nothing before Open and after Close.
type Gateway struct {
	c       Config
	dialect dialect
	bodies  *semaphore.Weighted
	unsized *semaphore.Weighted // one body at a time is read whose size is not known before
	counts  *semaphore.Weighted
	asked   chan *Call
	over    chan struct{} // closed by Close

	patience, aliveEvery time.Duration // tests have other ones

	mu     sync.Mutex
	open   bool
	why    string       // why no call is made any more
	recent []*recording // the last answers, oldest first
	said   map[string]bool
}

// dialect is how one protocol is served.
type dialect interface {
	routes(method, path string) route
	read(at *url.URL, body []byte) (*inbound.Call, error)
	// edit returns the body that is sent, and the names of what was taken out.
	edit(body []byte, model string, hosted bool) (edited []byte, removed []string, err error)
	header(http.Header) http.Header       // what of a request's header is sent
	models(alias string, one bool) []byte // the list of models, or the one
	lower(body []byte, most int64) []byte // returns an edited body with a lower limit of the answer's tokens
	refusal(status int, message string) []byte
	// broken returns an event that ends a stream with an error for good: the provider's refusal, if it has
	// said one, or the message.
	broken(said []byte, message string) []byte
	// alive returns an event that shows life and means nothing, in a stream with this first event and after this
	// last one; nil if the protocol has none.
	alive(first, last []byte) []byte
	// unasked returns a function that reports whether an event of the answer is only for batch; nil if none is.
	unasked(body []byte) func(event []byte) bool
}

// asItComes is for protocols in which a program gets all events.
type asItComes struct{}

func (asItComes) unasked([]byte) func([]byte) bool { return nil }

// route is what a path is for.
type route int

const (
	routeNone route = iota
	routeCall
	routeCount
	routeModels
	routeModel
	routeHealth
	routeUpgrade // to a WebSocket
)

// routeOf returns what a path is for in a protocol with one path of calls, which clients also ask for without
// the version, and one of models.
func routeOf(method, path, calls, models string) route {
	path = strings.TrimSuffix(path, "/")
	of := func(known string) bool {
		return known != "" && (path == known || path == strings.TrimPrefix(known, "/v1"))
	}
	name, isModel := strings.CutPrefix(path, models+"/")
	switch reads := method == http.MethodGet; {
	case (reads || method == http.MethodHead) && (path == "" || path == "/health"):
		return routeHealth
	case method == http.MethodPost && of(calls):
		return routeCall
	case reads && of(models):
		return routeModels
	case reads && models != "" && isModel && !strings.Contains(name, ".."):
		return routeModel
	}
	return routeNone
}

// only returns the headers with these names.
func only(h http.Header, names ...string) http.Header {
	sent := http.Header{}
	for _, name := range names {
		if values := h.Values(name); len(values) > 0 {
			sent[http.CanonicalHeaderKey(name)] = slices.Clone(values)
		}
	}
	return sent
}

// New returns a gateway. A protocol that it does not know is a Usage fault.
func New(c Config) (*Gateway, error) {
	g := &Gateway{c: c, bodies: semaphore.NewWeighted(MaxBody), unsized: semaphore.NewWeighted(1), counts: semaphore.NewWeighted(counting), asked: make(chan *Call), over: make(chan struct{}), said: map[string]bool{}, patience: patience, aliveEvery: aliveEvery}
	if g.dialect = dialects[c.Wire]; g.dialect == nil {
		return nil, fault.Newf(fault.Usage, "agent.program.wire is %q, expected one of %s", c.Wire, strings.Join(llm.Wires, ", "))
	}
	if g.c.Log == nil {
		g.c.Log = slog.New(slog.DiscardHandler)
	}
	return g, nil
}

// Call is a program's call that has not been made yet. Its taker makes it with Relay, and then calls End.
type Call struct {
	*inbound.Call
	Relay *llm.Relay

	// Helper says that the call is not of the main conversation: it offers no tools, such as one for a
	// title, or says that it is another agent's.
	Helper bool

	ToolBytes int // of its tools' JSON

	recording *recording
	lower     func(body []byte, most int64) []byte
}

// Lower limits the tokens of the answer.
func (c *Call) Lower(most int64) { c.Relay.Body = c.lower(c.Relay.Body, most) }

// End ends a call: its answer was whole, or err says why there is none or only a part. The program gets the
// provider's refusal as it came, or the error in a form that it does not answer by asking again.
func (c *Call) End(err error) { c.recording.end(err) }

// Open lets calls in.
func (g *Gateway) Open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.open = true
}

// Close refuses all calls from now on, saying why, and those that were not taken yet.
func (g *Gateway) Close(why string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.why == "" {
		g.why = cmp.Or(why, "the attempt is over")
		close(g.over)
	}
}

// Calls returns the calls to be made. Who takes one must end it.
func (g *Gateway) Calls() <-chan *Call { return g.asked }

// ServeHTTP implements [http.Handler].
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	kind := g.dialect.routes(r.Method, r.URL.Path)
	switch {
	case kind == routeHealth:
		return
	case !g.authentic(r):
		discard(w, r)
		g.refuse(w, http.StatusUnauthorized, "batch: the key is not the one that this program was given")
	case kind == routeNone, kind == routeCount && g.c.Count == nil:
		discard(w, r)
		g.once("the program asked for something that the gateway does not have", "request", r.Method+" "+r.URL.Path)
		g.missing(w, r)
	case kind == routeModels || kind == routeModel:
		g.write(w, http.StatusOK, g.dialect.models(g.c.Alias, kind == routeModel))
	case kind == routeUpgrade: // Codex then asks by HTTP
		w.Header().Set("Upgrade", "HTTP/1.1")
		g.refuse(w, http.StatusUpgradeRequired, "batch: WebSockets are not served")
	case kind == routeCount:
		g.count(w, r)
	default:
		g.call(w, r)
	}
}

// authentic reports whether a request has the token, wherever its protocol puts keys.
func (g *Gateway) authentic(r *http.Request) bool {
	bearer, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	for _, given := range []string{r.Header.Get("X-Api-Key"), r.Header.Get("X-Goog-Api-Key"), bearer, r.URL.Query().Get("key")} {
		if subtle.ConstantTimeCompare([]byte(given), []byte(g.c.Token)) == 1 {
			return true
		}
	}
	return false
}

// once logs something about what a program asks for, the first time.
func (g *Gateway) once(message, name, value string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.said) < 100 && !g.said[value] {
		g.said[value] = true
		g.c.Log.Info(message, name, value)
	}
}

func (g *Gateway) write(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

func (g *Gateway) refuse(w http.ResponseWriter, status int, message string) {
	g.write(w, status, g.dialect.refusal(status, message))
}

// missing says that there is nothing at an address.
func (g *Gateway) missing(w http.ResponseWriter, r *http.Request) {
	g.refuse(w, http.StatusNotFound, "batch: there is no "+r.Method+" "+r.URL.Path)
}

// call serves a request that costs money.
func (g *Gateway) call(w http.ResponseWriter, r *http.Request) {
	g.withBody(w, r, func(body []byte, asked *inbound.Call) {
		rec, again := g.recorded(sumOf(r.URL.Path, body), r.Header)
		var asking sync.WaitGroup
		defer asking.Wait()
		if !again {
			asking.Go(func() {
				if err := g.ask(r, asked, body, rec); err != nil {
					rec.end(err)
				}
			})
		}
		g.deliver(w, r, rec, delivery{stream: asked.Stream, unasked: g.dialect.unasked(body)})
	})
}

// count serves a request that counts tokens: it is passed on at once, and is no call.
func (g *Gateway) count(w http.ResponseWriter, r *http.Request) {
	if err := g.counts.Acquire(r.Context(), 1); err != nil {
		return
	}
	defer g.counts.Release(1)
	g.withBody(w, r, func(body []byte, _ *inbound.Call) {
		rec := newRecording([sha256.Size]byte{})
		relay, err := g.relay(r, body, rec)
		if err == nil {
			err = g.refused()
		}
		if err == nil {
			relay.Count = true
			err = g.c.Count(r.Context(), relay)
		}
		if err == nil && rec.header == nil || rec.refusal != nil && rec.refusal.status == http.StatusNotFound {
			g.missing(w, r)
			return
		}
		rec.end(err)
		g.deliver(w, r, rec, delivery{})
	})
}

// withBody reads a request and serves it; its body counts as one in memory until then.
func (g *Gateway) withBody(w http.ResponseWriter, r *http.Request, serve func(body []byte, asked *inbound.Call)) {
	body, release, err := g.body(w, r)
	defer release()
	if err != nil {
		g.refuse(w, http.StatusBadRequest, "batch: reading the request: "+err.Error())
		return
	}
	err = shallow(body)
	var asked *inbound.Call
	if err == nil {
		asked, err = g.dialect.read(r.URL, body)
	}
	if name := twice(body); err == nil && name != "" {
		err = fmt.Errorf("%s is there twice", name)
	}
	if err != nil {
		g.refuse(w, http.StatusBadRequest, "batch: reading the request: "+err.Error())
		return
	}
	serve(body, asked)
}

// deepestBody is how many lists and objects within each other a request may have: reading takes time for each level.
const deepestBody = 100

// shallow refuses a request that is nested too deep.
func shallow(body []byte) error {
	depth, quoted := 0, false
	for i := 0; i < len(body); i++ {
		switch c := body[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '[' || c == '{':
			if depth++; depth > deepestBody {
				return fmt.Errorf("it has more than %d lists and objects within each other", deepestBody)
			}
		case c == ']' || c == '}':
			depth--
		}
	}
	return nil
}

// bodyLimit is how long a request's body may take.
const bodyLimit = time.Minute

// body reads a request's body, when there is room for it. The caller must release the room in any case.
func (g *Gateway) body(w http.ResponseWriter, r *http.Request) (body []byte, release func(), err error) {
	release = func() {}
	size := r.ContentLength
	known := 0 <= size && size <= MaxBody && r.Header.Get("Content-Encoding") == ""
	if !known {
		if err := g.unsized.Acquire(r.Context(), 1); err != nil {
			return nil, release, err
		}
		defer g.unsized.Release(1)
		if body, err = readBody(w, r); err != nil {
			return nil, release, err
		}
		size = int64(len(body))
	}
	if err := g.bodies.Acquire(r.Context(), size); err != nil {
		return nil, release, err
	}
	if known {
		body, err = readBody(w, r)
	}
	return body, func() { g.bodies.Release(size) }, err
}

// deadline limits the time of a request's body until its end is called.
func deadline(w http.ResponseWriter) (end func()) {
	c := http.NewResponseController(w)
	_ = c.SetReadDeadline(time.Now().Add(bodyLimit)) // not every server has it
	return func() { _ = c.SetReadDeadline(time.Time{}) }
}

// discard reads a body that is not looked at: a client that still writes would not see the answer.
func discard(w http.ResponseWriter, r *http.Request) {
	defer deadline(w)()
	_, _ = io.Copy(io.Discard, io.LimitReader(r.Body, MaxBody))
}

// sumOf returns a sum of what is asked and where.
func sumOf(path string, body []byte) (sum [sha256.Size]byte) {
	h := sha256.New()
	_, _ = io.WriteString(h, path+"\n") // never fails, as the next
	_, _ = h.Write(body)
	return [sha256.Size]byte(h.Sum(nil))
}

// errNotOpen refuses a call of a program that batch has not started.
var errNotOpen = errors.New("batch: the attempt has not begun")

// refused says why no request is passed on: not yet, or not any more.
func (g *Gateway) refused() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.why != "":
		return errors.New("batch: " + g.why)
	case !g.open:
		return errNotOpen
	}
	return nil
}

// relay returns a request as it is passed on. Its answer goes into a recording.
func (g *Gateway) relay(r *http.Request, body []byte, rec *recording) (*llm.Relay, error) {
	edited, removed, err := g.dialect.edit(body, g.c.Model, g.c.Hosted)
	if err != nil {
		return nil, fmt.Errorf("batch: %w", err)
	}
	for _, what := range removed {
		g.once("taken out of the program's requests: it reaches beyond the call, or runs at the provider", "member", what)
	}
	return &llm.Relay{Header: g.dialect.header(r.Header), Body: edited, Begin: rec.begin, Refused: rec.refused}, nil
}

// ask hands a call over, as long as a client waits for its answer.
func (g *Gateway) ask(r *http.Request, asked *inbound.Call, body []byte, rec *recording) error {
	relay, err := g.relay(r, body, rec)
	if err == nil {
		err = g.refused()
	}
	if err != nil {
		return err
	}
	relay.Stream = asked.Stream
	c := &Call{Call: asked, Relay: relay, Helper: len(asked.Tools) == 0 || g.c.Helper != "" && r.Header.Get(g.c.Helper) != "", ToolBytes: len(gjson.GetBytes(relay.Body, "tools").Raw), recording: rec, lower: g.dialect.lower}
	for {
		changed, left := rec.left()
		if left {
			return nil
		}
		select {
		case g.asked <- c:
			return nil
		case <-changed:
		case <-g.over:
			return errors.New("batch: " + g.why)
		}
	}
}

// recorded returns the recording of a request's answer, for deliver. Again means that the program sends a request again
// whose answer it did not get: it has said so, or the connection broke.
func (g *Gateway) recorded(sum [sha256.Size]byte, h http.Header) (rec *recording, again bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, rec := range g.recent {
		if rec.sum == sum && rec.answers(retried(h)) {
			return rec, true
		}
	}
	rec = newRecording(sum)
	g.recent = append(g.recent, rec)
	over := len(g.recent) - kept
	g.recent = slices.DeleteFunc(g.recent, func(old *recording) bool { // a call under way can always be joined
		gone := over > 0 && old.isOver()
		if gone {
			over--
		}
		return gone
	})
	return rec, false
}

// retried reports whether a client says that it sends a request again: the header of the providers' own
// libraries.
func retried(h http.Header) bool {
	n := h.Get("X-Stainless-Retry-Count")
	return n != "" && n != "0"
}

// readBody returns a request's body without its encoding.
func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	defer deadline(w)()
	var from io.Reader = r.Body
	switch r.Header.Get("Content-Encoding") {
	case "", "identity":
	case "gzip":
		z, err := gzip.NewReader(from)
		if err != nil {
			return nil, err
		}
		from = z
	case "zstd":
		z, err := zstd.NewReader(from, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(MaxBody))
		if err != nil {
			return nil, err
		}
		defer z.Close()
		from = z
	default:
		return nil, fmt.Errorf("the content encoding %q is not known", r.Header.Get("Content-Encoding"))
	}
	body, err := io.ReadAll(io.LimitReader(from, MaxBody+1))
	if err == nil && len(body) > MaxBody {
		err = fmt.Errorf("it has more than %d bytes", MaxBody)
	}
	return body, err
}
