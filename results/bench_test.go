package results_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"batch.example/batch/journal"
	"batch.example/batch/results"
	"batch.example/batch/results/manifest"
)

func BenchmarkJournalAppend(b *testing.B) {
	a, err := open(b, b.TempDir()).Begin("a", manifest.Settings{})
	if err != nil {
		b.Fatal(err)
	}
	reply := map[string]any{"cost": 0.01, "message": strings.Repeat("some text ", 400)}
	for _, sync := range []bool{false, true} {
		b.Run(fmt.Sprintf("sync=%v", sync), func(b *testing.B) {
			for b.Loop() {
				if err := a.Journal().Append(journal.TypeReply, reply); err != nil {
					b.Fatal(err)
				}
				if !sync {
					continue
				}
				if err := a.Journal().Sync(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func fill(b *testing.B, dir string, n int) {
	s, err := results.Open(dir, results.Options{})
	if err != nil {
		b.Fatal(err)
	}
	patch := strings.Repeat("+ a line of a patch\n", 75)
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			for i := w; i < n; i += 8 {
				if _, err := s.Put(b.Context(), result(fmt.Sprintf("i-%d", i), patch)); err != nil {
					b.Error(err)
				}
			}
		})
	}
	wg.Wait()
	closeStore(b, s)
}

func BenchmarkPut3000(b *testing.B) {
	for b.Loop() {
		fill(b, b.TempDir(), 3000)
	}
}

func BenchmarkOpen500(b *testing.B) {
	dir := b.TempDir()
	fill(b, dir, 500)
	for b.Loop() {
		s, err := results.Open(dir, results.Options{})
		if err != nil {
			b.Fatal(err)
		}
		if _, ok := s.Finished("i-499"); !ok {
			b.Fatal("a finished instance is not finished after opening")
		}
		closeStore(b, s)
	}
}

// BenchmarkResume500 measures the cost of a crash at the next start: it opens a directory
// of 500 attempts that were interrupted in their fiftieth step, and resumes the first.
func BenchmarkResume500(b *testing.B) {
	dir := b.TempDir()
	text := strings.Repeat("some text ", 400)
	step := []any{
		journal.TypeRequest, request(1), journal.TypeReply, reply(1), journal.TypeMessages, says(text),
		journal.TypeAction, action(1, "a"), journal.TypeOutput, output(1, text), journal.TypeMessages, says(text),
	}
	s, err := results.Open(dir, results.Options{Durability: journal.Process})
	if err != nil {
		b.Fatal(err)
	}
	for i := range 500 {
		a, err := s.Begin(fmt.Sprintf("i-%d", i), manifest.Settings{})
		if err != nil {
			b.Fatal(err)
		}
		tell(b, a, journal.TypeContainer, container)
		for range 50 {
			tell(b, a, step...)
		}
		if err := a.Close(); err != nil {
			b.Fatal(err)
		}
	}
	closeStore(b, s)
	for b.Loop() {
		s, err := results.Open(dir, results.Options{})
		if err != nil {
			b.Fatal(err)
		}
		if _, h, err := s.Resume("i-0", manifest.Settings{}); err != nil || len(h.Steps) != 50 {
			b.Fatal(err, h)
		}
		b.StopTimer()
		closeStore(b, s)
		b.StartTimer()
	}
}
