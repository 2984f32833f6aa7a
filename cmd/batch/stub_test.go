package main

import (
	"net"
	"testing"
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
