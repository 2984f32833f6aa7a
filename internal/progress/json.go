package progress

import (
	"bytes"
	"cmp"
	_ "embed" // the schema
	"encoding/json"
	"fmt"
	"io"
	"math"
	"time"

	"batch.example/batch/vocab"
)

// Schema is the JSON Schema of the events that [JSON] writes.
//
//go:embed events.schema.json
var Schema string

// JSON writes every event as a JSON object on its own line, in the order of the calls. No event is dropped;
// memory holds those that a slow reader has not read yet.
type JSON struct{ out *queue }

// NewJSON returns a display that writes to w.
func NewJSON(w io.Writer) *JSON { return &JSON{out: newQueue(w)} }

// Event writes e; see [Display].
func (j *JSON) Event(e vocab.Event) {
	if e.Time.IsZero() {
		e.Time = time.Now()
	}
	line, err := encode(e)
	if err != nil { // a cost is NaN or infinite, or a year is after 9999
		j.Event(vocab.Event{Type: vocab.EventMessage, Instance: e.Instance, Text: fmt.Sprintf("an event of type %s cannot be written as JSON: %v", e.Type, err)})
		return
	}
	j.out.put(line)
}

// Close waits until all events are written; see [Display].
func (j *JSON) Close() error { return j.out.close() }

// member is a member of an event's JSON object.
type member struct {
	name     string
	value    any
	optional bool // left out if empty
}

// json returns e as JSON, with the members that [Schema] has for its type.
func encode(e vocab.Event) ([]byte, error) {
	var b, value bytes.Buffer
	enc := json.NewEncoder(&value)
	enc.SetEscapeHTML(false)
	for _, m := range append([]member{{"time", e.Time, false}, {"type", e.Type, false}, {"cell", e.Cell, true}}, members(e)...) {
		if m.optional && (m.value == "" || m.value == 0) {
			continue
		}
		value.Reset()
		if err := enc.Encode(m.value); err != nil {
			return nil, err
		}
		fmt.Fprintf(&b, ",%q:%s", m.name, bytes.TrimSuffix(value.Bytes(), []byte("\n")))
	}
	b.Bytes()[0] = '{'
	b.WriteString("}\n")
	return b.Bytes(), nil
}

func members(e vocab.Event) []member {
	who := []member{{"instance", e.Instance, false}, {"attempt", e.Attempt, false}}
	work := append(who, member{"step", e.Step, false}, member{"cost", e.Cost, false})
	ending := append(work, member{"status", cmp.Or(e.Result, string(e.Status)), false}, member{"outcome", e.Outcome, false},
		member{"blame", e.Blame, true}, member{"error", e.Error, true})
	totals := []member{{"instances", e.Total, false}, {"done", e.Done, false}, {"cost", e.Cost, false}}
	if e.Lost > 0 {
		totals = append(totals, member{"lost", e.Lost, true}, member{"held", e.Held, true})
	}
	switch e.Type {
	case vocab.EventRunStart:
		return append(totals, member{"directory", e.Directory, false}, member{"model", e.Model, false}, member{"dataset", e.Dataset, false},
			member{"workers", e.Workers, false}, member{"version", e.Version, false}, member{"pid", e.PID, false})
	case vocab.EventInstanceStart:
		return who
	case vocab.EventPhase:
		return append(work, member{"phase", e.Phase, false}, member{"engine", e.Engine, true})
	case vocab.EventCallRetry:
		return append(work, member{"try", e.Try, false}, member{"tries", e.Tries, false}, member{"wait_seconds", seconds(e.Wait), false},
			member{"rate_limited", e.RateLimited, false}, member{"error", e.Error, false})
	case vocab.EventInstanceRetry:
		return append(ending, member{"wait_seconds", seconds(e.Wait), false})
	case vocab.EventInstanceEnd:
		return ending
	case vocab.EventGraded:
		return []member{{"instance", e.Instance, false}, {"verdict", e.Verdict, false}, {"error", e.Error, true}}
	case vocab.EventPull:
		return []member{
			{"instance", e.Instance, true},
			{"image", e.Image, true},
			{"bytes", e.Bytes, false},
			{"bytes_total", e.BytesTotal, false},
			{"ended", e.Ended, false},
			{"error", e.Error, true},
		}
	case vocab.EventMessage:
		return []member{{"instance", e.Instance, true}, {"text", e.Text, false}}
	case vocab.EventRunEnd:
		if e.Outcomes == nil {
			e.Outcomes = map[string]int{}
		}
		return append(totals, member{"outcomes", e.Outcomes, false}, member{"elapsed_seconds", seconds(e.Elapsed), false}, member{"error", e.Error, true})
	}
	return nil
}

// seconds returns seconds rounded to a millisecond.
func seconds(d time.Duration) float64 { return math.Round(d.Seconds()*1000) / 1000 }
