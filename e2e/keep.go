package e2e

import (
	"os"
	"strings"
	"sync"
	"time"

	"batch.example/batch/internal/owner"
	"batch.example/batch/results"
)

// Keep lets the containers of a run directory outlive the process that has them: other
// tests' runs, which remove the containers of dead ones, find this process in its lease.
// It lasts until stop is called.
func Keep(dir string) (stop func()) {
	lease, line := results.LockPath(dir), owner.Self().String()+"\n"
	done := make(chan struct{})
	var g sync.WaitGroup
	g.Go(func() {
		for {
			select {
			case <-done:
				return
			case <-time.After(5 * time.Millisecond):
			}
			text, err := os.ReadFile(lease)
			if err != nil || len(text) == 0 || strings.Contains(string(text), line) {
				continue // it was never held, it was given up, or this process is in it
			}
			f, err := os.OpenFile(lease, os.O_APPEND|os.O_WRONLY, 0)
			if err != nil {
				continue
			}
			_, _ = f.WriteString(line) // if it fails, it is tried again
			_ = f.Close()
		}
	})
	return func() {
		close(done)
		g.Wait()
	}
}
