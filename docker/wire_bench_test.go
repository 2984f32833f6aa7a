package docker

import (
	"bytes"
	"testing"
)

// BenchmarkWire is the taking apart of 1 MiB of output in frames as the engine
// sends them, and the capping of it.
func BenchmarkWire(b *testing.B) {
	for _, bb := range []struct {
		name  string
		limit int64
	}{{"kept", 2 << 20}, {"capped", 64 << 10}} {
		b.Run(bb.name, func(b *testing.B) {
			frame := bytes.Repeat([]byte("a line of some output\n"), 1490)
			b.SetBytes(int64(32 * len(frame)))
			b.ReportAllocs()
			for b.Loop() {
				w := newWire()
				w.begin(newCapped(bb.limit, nil))
				for range 32 {
					_, _ = w.Write(frame)
				}
				_, _ = w.Write([]byte(string(w.word) + "e 0 0\n"))
				<-w.said
			}
		})
	}
}
