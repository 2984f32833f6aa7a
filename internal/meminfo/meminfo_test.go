package meminfo_test

import (
	"os"
	"runtime"
	"testing"
	"testing/fstest"

	"batch.example/batch/internal/meminfo"
)

const (
	info = "MemTotal:       24683520 kB\nMemFree:        1000 kB\nMemAvailable:   12341760 kB\nHugePages_Total:       0\n"
	busy = "some avg10=12.50 avg60=0.00 avg300=0.00 total=0\nfull avg10=99.00 avg60=0.00 avg300=0.00 total=0\n"
)

func TestRead(t *testing.T) {
	for _, tt := range []struct {
		name, info, pressure string
		want                 meminfo.Memory
		known                bool
	}{
		{"all", info, busy, meminfo.Memory{Total: 24683520 << 10, Available: 12341760 << 10, Stalled: 0.125}, true},
		{"no pressure file", info, "", meminfo.Memory{Total: 24683520 << 10, Available: 12341760 << 10}, true},
		{"an old kernel", "MemTotal: 1 kB\nMemFree: 1 kB\n", "", meminfo.Memory{Total: 1024}, false},
		{"garbage", "MemTotal: x kB\nMemAvailable: -1 kB\n\n", "some avg10=x\nsome avg10=-1", meminfo.Memory{}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			proc := fstest.MapFS{"meminfo": {Data: []byte(tt.info)}, "pressure/memory": {Data: []byte(tt.pressure)}}
			if got, known := meminfo.Read(proc); got != tt.want || known != tt.known {
				t.Errorf("got %+v, %v; want %+v, %v", got, known, tt.want, tt.known)
			}
		})
	}
	if _, known := meminfo.Read(fstest.MapFS{}); known {
		t.Error("got the memory of a machine without /proc, want unknown")
	}
	if m, known := meminfo.Read(os.DirFS("/proc")); runtime.GOOS == "linux" && (!known || m.Available > m.Total) {
		t.Errorf("this machine: got %+v, known %v", m, known)
	}
}

func FuzzRead(f *testing.F) {
	f.Add(info, busy)
	f.Fuzz(func(t *testing.T, info, pressure string) {
		proc := fstest.MapFS{"meminfo": {Data: []byte(info)}, "pressure/memory": {Data: []byte(pressure)}}
		m, known := meminfo.Read(proc)
		if m.Total < 0 || m.Available < 0 || !(m.Stalled >= 0 && m.Stalled <= 1) || known && m.Total == 0 {
			t.Errorf("got %+v, known %v; want values that are possible", m, known)
		}
	})
}
