package view

import (
	"bytes"
	"cmp"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"batch.example/batch/results/trajectory"
)

// followEvery is the interval at which a running attempt's file is checked for its readers.
const followEvery = 500 * time.Millisecond

// stream is an answer of server-sent events.
type stream struct {
	w       http.ResponseWriter
	control *http.ResponseController
}

// newStream begins an answer of events.
func newStream(w http.ResponseWriter) *stream {
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	s := &stream{w, http.NewResponseController(w)}
	_ = s.control.Flush()
	return s
}

// send sends an event. Each line of its data is prefixed with "data: ", so that its content cannot end the
// event. A browser that reconnects names the last id other than 0.
func (s *stream) send(event string, id int, data string) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "event: %s\n", event)
	if id > 0 {
		fmt.Fprintf(&b, "id: %d\n", id)
	}
	for line := range strings.SplitSeq(strings.ReplaceAll(data, "\r", "\n"), "\n") {
		fmt.Fprintf(&b, "data: %s\n", line)
	}
	b.WriteString("\n")
	if _, err := s.w.Write(b.Bytes()); err != nil {
		return err
	}
	err := s.control.Flush()
	_ = s.control.SetWriteDeadline(time.Time{}) // HTTP/2 ends a stream at its deadline even if nothing is written
	return err
}

// grows sends the new steps of a running attempt. A step is sent when the next one begins, because its
// commands may run until then.
func (s *Server) grows(w http.ResponseWriter, r *http.Request) {
	o, err := s.open(r)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	last, err := strconv.Atoi(cmp.Or(r.Header.Get("Last-Event-ID"), r.URL.Query().Get("from")))
	if err != nil || last < 0 {
		last = 0
	}
	out := newStream(w)
	tick := time.NewTicker(followEvery)
	defer tick.Stop()
	for {
		if last, err = s.sendSteps(out, o, last); err != nil {
			return
		}
		if o.view.Ended {
			_ = out.send("end", 0, "") // the reader has left
			return
		}
		select {
		case <-r.Context().Done():
			return
		case <-tick.C:
		}
		if _, err = o.attempt.Update(); err == nil {
			o.view, err = o.attempt.Overview()
		}
		if err != nil {
			return
		}
	}
}

// sendSteps sends the complete steps after last, and returns the last sent one.
func (s *Server) sendSteps(out *stream, o *opened, last int) (int, error) {
	complete := len(o.view.Marks)
	if !o.view.Ended {
		complete--
	}
	if complete <= last {
		return last, nil
	}
	page, err := o.attempt.Page(last+1, complete, trajectory.Options{})
	if err != nil {
		return last, err
	}
	for _, st := range page.Steps {
		var b bytes.Buffer
		if err := templates().ExecuteTemplate(&b, "step", o.step(st)); err != nil {
			return last, err
		}
		if err := out.send("append", st.Number, b.String()); err != nil {
			return last, err
		}
		last = st.Number
	}
	return last, nil
}
