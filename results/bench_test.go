package results_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"batch.example/batch/results"
)

func BenchmarkJournalAppend(b *testing.B) {
	a, err := open(b, b.TempDir()).Begin("a")
	if err != nil {
		b.Fatal(err)
	}
	reply := map[string]any{"cost": 0.01, "message": strings.Repeat("some text ", 400)}
	for _, sync := range []bool{false, true} {
		b.Run(fmt.Sprintf("sync=%v", sync), func(b *testing.B) {
			for b.Loop() {
				if err := a.Journal().Append(results.TypeReply, reply); err != nil {
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
				if err := s.Put(b.Context(), result(fmt.Sprintf("i-%d", i), patch)); err != nil {
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
			b.Fatal("not finished")
		}
		closeStore(b, s)
	}
}
