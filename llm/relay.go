package llm

import (
	"io"
	"net/http"
)

// Wires are the names of the protocols of relays, which an endpoint and a program may share.
var Wires = []string{"messages", "chat", "responses", "gemini"}

// Relay is a request that a program wrote itself, in the protocol of the model's endpoint. The model sends
// these bytes in place of the Messages and Tools of its [Request], with its own address, key and headers, and
// passes the answer on as it comes. The caller must know that the protocols are the same.
type Relay struct {
	Header http.Header // added to the model's own, which win
	Body   []byte
	Stream bool // the answer is asked for as a stream
	Count  bool // the request only counts the tokens of a conversation: it is free, and its response is empty

	// Begin is called when the provider begins to answer a request that it has accepted, once for each such
	// try. What is then written has been read from the provider, and is the whole answer if the call has no
	// error. A try cannot be repeated any more when a part of it was passed on: see [Request.Trying].
	Begin func(header http.Header) io.Writer

	// Refused is called with an answer that refuses a try, as it came.
	Refused func(status int, header http.Header, body []byte)
}
