package main

import (
	"bytes"
	"net"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

func TestTheAddressAtWhichAStubIsReached(t *testing.T) {
	for _, c := range []struct {
		listens    net.TCPAddr
		at         string
		everywhere bool
	}{
		{net.TCPAddr{IP: net.IPv6unspecified, Port: 80}, "127.0.0.1:80", true},
		{net.TCPAddr{IP: net.IPv4zero, Port: 80}, "127.0.0.1:80", true},
		{net.TCPAddr{IP: net.IPv4(10, 0, 0, 1), Port: 80}, "10.0.0.1:80", false},
		{net.TCPAddr{IP: net.IPv6loopback, Port: 80}, "[::1]:80", false},
	} {
		if at, everywhere := reachable(&c.listens); at != c.at || everywhere != c.everywhere {
			t.Errorf("%s: %s, %v; want %s, %v", &c.listens, at, everywhere, c.at, c.everywhere)
		}
	}
}

// The demo has an instance without a reply that submits.
func TestTheCommandThatAStubPrintsEndsEachInstance(t *testing.T) {
	for _, c := range []struct {
		subset, script string
		limited        bool
	}{{"demo", "", true}, {"demo", "replies.yaml", false}, {"rows.jsonl", "", false}} {
		f, out := &stubFlags{script: c.script}, &bytes.Buffer{}
		f.Subset, f.own = c.subset, pflag.NewFlagSet("", pflag.ContinueOnError)
		if err := (&app{stdout: out}).sayStub(f, 1, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80}); err != nil {
			t.Fatal(err)
		}
		if want := " -c agent.step_limit=12 -o runs/stub\n"; strings.HasSuffix(out.String(), want) != c.limited {
			t.Errorf("%+v: %s", c, out)
		}
	}
}
