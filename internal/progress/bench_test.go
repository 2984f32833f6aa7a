package progress

import (
	"fmt"
	"io"
	"testing"
	"time"
)

// The cost of painting a frame and of an event with a thousand agents at once.
func BenchmarkFrameOfAThousandAgents(b *testing.B) {
	now := time.Unix(0, 0)
	s := newState(20000, 1000, now)
	for i := range 20000 {
		s.apply(Event{Type: InstanceStart, Instance: fmt.Sprint(i), Time: now})
		if i < 19000 {
			s.apply(Event{Type: InstanceEnd, Instance: fmt.Sprint(i), Status: "Submitted", Outcome: "submitted", Time: now})
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		frame(s, now, 120, 50)
	}
}

func BenchmarkEvent(b *testing.B) {
	d := NewTerminal(io.Discard, nil, 1, 1, nil)
	defer d.Close()
	start(d, "one")
	b.ReportAllocs()
	for b.Loop() {
		phase(d, "one", "model", 3, 0.5)
	}
}
