package main

import (
	"sync"
	"time"

	"github.com/docker/go-units"

	"batch.example/batch/internal/printable"
)

const eraseLine = "\r\x1b[K"

// hubProgress returns what shows a dataset's download on a terminal, or nil.
func (a *app) hubProgress() func(file string, done, total int64) {
	f, ok := a.terminal()
	if !ok {
		return nil
	}
	var mu sync.Mutex
	var last time.Time
	return func(file string, done, total int64) {
		mu.Lock()
		defer mu.Unlock()
		if done < total && time.Since(last) < 100*time.Millisecond {
			return
		}
		last = time.Now()
		end := ""
		if done >= total {
			end = "\n"
		}
		_, _ = f.WriteString(eraseLine + "downloading " + printable.Line(file) + " " + units.HumanSize(float64(done)) + " of " + units.HumanSize(float64(total)) + end)
	}
}
