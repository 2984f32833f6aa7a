//go:build !race

package serve

import (
	"runtime"
	"sync"
	"testing"

	"github.com/a2aproject/a2a-go/a2a"

	"batch.example/batch/internal/tier"
)

// 200 contexts in one server, each with a running turn.
func TestMemoryOfManyContexts(t *testing.T) {
	tier.Rest(t)
	const n = 200
	model := &parrot{release: make(chan struct{}), held: make(chan struct{}, n)}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	w := newWorld(t, settings{model: model, plain: true, config: func(c *Config) { c.Width = n }})
	c := w.client("")
	ids := make([]a2a.TaskID, n)
	var senders sync.WaitGroup
	for i := range n {
		senders.Go(func() {
			res, err := c.SendMessage(t.Context(), atOnce(say("run true | hold")))
			if err != nil {
				t.Error(err)
				return
			}
			ids[i] = res.(*a2a.Task).ID
		})
	}
	senders.Wait()
	if t.Failed() {
		return
	}
	for range n {
		model.wait(t)
	}
	if got := w.boxes.count(); got != n {
		t.Errorf("%d containers, want %d", got, n)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	used := (after.HeapInuse + after.StackInuse - before.HeapInuse - before.StackInuse) >> 20
	t.Logf("%d contexts with running turns: %d MiB of heap and stacks, %d MiB from the system", n, used, after.Sys>>20)
	if used > 300 || after.Sys>>20 > 300 {
		t.Errorf("%d MiB in use, %d from the system; want at most 300", used, after.Sys>>20)
	}
	close(model.release)
	for _, id := range ids {
		expect(t, until(t, c, id), a2a.TaskStateCompleted, "released")
	}
}
