package main

import (
	"strings"
	"testing"
	"testing/fstest"
)

const gib = int64(1) << 30

func TestWorkersAuto(t *testing.T) {
	for _, tt := range []struct {
		name    string
		machine machine
		limit   int64
		todo    int
		want    int
		why     string
	}{
		{"cores", machine{cores: 2, total: 24 * gib, available: 23 * gib, files: 20000}, 8 * gib, 500, 8, "4 for each of 2 cores"},
		{"memory", machine{cores: 16, total: 32 * gib, available: 12 * gib, files: 20000}, 0, 500, 4, "memory for 4, of 2GiB each and 3.2GiB left over"},
		{"small containers", machine{cores: 16, total: 32 * gib, available: 12 * gib}, gib, 500, 8, "memory for 8, of 1GiB each"},
		{"instances", machine{cores: 16, total: 640 * gib, available: 600 * gib}, 0, 3, 3, "3 instances"},
		{"open files", machine{cores: 64, total: 640 * gib, available: 600 * gib, files: 256}, 0, 500, 16, "open files for 16"},
		{"no memory left", machine{cores: 4, total: 8 * gib, available: gib / 2}, 0, 500, 1, "memory for 0"},
		{"memory unknown", machine{cores: 4}, 0, 500, 16, "4 for each of 4 cores"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := width{auto: true}
			w.resolve(tt.machine, tt.limit, tt.todo)
			if w.n != tt.want || !strings.Contains(w.why, tt.why) {
				t.Errorf("%d: %s; want %d and %q", w.n, w.why, tt.want, tt.why)
			}
		})
	}
	w := width{n: 3}
	if w.resolve(machine{cores: 1}, 0, 1); w.n != 3 || w.why != "" {
		t.Errorf("a number given became %d (%s)", w.n, w.why)
	}
}

func TestTheMemoryGate(t *testing.T) {
	for _, tt := range []struct{ name, info, pressure, want string }{
		{"plenty", "MemTotal: 8388608 kB\nMemAvailable: 4194304 kB\n", "some avg10=9.99 avg60=50\n", ""},
		{"little", "MemTotal: 8388608 kB\nMemAvailable: 524288 kB\n", "", "only 512MiB of memory are available"},
		{"pressure", "MemTotal: 8388608 kB\nMemAvailable: 4194304 kB\n", "some avg10=25.00\n", "processes wait for memory 25 % of the time"},
		{"unknown", "", "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := memoryGate{fstest.MapFS{"meminfo": {Data: []byte(tt.info)}, "pressure/memory": {Data: []byte(tt.pressure)}}}
			if got := g.Closed(); got != tt.want {
				t.Errorf("closed: %q, want %q", got, tt.want)
			}
		})
	}
}
