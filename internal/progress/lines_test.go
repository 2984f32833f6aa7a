package progress

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestLinesShowStartsEndsAndSummaries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b bytes.Buffer
		l := NewLines(&b)
		l.Event(Event{Type: RunStart, Total: 3, Done: 1, Cost: 0.5})
		l.Event(Event{Type: InstanceStart, Instance: "one", Attempt: 1})
		l.Event(Event{Type: InstanceStart, Instance: "two\n\x1b[2J", Attempt: 2})
		for step := range 65 {
			l.Event(Event{Type: InstancePhase, Instance: "one", Phase: "model", Step: step, Cost: 0.01})
			time.Sleep(time.Second)
		}
		l.Event(Event{Type: InstanceEnd, Instance: "one", Status: "Submitted", Step: 65, Cost: 0.02})
		l.Event(Event{Type: InstanceEnd, Instance: "two\n\x1b[2J", Status: "HostFault", Error: "engine gone:\nEOF"})
		l.Event(Event{Type: Message, Text: "draining"})
		l.Event(Event{Type: RunEnd})
		for range 2 {
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
		}
		l.Event(Event{Type: Message, Text: "too late"})
		want := `
00:00:00 run: 3 instances, 1 kept from earlier runs
00:00:00 start one
00:00:00 start two \u001b[2J (attempt 2)
00:00:30 1/3 done, 2 running, $0.510, elapsed 30s
00:01:00 1/3 done, 2 running, $0.510, elapsed 1m00s
00:01:05 end one: Submitted, 65 steps, $0.020, 1m05s [2/3]
00:01:05 end two \u001b[2J: HostFault, 0 steps, $0.00, 1m05s [3/3]: engine gone: EOF
00:01:05 draining
00:01:05 3/3 done, $0.520, elapsed 1m05s; HostFault 1, Submitted 1
`
		if d := cmp.Diff(want, "\n"+b.String()); d != "" {
			t.Errorf("lines differ (-want +got):\n%s", d)
		}
	})
}

func TestLinesDoNotCountPendingInstances(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b bytes.Buffer
		l := NewLines(&b)
		l.Event(Event{Type: RunStart, Total: 6})
		l.Event(Event{Type: InstanceStart, Instance: "one"})
		l.Event(Event{Type: InstanceEnd, Instance: "one", Status: "Interrupted", Outcome: "pending"})
		l.Event(Event{Type: RunEnd})
		_ = l.Close()
		want := `
00:00:00 run: 6 instances
00:00:00 start one
00:00:00 end one: Interrupted, 0 steps, $0.00, 0s [0/6]
00:00:00 0/6 done, $0.00, elapsed 0s; Interrupted 1
`
		if d := cmp.Diff(want, "\n"+b.String()); d != "" {
			t.Errorf("lines differ (-want +got):\n%s", d)
		}
	})
}

func TestJSONWritesOneObjectPerEvent(t *testing.T) {
	var b bytes.Buffer
	j := NewJSON(&b)
	at := time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)
	events := []Event{
		{Time: at, Type: RunStart, Total: 3, Done: 1},
		{Time: at, Type: InstancePhase, Instance: "a<b\n\x1b", Attempt: 2, Phase: "model", Step: 7, Cost: 0.25},
		{Time: at, Type: Pull, Text: "image:tag", Bytes: 5, BytesTotal: 10, Status: PullDone},
		{Time: at, Type: InstanceEnd, Instance: "x", Status: "Submitted", Outcome: "submitted", Error: "e"},
	}
	for _, e := range events {
		j.Event(e)
	}
	j.Event(Event{Type: RunEnd, Cost: math.NaN()})
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	want := `{"time":"2026-05-04T03:02:01Z","type":"phase","instance":"a<b\n\u001b","attempt":2,"phase":"model","step":7,"cost":0.25}`
	if lines[1] != want {
		t.Errorf("got  %s\nwant %s", lines[1], want)
	}
	for i, line := range lines {
		var got Event
		if err := json.Unmarshal([]byte(line), &got); err != nil {
			t.Fatalf("line %d: %v", i+1, err)
		}
		if i < len(events) && got != events[i] {
			t.Errorf("line %d reads as %+v, want %+v", i+1, got, events[i])
		}
	}
	if len(lines) != len(events)+1 {
		t.Errorf("%d lines for %d events", len(lines), len(events)+1)
	}
}

func TestASlowReaderHoldsNobodyUpAndLosesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := stuck{make(chan struct{})}
		j := NewJSON(s)
		for range 1000 {
			j.Event(Event{Type: Message, Text: "m"})
		}
		closed := make(chan error)
		go func() { closed <- j.Close() }()
		synctest.Wait()
		select {
		case <-closed:
			t.Error("Close returned before all was written")
		default:
		}
		close(s.free)
		if err := <-closed; err != nil {
			t.Error(err)
		}
	})
}

func TestAWriteErrorComesOutOfClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &broken{}
		j := NewJSON(b)
		for range 10 {
			j.Event(Event{Type: Message, Text: "m"})
			synctest.Wait()
		}
		if err := j.Close(); !errors.Is(err, errGone) || b.writes != 1 {
			t.Errorf("Close: %v after %d writes, want %v after one", err, b.writes, errGone)
		}
	})
}
