package trajectory_test

import (
	"testing"

	"batch.example/batch/journal"
	"batch.example/batch/results/trajectory"
)

// A journal of 150 MB opens in less than 300 ms, with the page that is shown first.
func BenchmarkOpen150MB(b *testing.B) {
	for name, output := range map[string]int{"steps of 40 kB": 20 << 10, "steps of 1 MB": 700 << 10} {
		b.Run(name, func(b *testing.B) {
			w := large(b, 150_000_000, output)
			b.ResetTimer()
			b.ReportAllocs()
			for b.Loop() {
				a, err := trajectory.NewCache(1).Attempt(trajectory.Source{Dir: w.dir, Instance: demo, Attempt: -1}, nil)
				if err != nil {
					b.Fatal(err)
				}
				if p, err := a.Page(1, 20, trajectory.Options{}); err != nil || len(p.Steps) != 20 {
					b.Fatal(err)
				}
			}
		})
	}
}

// The index of a journal that grows by a step.
func BenchmarkUpdate(b *testing.B) {
	w := large(b, 20_000_000, 20<<10)
	w.open()
	x, err := journal.NewIndex(w.path)
	if err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
	for b.Loop() {
		w.step = stepsIn(x)
		w.full("I look.", "ls", "a.py\n")
		w.flush()
		if _, err := x.Update(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkIndex150MB(b *testing.B) {
	w := large(b, 150_000_000, 20<<10)
	b.ResetTimer()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := journal.NewIndex(w.path); err != nil {
			b.Fatal(err)
		}
	}
}
