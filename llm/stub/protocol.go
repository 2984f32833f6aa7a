package stub

import (
	"fmt"
	"net/http"
	"strings"

	"batch.example/batch/llm"
)

// Protocol is one of the four protocols of the server.
type Protocol string

// The protocols.
const (
	Chat      Protocol = "chat"      // OpenAI chat completions
	Responses Protocol = "responses" // OpenAI Responses
	Anthropic Protocol = "anthropic" // Anthropic Messages
	Gemini    Protocol = "gemini"    // Google Gemini
)

// dialect reads and writes a protocol. The results of methods that write depend only on their arguments.
type dialect interface {
	// read parses a request and enforces the provider's rules. It returns the parsed part of the request also
	// with an error.
	read(h *Handler, r *http.Request, body []byte) (*Request, *refused)
	// whole returns the answer to a request that does not stream.
	whole(a Answer, c call) []byte
	// events returns the answer to a request that streams.
	events(a Answer, c call) []event
	// named returns an answer's content with the ids and signatures that are sent.
	named(a Answer, c call) []llm.Part
	// failure returns an error answer and its status.
	failure(a Answer) (status int, body []byte)
	// interrupted returns the event of a stream that ends with an error.
	interrupted(a Answer, c call) event
}

var dialects = map[Protocol]dialect{
	Chat: chat{}, Responses: responses{}, Anthropic: anthropic{}, Gemini: gemini{},
}

// call holds the parts of a request that determine its answer.
type call struct {
	n       int // number of the request, from 1
	model   string
	request *Request
}

// event is an event of a stream of server-sent events.
type event struct {
	name string // "" for protocols that do not name events
	data []byte
}

func (e event) bytes() []byte {
	var b []byte
	if e.name != "" {
		b = append(b, "event: "+e.name+"\n"...)
	}
	return append(append(append(b, "data: "...), e.data...), "\n\n"...)
}

// refused says why a request is not answered.
type refused struct {
	status int
	body   ErrorBody
}

func (r *refused) Error() string { return r.body.Message }

// protocolOf returns the protocol for a path; "" if no provider has the path.
func protocolOf(r *http.Request) Protocol {
	path := r.URL.Path
	method := path[strings.LastIndexByte(path, ':')+1:]
	switch {
	case r.Method != http.MethodPost:
		return ""
	case strings.HasSuffix(path, "/chat/completions"):
		return Chat
	case strings.HasSuffix(path, "/responses"):
		return Responses
	case strings.HasSuffix(path, "/v1/messages"):
		return Anthropic
	case strings.Contains(path, "/models/") && (method == "generateContent" || method == "streamGenerateContent"):
		return Gemini
	}
	return ""
}

// said is an error in a provider's words.
type said string

func (s said) Error() string { return string(s) }

func says(format string, args ...any) error { return said(fmt.Sprintf(format, args...)) }
