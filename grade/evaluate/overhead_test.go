package evaluate_test

import (
	"testing"
	"time"

	"batch.example/batch/grade/evaluate"
	"batch.example/batch/sandbox"
)

// BenchmarkOverhead measures an evaluation without its tests: opening a container, the patch,
// reading the log, and removing the container.
func BenchmarkOverhead(b *testing.B) {
	h := newBench(b)
	in := h.rows[victim]
	var open, apply, read, remove time.Duration
	for b.Loop() {
		began := time.Now()
		s, err := h.host.Open(b.Context(), sandbox.Opening{Instance: in, Attempt: 1, Pristine: true, Report: func(string) {}})
		if err != nil {
			b.Fatal(err)
		}
		open += time.Since(began)
		e, err := evaluate.Run(b.Context(), box{s}, jobFor(in, in.Patch))
		if err != nil {
			b.Fatal(err)
		}
		apply += e.Apply
		began = time.Now()
		if !judge(b, in, e.Log).Resolved {
			b.Fatalf("gold does not resolve\n%s", e.Log.Text)
		}
		read += time.Since(began)
		began = time.Now()
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
		remove += time.Since(began)
	}
	each := func(d time.Duration) float64 { return d.Seconds() * 1000 / float64(b.N) }
	b.ReportMetric(each(open), "ms-open")
	b.ReportMetric(each(apply), "ms-apply")
	b.ReportMetric(each(read), "ms-judge")
	b.ReportMetric(each(remove), "ms-remove")
	b.ReportMetric(each(open+apply+read+remove), "ms-overhead")
}
