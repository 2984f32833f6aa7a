package results_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"batch.example/batch/journal"
	"batch.example/batch/results"
	"batch.example/batch/results/manifest"
)

const (
	benchAgents = 500
	benchReply  = 2 << 10 // bytes of a reply and of an output
)

// step journals one step as the solver does, which takes at least d.
func step(j *journal.Writer, n int, d time.Duration) error {
	text := strings.Repeat("some text ", benchReply/10)
	raw, _ := json.Marshal(text)
	err := j.Append(journal.TypeRequest, journal.RequestData{Step: n})
	if err == nil {
		err = j.Sync()
	}
	time.Sleep(d / 2) // the model
	if err == nil {
		err = j.Append(journal.TypeReply, journal.ReplyData{Step: n, Cost: 0.01, Message: raw})
	}
	if err == nil {
		err = j.Flush()
	}
	if err == nil {
		err = j.Append(journal.TypeMessages, journal.MessagesData{Messages: []json.RawMessage{raw}})
	}
	if err == nil {
		err = j.Append(journal.TypeAction, journal.ActionData{Step: n, Command: "true"})
	}
	if err == nil {
		err = j.Sync()
	}
	time.Sleep(d / 2) // the command
	if err == nil {
		err = j.Append(journal.TypeOutput, journal.OutputData{Step: n, Kept: []byte(text)})
	}
	if err == nil {
		err = j.Append(journal.TypeMessages, journal.MessagesData{Messages: []json.RawMessage{raw}})
	}
	return err
}

// agents runs n steps of 500 agents at once and returns how long that took.
func agents(b *testing.B, level journal.Durability, n int, d time.Duration) time.Duration {
	s, err := results.Open(b.TempDir(), results.Options{Durability: level})
	if err != nil {
		b.Fatal(err)
	}
	journals := make([]*journal.Writer, benchAgents)
	for i := range journals {
		a, err := s.Begin(fmt.Sprintf("i-%d", i), manifest.Settings{})
		if err != nil {
			b.Fatal(err)
		}
		journals[i] = a.Journal()
	}
	var wg sync.WaitGroup
	begun := time.Now()
	for i, j := range journals {
		wg.Go(func() {
			time.Sleep(d * time.Duration(i) / benchAgents) // not all at the same instant
			for k := range n {
				if err := step(j, k+1, d); err != nil {
					b.Error(err)
				}
			}
		})
	}
	wg.Wait()
	took := time.Since(begun)
	closeStore(b, s)
	return took
}

// BenchmarkFiveHundredAgents measures the cost of durability: how much longer the steps of
// 500 agents take with it than without it, in one run.
func BenchmarkFiveHundredAgents(b *testing.B) {
	for _, bench := range []struct {
		step  time.Duration
		steps int
	}{{time.Second, 10}, {200 * time.Millisecond, 25}, {50 * time.Millisecond, 60}, {0, 40}} {
		b.Run(fmt.Sprintf("step=%v", bench.step), func(b *testing.B) {
			var process, power time.Duration
			for b.Loop() {
				process += agents(b, journal.Process, bench.steps, bench.step)
				power += agents(b, journal.Power, bench.steps, bench.step)
			}
			b.ReportMetric(power.Seconds()/process.Seconds(), "power/process")
			b.ReportMetric(float64(b.N*bench.steps*benchAgents)/power.Seconds(), "steps/s")
		})
	}
}
