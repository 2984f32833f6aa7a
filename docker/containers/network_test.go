package containers

import "testing"

func TestOnlyTheLoopbackDeviceMayWork(t *testing.T) {
	const (
		title  = "Iface\tDestination\tGateway\n"
		route  = "eth0\t00000000\t010011AC\n"
		lo     = "00000000000000000000000000000001 01 80 10 80       lo\n"
		global = "fd000000000000000000000000000002 02 40 00 80     eth0\n"
	)
	for _, tt := range []struct {
		name, flags, routes, addresses string
		want                           bool
	}{
		{"alone", "0x9\n", title, lo, true},
		{"alone, without IPv6", "0x9\n", title, "", true},
		{"no routes known", "0x9\n", "", "", true},
		{"the loopback device is down", "0x8\n", title, "", false},
		{"no flags", "", title, lo, false},
		{"a network", "0x9\n", title + route, lo, false},
		{"an IPv6 network", "0x9\n", title, lo + global, false},
	} {
		if got := onlyLoopback([]byte(tt.flags), []byte(tt.routes), []byte(tt.addresses)); (got == nil) != tt.want {
			t.Errorf("%s: got %v, want none: %v", tt.name, got, tt.want)
		}
	}
}
