package run

import (
	"strings"
	"testing"

	"batch.example/batch/sandbox"
)

const gib = int64(1) << 30

func TestWorkersAuto(t *testing.T) {
	for _, tt := range []struct {
		name    string
		machine sandbox.Machine
		limit   int64
		todo    int
		want    int
		why     string
	}{
		{"cores", sandbox.Machine{Cores: 2, Total: 24 * gib, Available: 23 * gib, Files: 20000}, 8 * gib, 500, 8, "4 for each of 2 cores"},
		{"memory", sandbox.Machine{Cores: 16, Total: 32 * gib, Available: 12 * gib, Files: 20000}, 0, 500, 4, "memory for 4, with 2GiB for each and 3.2GiB in reserve"},
		{"small containers", sandbox.Machine{Cores: 16, Total: 32 * gib, Available: 12 * gib}, gib, 500, 8, "memory for 8, with 1GiB for each"},
		{"instances", sandbox.Machine{Cores: 16, Total: 640 * gib, Available: 600 * gib}, 0, 3, 3, "3 instances"},
		{"open files", sandbox.Machine{Cores: 64, Total: 640 * gib, Available: 600 * gib, Files: 256}, 0, 500, 16, "open files for 16"},
		{"no memory left", sandbox.Machine{Cores: 4, Total: 8 * gib, Available: gib / 2}, 0, 500, 1, "memory for 0"},
		{"memory unknown", sandbox.Machine{Cores: 4}, 0, 500, 16, "4 for each of 4 cores"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			n, why := Width(tt.machine, tt.limit, tt.todo)
			if n != tt.want || !strings.Contains(why, tt.why) {
				t.Errorf("%d: %s; want %d and %q", n, why, tt.want, tt.why)
			}
		})
	}
}
