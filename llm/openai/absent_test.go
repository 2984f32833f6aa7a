package openai_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"batch.example/batch/fault"
	"batch.example/batch/llm/endpoint"
	"batch.example/batch/llm/openai"
)

func TestAnAddressWithoutAServerIsReportedInPlainWords(t *testing.T) {
	gone := httptest.NewServer(nil)
	gone.Close()
	plain := httptest.NewServer(nil)
	defer plain.Close()
	proxy, err := url.Parse(gone.URL)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		base  string
		proxy *url.URL
		want  string
	}{
		{gone.URL, nil, "asking model m: nothing answers at " + gone.URL + " (dial tcp " + gone.Listener.Addr().String() + ": connect: connection refused)"},
		{"https://nobody.invalid", proxy, "asking model m: the proxy on the way to https://nobody.invalid does not answer (proxyconnect tcp: dial tcp"},
		{"http://nobody.invalid", nil, "asking model m: there is no host nobody.invalid (dial tcp: lookup nobody.invalid: no such host)"},
		{strings.Replace(plain.URL, "http:", "https:", 1), nil, "answers over http, not https (http: server gave HTTP response to HTTPS client)"},
	} {
		cfg := endpoint.Config{Model: "m", BaseURL: c.base, APIKey: "k", HTTP: &http.Client{Transport: &http.Transport{
			Proxy: http.ProxyURL(c.proxy),
			DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
				if host, _, _ := net.SplitHostPort(addr); strings.HasSuffix(host, ".invalid") { // so that no name server is asked
					return nil, &net.OpError{Op: "dial", Net: network, Err: &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}}
				}
				return new(net.Dialer).DialContext(ctx, network, addr)
			},
		}}}
		m, err := openai.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		_, err = m.Generate(t.Context(), ask())
		if fault.KindOf(err) != fault.Transient || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v (%v), want %q", c.base, err, fault.KindOf(err), c.want)
		}
	}
}
