package sandbox

import (
	"testing"
	"testing/fstest"
)

func TestTheMemoryGateClosesWhenMemoryIsShort(t *testing.T) {
	for _, tt := range []struct{ name, info, pressure, want string }{
		{"plenty", "MemTotal: 8388608 kB\nMemAvailable: 4194304 kB\n", "some avg10=9.99 avg60=50\n", ""},
		{"little", "MemTotal: 8388608 kB\nMemAvailable: 524288 kB\n", "", "only 512MiB of memory is available"},
		{"pressure", "MemTotal: 8388608 kB\nMemAvailable: 4194304 kB\n", "some avg10=25.00\n", "processes wait for memory 25 % of the time"},
		{"unknown", "", "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := shortOfMemory(fstest.MapFS{"meminfo": {Data: []byte(tt.info)}, "pressure/memory": {Data: []byte(tt.pressure)}})
			if got != tt.want {
				t.Errorf("closed: %q, want %q", got, tt.want)
			}
		})
	}
}
