package progress

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"batch.example/batch/fault"
	"batch.example/batch/internal/progress/schematest"
	"batch.example/batch/vocab"
)

// checker returns a function that fails the test unless a line is an event of the schema without other
// members, and that returns the event.
func checker(t *testing.T) (s *jsonschema.Schema, check func(line []byte) map[string]any) {
	t.Helper()
	var doc struct {
		Defs map[string]struct{ Properties map[string]any } `json:"$defs"`
	}
	if err := json.Unmarshal([]byte(Schema), &doc); err != nil {
		t.Fatal(err)
	}
	s = schematest.Compile(t, Schema)
	return s, func(line []byte) map[string]any {
		t.Helper()
		var event map[string]any
		if err := json.Unmarshal(line, &event); err != nil {
			t.Fatal(err)
		}
		if err := s.Validate(event); err != nil {
			t.Errorf("%s: %v", line, err)
		}
		for name := range event {
			if _, known := doc.Defs[event["type"].(string)].Properties[name]; !known {
				t.Errorf("%s: the schema does not describe %s", line, name)
			}
		}
		return event
	}
}

func everyType() []vocab.Event {
	at := time.Date(2001, 5, 4, 3, 2, 1, 0, time.UTC)
	return []vocab.Event{
		{Time: at, Type: vocab.EventRunStart, Total: 3, Done: 1, Cost: 0.5, Directory: "/r", Model: "m", Dataset: "d", Version: "v", PID: 7, Workers: 2},
		{Time: at, Type: vocab.EventInstanceStart, Instance: "a<b\n\x1b", Attempt: 2},
		{Time: at, Type: vocab.EventPhase, Instance: "a", Attempt: 2, Phase: "model", Step: 7, Cost: 0.25},
		{
			Time: at, Type: vocab.EventCallRetry, Instance: "a", Attempt: 1, Step: 7, Cost: 0.25, Try: 2, Tries: 10, Wait: 1500 * time.Millisecond,
			RateLimited: true, Error: "429 too many requests",
		},
		{
			Time: at, Type: vocab.EventInstanceRetry, Instance: "a", Attempt: 1, Status: "TransientFault", Outcome: "infrastructure", Blame: "transient",
			Error: "gone", Wait: 5 * time.Second,
		},
		{Time: at, Type: vocab.EventInstanceEnd, Instance: "a", Attempt: 1, Status: "Submitted", Outcome: "submitted"},
		{Time: at, Type: vocab.EventPull, Image: "image:tag", Bytes: 5, BytesTotal: 10, Ended: true},
		{Time: at, Type: vocab.EventMessage, Text: "hello"},
		{Time: at, Type: vocab.EventRunEnd, Total: 3, Done: 2, Outcomes: map[string]int{"submitted": 2, "pending": 1}, Elapsed: time.Minute, Error: "e"},
		{Time: at, Type: vocab.EventRunEnd},
	}
}

func TestJSONWritesOneObjectPerEvent(t *testing.T) {
	var b bytes.Buffer
	j := NewJSON(&b)
	for _, e := range everyType() {
		j.Event(e)
	}
	j.Event(vocab.Event{Type: vocab.EventRunEnd, Cost: math.NaN()})
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	want := strings.ReplaceAll(`
{NOW,"type":"run_start","instances":3,"done":1,"cost":0.5,"directory":"/r","model":"m","dataset":"d","workers":2,"version":"v","pid":7}
{NOW,"type":"instance_start","instance":"a<b\n\u001b","attempt":2}
{NOW,"type":"phase","instance":"a","attempt":2,"step":7,"cost":0.25,"phase":"model"}
{NOW,"type":"call_retry","instance":"a","attempt":1,"step":7,"cost":0.25,"try":2,"tries":10,"wait_seconds":1.5,"rate_limited":true,"error":"429 too many requests"}
{NOW,"type":"instance_retry","instance":"a","attempt":1,"step":0,"cost":0,"status":"TransientFault","outcome":"infrastructure","blame":"transient","error":"gone","wait_seconds":5}
{NOW,"type":"instance_end","instance":"a","attempt":1,"step":0,"cost":0,"status":"Submitted","outcome":"submitted"}
{NOW,"type":"pull","image":"image:tag","bytes":5,"bytes_total":10,"ended":true}
{NOW,"type":"message","text":"hello"}
{NOW,"type":"run_end","instances":3,"done":2,"cost":0,"outcomes":{"pending":1,"submitted":2},"elapsed_seconds":60,"error":"e"}
{NOW,"type":"run_end","instances":0,"done":0,"cost":0,"outcomes":{},"elapsed_seconds":0}
`, "NOW", `"time":"2001-05-04T03:02:01Z"`)
	got, last, _ := strings.Cut(b.String(), `{"time":"`+time.Now().Format("2006-"))
	if d := cmp.Diff(want, "\n"+got); d != "" {
		t.Errorf("the events differ (-want +got):\n%s", d)
	}
	if !strings.Contains(last, `"type":"message","text":"an event of type run_end cannot be written as JSON`) {
		t.Errorf("an event that cannot be written is reported as %q", last)
	}
}

func TestEventsAreAsTheSchemaSays(t *testing.T) {
	s, check := checker(t)
	for _, e := range everyType() {
		line, err := encode(e)
		if err != nil {
			t.Fatal(err)
		}
		event := check(line)
		for name := range event { // members that are always present must be required
			if optional(e, name) {
				continue
			}
			without := map[string]any{}
			for k, v := range event {
				if k != name {
					without[k] = v
				}
			}
			if s.Validate(without) == nil {
				t.Errorf("%s: the schema does not require %s", line, name)
			}
		}
	}
}

func TestTheSchemaHasEveryKindOfFault(t *testing.T) {
	_, check := checker(t)
	for kind := fault.Unknown; kind <= fault.Expired; kind++ {
		line, err := encode(vocab.Event{
			Type: vocab.EventInstanceEnd, Instance: "a", Attempt: 1, Status: kind.Status(), Outcome: "infrastructure", Blame: kind.String(), Error: "e",
		})
		if err != nil {
			t.Fatal(err)
		}
		check(line)
	}
}

// optional reports whether some events of e's type lack this member.
func optional(e vocab.Event, name string) bool {
	for _, m := range members(e) {
		if m.name == name {
			return m.optional
		}
	}
	return false
}
