package stub

import (
	"net/http"
	"strconv"
	"time"

	"batch.example/batch/llm"
)

// Fault is a way for an answer to go wrong below the level of HTTP statuses.
type Fault int

const (
	// None sends the answer unchanged.
	None Fault = iota
	// Garbage sends a 200 with a body that is not JSON.
	Garbage
	// GarbageEvent sends an event that is not JSON in the middle of a stream. Without a stream, it is
	// Garbage.
	GarbageEvent
	// Half announces the whole body, sends half of it and cuts the connection. A stream is
	// cut in the middle of an event.
	Half
	// Cut ends a stream properly, but without its last event. Without a stream, it is Half.
	Cut
	// Broken ends a stream in the middle with the provider's error event for Status and Error. Without a
	// stream, it sends that error, with status 200 if the protocol has such errors.
	Broken
	// Stall sends half, and then nothing until the client gives up or the server is closed.
	Stall
	// Drip sends one byte each Pace.
	Drip
	// Hangup cuts the connection without a byte.
	Hangup
	// Silence sends nothing until the client gives up or the server is closed.
	Silence
)

// reply is one answer on its way.
type reply struct {
	h        *Handler
	w        http.ResponseWriter
	r        *http.Request
	protocol Protocol
	answer   Answer
	call     call
	rate     llm.Rate // the remainder of the Limits
}

func (s *reply) dialect() dialect { return dialects[s.protocol] }

// send waits as the answer says, and sends it. To cut the connection, it panics with the value that net/http
// expects.
func (s *reply) send() {
	a := s.answer
	if a.Delay > 0 && !s.h.wait(s.r, time.After(a.Delay)) {
		return
	}
	switch a.Fault {
	case Silence:
		s.h.wait(s.r, nil)
		panic(http.ErrAbortHandler)
	case Hangup:
		panic(http.ErrAbortHandler)
	}
	if s.streams() {
		s.stream()
		return
	}
	s.whole()
}

// streams reports whether the answer is a stream of events.
func (s *reply) streams() bool {
	a, req := s.answer, s.call.request
	return req != nil && req.Stream && (a.status() == http.StatusOK || a.Fault == Broken) && a.Body == nil && a.Fault != Garbage
}

// body returns an answer that is not streamed, with its status and media type.
func (s *reply) body() (status int, data []byte, kind string) {
	const isJSON = "application/json"
	a := s.answer
	switch {
	case a.Fault == Garbage, a.Fault == GarbageEvent:
		return a.status(), []byte("<html><body>502 from somewhere in between</body>"), "text/html"
	case a.Body != nil:
		return a.status(), a.Body, isJSON
	case a.Fault == Broken:
		status, data = s.inside()
		return status, data, isJSON
	case a.status() == http.StatusBadGateway && a.Error == (ErrorBody{}):
		return a.status(), []byte(page), "text/html"
	case a.status() != http.StatusOK:
		status, data = s.dialect().failure(a)
		if status == http.StatusOK && s.call.request != nil && s.call.request.Stream {
			return status, event{data: data}.bytes(), "text/event-stream"
		}
		return status, data, isJSON
	}
	s.h.sent.remember(s.dialect().named(a, s.call))
	return a.status(), s.dialect().whole(a, s.call), isJSON
}

// inside returns an error in the form of an answer.
func (s *reply) inside() (status int, data []byte) {
	a := s.broken()
	switch d := s.dialect().(type) {
	case responses:
		return http.StatusOK, encode(d.failed(a, s.call))
	case chat:
		_, data := d.failure(a)
		return http.StatusOK, data
	default:
		return d.failure(a)
	}
}

// broken returns the answer with the error that Broken sends.
func (s *reply) broken() Answer {
	a := s.answer
	if a.status() == http.StatusOK {
		a.Status = http.StatusInternalServerError
		if s.protocol == Anthropic {
			a.Status = 529
		}
	}
	return a
}

func (s *reply) whole() {
	status, data, kind := s.body()
	s.header(kind)
	switch s.answer.Fault {
	case Half, Cut, Stall:
		s.w.Header().Set("Content-Length", strconv.Itoa(len(data)))
		s.w.WriteHeader(status)
		_, _ = s.w.Write(data[:len(data)/2])
		s.flush()
		if s.answer.Fault == Stall {
			s.h.wait(s.r, nil)
		}
		panic(http.ErrAbortHandler)
	}
	s.w.WriteHeader(status)
	s.write(data) // ignore an error: the client may be gone
}

func (s *reply) stream() {
	a := s.answer
	if a.Fault != Broken {
		s.h.sent.remember(s.dialect().named(a, s.call))
	}
	s.header("text/event-stream")
	s.w.WriteHeader(http.StatusOK)
	events := s.dialect().events(a, s.call)
	middle := len(events) / 2
	for i, e := range events {
		data := e.bytes()
		switch {
		case a.Fault == Cut && i >= len(events)-s.final():
			return
		case i != middle:
		case a.Fault == Half:
			s.write(data[:len(data)/2])
			s.flush()
			panic(http.ErrAbortHandler)
		case a.Fault == Stall:
			s.flush()
			s.h.wait(s.r, nil)
			panic(http.ErrAbortHandler)
		case a.Fault == Broken:
			s.write(s.dialect().interrupted(s.broken(), s.call).bytes())
			return
		case a.Fault == GarbageEvent:
			data = event{e.name, []byte(`{"half": `)}.bytes()
		}
		if !s.write(data) || !s.pause() {
			return
		}
	}
}

// final returns the number of events at the end of a stream without which a client must not accept the
// answer.
func (s *reply) final() int {
	switch {
	case s.protocol == Anthropic: // message_delta, message_stop
		return 2
	case s.protocol == Chat && s.call.request.wantsUsage() && !s.answer.NoUsage: // the reason, usage, [DONE]
		return 3
	case s.protocol == Chat:
		return 2
	}
	return 1
}

// write sends data, byte by byte if it drips. It reports whether the client is there.
func (s *reply) write(data []byte) bool {
	if s.answer.Fault != Drip {
		_, err := s.w.Write(data)
		return err == nil
	}
	for i := range data {
		if _, err := s.w.Write(data[i : i+1]); err != nil || !s.pause() {
			return false
		}
	}
	return true
}

// pause waits for Pace. It reports whether the client is there.
func (s *reply) pause() bool {
	if s.answer.Pace <= 0 {
		return true
	}
	s.flush()
	return s.h.wait(s.r, time.After(s.answer.Pace))
}

func (s *reply) header(kind string) {
	h := s.w.Header()
	h.Set("Content-Type", kind)
	rate := s.rate
	if s.answer.Rate != (llm.Rate{}) {
		rate = s.answer.Rate
	}
	setRate(h, s.protocol, rate, time.Now())
	s.answer.setRetry(h)
	for name, value := range s.answer.Header {
		h.Set(name, value)
	}
}

func (s *reply) flush() { _ = http.NewResponseController(s.w).Flush() }
