package main

import "testing"

// A caller could make the server send notifications to addresses that only this machine reaches.
func TestNotificationsGoToThisMachineOnlyForItsOwnCallers(t *testing.T) {
	for _, c := range []struct {
		what  string
		flags serveFlags
		local bool
	}{
		{"by default", serveFlags{listen: "127.0.0.1:0"}, true},
		{"IPv6", serveFlags{listen: "[::1]:0"}, true},
		{"tokens", serveFlags{listen: "127.0.0.1:0", tokenFile: "tokens"}, false},
		{"tokens of a variable", serveFlags{listen: "127.0.0.1:0", tokenEnv: "TOKENS"}, false},
		{"certificates", serveFlags{listen: "127.0.0.1:0", clientCA: "ca.pem", cert: "c.pem", key: "k.pem"}, false},
		{"a proxy", serveFlags{listen: "127.0.0.1:0", proxy: true}, false},
		{"an address elsewhere", serveFlags{listen: "127.0.0.1:0", url: "https://agent.example.org/"}, false},
		{"every address", serveFlags{listen: ":0", tokenFile: "tokens", proxy: true}, false},
	} {
		at, err := c.flags.address(t.Context())
		if err != nil {
			t.Fatalf("%s: %v", c.what, err)
		}
		if got := c.flags.rules(at).Loopback; got != c.local {
			t.Errorf("%s: to this machine: %v, want %v", c.what, got, c.local)
		}
	}
}
