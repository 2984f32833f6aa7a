package export_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"batch.example/batch/results/export"
)

// A run of many instances, each of 250 steps with outputs of 10 kB, is written in the
// memory of one attempt. most is the largest heap.
func BenchmarkWrite(b *testing.B) {
	for _, instances := range []int{4, 40} {
		b.Run(fmt.Sprintf("instances=%d", instances), func(b *testing.B) {
			dir := b.TempDir()
			preds := map[string]map[string]string{}
			for i := range instances {
				id := fmt.Sprintf("a__b-%d", i)
				put(b, filepath.Join(dir, id, id+".traj.json"), trajectoryOf(b, 250))
				preds[id] = map[string]string{"model_name_or_path": "m", "instance_id": id, "model_patch": "p"}
			}
			text, err := json.Marshal(preds)
			if err != nil {
				b.Fatal(err)
			}
			put(b, filepath.Join(dir, "preds.json"), text)
			stop, most := watchHeap()
			for b.Loop() {
				out := b.TempDir()
				runs, err := export.Open([]string{dir})
				if err == nil {
					_, err = export.Write(runs, export.Options{}, export.Chat(filepath.Join(out, "c.jsonl")),
						export.ATIF(filepath.Join(out, "atif"), false), export.Steps(filepath.Join(out, "s.parquet")))
				}
				if err != nil {
					b.Fatal(err)
				}
			}
			close(stop)
			b.ReportMetric(<-most/(1<<20), "most-MB")
			b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N)/float64(instances), "ms/instance")
		})
	}
}

func trajectoryOf(b *testing.B, steps int) []byte {
	messages := []any{map[string]any{"role": "user", "content": "Fix it."}}
	for i := range steps {
		id, output := fmt.Sprintf("c%d", i), strings.Repeat("a line of output\n", 600)
		messages = append(messages, map[string]any{
			"role": "assistant", "content": "I look.", "tool_calls": []any{map[string]any{
				"id": id, "type": "function", "function": map[string]any{"name": "bash", "arguments": `{"command":"cat f"}`},
			}},
		}, map[string]any{"role": "tool", "tool_call_id": id, "content": output, "extra": map[string]any{"raw_output": output, "returncode": 0}})
	}
	text, err := json.Marshal(map[string]any{"messages": messages})
	if err != nil {
		b.Fatal(err)
	}
	return text
}

// watchHeap samples the heap until stop is closed, and then sends the largest size.
func watchHeap() (stop chan struct{}, most chan float64) {
	stop, most = make(chan struct{}), make(chan float64, 1)
	runtime.GC()
	go func() {
		var largest uint64
		var m runtime.MemStats
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for {
			runtime.ReadMemStats(&m)
			largest = max(largest, m.HeapAlloc)
			select {
			case <-stop:
				most <- float64(largest)
				return
			case <-tick.C:
			}
		}
	}()
	return stop, most
}
