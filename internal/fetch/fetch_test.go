package fetch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"batch.example/batch/fault"
)

const limit = 1 << 20

// server is a server with everything that a download may meet. It counts its requests.
func server(t *testing.T) (address string, asked func() int) {
	var n atomic.Int64
	mux := http.NewServeMux()
	mux.HandleFunc("/a", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "bytes of a") })
	mux.HandleFunc("/missing", http.NotFound)
	mux.HandleFunc("/status", func(w http.ResponseWriter, r *http.Request) {
		var code int
		_, _ = fmt.Sscan(r.URL.Query().Get("is"), &code)
		w.WriteHeader(code)
	})
	mux.HandleFunc("/to", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, r.URL.Query().Get("is"), http.StatusFound)
	})
	mux.Handle("/loop", http.RedirectHandler("/loop", http.StatusFound))
	mux.HandleFunc("/large", func(w http.ResponseWriter, _ *http.Request) {
		for range 100 { // MB, of which the client reads one
			if _, err := w.Write(bytes.Repeat([]byte("x"), 1<<20)); err != nil {
				return
			}
		}
	})
	mux.HandleFunc("/cut", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		fmt.Fprint(w, "short")
	})
	mux.HandleFunc("/slow", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n.Add(1)
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL, func() int { return int(n.Load()) }
}

func TestDownloads(t *testing.T) {
	address, _ := server(t)
	for name, tt := range map[string]struct {
		client  Client
		address string
		want    string
		kind    fault.Kind
		problem string
		refused bool
	}{
		"a file":                  {Client{anywhere: true}, address + "/a", "bytes of a", 0, "", false},
		"after a redirect":        {Client{anywhere: true}, address + "/to?is=/a", "bytes of a", 0, "", false},
		"missing":                 {Client{anywhere: true}, address + "/missing", "", fault.Instance, "404 Not Found", false},
		"gone":                    {Client{anywhere: true}, address + "/status?is=410", "", fault.Instance, "410", false},
		"too many requests":       {Client{anywhere: true}, address + "/status?is=429", "", fault.Transient, "429", false},
		"an outage":               {Client{anywhere: true}, address + "/status?is=503", "", fault.Transient, "503", false},
		"100 MB":                  {Client{anywhere: true}, address + "/large", "", fault.Instance, "more than 1048576 bytes", false},
		"cut off":                 {Client{anywhere: true}, address + "/cut", "", fault.Transient, "unexpected EOF", false},
		"too slow":                {Client{anywhere: true, Timeout: 50 * time.Millisecond}, address + "/slow", "", fault.Transient, "deadline exceeded", false},
		"no server":               {Client{anywhere: true}, "http://127.0.0.1:1/a", "", fault.Transient, "refused", false},
		"redirects without end":   {Client{anywhere: true}, address + "/loop", "", fault.Transient, "stopped after 10 redirects", false},
		"a redirect to a file":    {Client{anywhere: true}, address + "/to?is=file:///etc/passwd", "", fault.Instance, "not an http address", true},
		"a file of this machine":  {Client{}, "file:///etc/passwd", "", fault.Instance, "not an http address", true},
		"no address":              {Client{}, "a.png", "", fault.Instance, "not an http address", true},
		"broken":                  {Client{}, "http://[::1", "", fault.Instance, "not an http address", true},
		"a server here":           {Client{}, address + "/a", "", fault.Instance, "not a public server", true},
		"a server here, by name":  {Client{}, strings.Replace(address, "127.0.0.1", "localhost", 1) + "/a", "", fault.Instance, "not a public server", true},
		"a server here, by IPv6":  {Client{}, "http://[::ffff:127.0.0.1]:1/a", "", fault.Instance, "not a public server", true},
		"the cloud's credentials": {Client{}, "http://169.254.169.254/latest/meta-data", "", fault.Instance, "not a public server", true},
	} {
		t.Run(name, func(t *testing.T) {
			c := tt.client
			c.Limit = limit
			if c.Timeout == 0 {
				c.Timeout = 20 * time.Second
			}
			got, err := c.Get(t.Context(), tt.address, nil)
			if string(got) != tt.want || (err != nil) != (tt.kind != 0) {
				t.Fatalf("got %.100q, %v", got, err)
			}
			if err != nil && (fault.KindOf(err) != tt.kind || !strings.Contains(err.Error(), tt.problem) || errors.Is(err, ErrRefused) != tt.refused) {
				t.Errorf("got %s fault %v, want %s with %q, refused %v", fault.KindOf(err), err, tt.kind, tt.problem, tt.refused)
			}
		})
	}
}

// A server that is asked may lead the client to one that must not be.
func TestARedirectToAPrivateServerIsRefused(t *testing.T) {
	address, asked := server(t)
	from := httptest.NewServer(http.RedirectHandler(address+"/a", http.StatusFound))
	defer from.Close()
	c := Client{Limit: limit, Timeout: time.Minute}
	first := true
	transport := roundTrip(func(r *http.Request) (*http.Response, error) { // the first server passes for a public one
		defer func() { first = false }()
		return guard{anywhere: first}.RoundTrip(r)
	})
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, from.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := (&http.Client{Transport: transport}).Do(req)
	if err == nil {
		resp.Body.Close()
	}
	if !errors.Is(err, ErrRefused) || asked() != 0 {
		t.Errorf("got %v after %d requests", err, asked())
	}
	if _, err := c.Get(t.Context(), from.URL, nil); !errors.Is(err, ErrRefused) {
		t.Errorf("got %v", err)
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestACanceledDownload(t *testing.T) {
	address, _ := server(t)
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(20*time.Millisecond, cancel)
	if _, err := (Client{Limit: limit, Timeout: time.Minute, anywhere: true}).Get(ctx, address+"/slow", nil); !fault.Canceled(err) || fault.KindOf(err) != fault.Unknown {
		t.Errorf("got %v", err)
	}
}

func TestPublicAddresses(t *testing.T) {
	for address, want := range map[string]bool{
		"8.8.8.8": true, "185.199.108.133": true, "2606:50c0:8000::153": true,
		"0.0.0.0": false, "0.1.2.3": false, "10.1.2.3": false, "100.64.0.1": false, "127.0.0.1": false, "127.9.9.9": false, "169.254.1.1": false,
		"172.16.0.1": false, "172.31.255.255": false, "172.32.0.1": true, "192.168.0.1": false, "192.0.0.8": false, "198.18.0.1": false,
		"224.0.0.1": false, "239.1.1.1": false, "240.0.0.1": false, "255.255.255.255": false,
		"::": false, "::1": false, "fe80::1": false, "fc00::1": false, "fd12::1": false, "ff02::1": false, "fec0::1": false,
		"64:ff9b::7f00:1": false, "2002:7f00:1::": false, "2001:0:1::": false,
	} {
		if got := public(netip.MustParseAddr(address)); got != want {
			t.Errorf("%s: public %v, want %v", address, got, want)
		}
	}
}

func TestADownloadIsKept(t *testing.T) {
	address, asked := server(t)
	c := Client{Limit: limit, Timeout: time.Minute, Dir: filepath.Join(t.TempDir(), "kept"), anywhere: true}
	get := func(check func([]byte) error) ([]byte, error) { return c.Get(t.Context(), address+"/a", check) }
	if _, err := get(func([]byte) error { return errors.New("unfit") }); err == nil || !strings.Contains(err.Error(), address+"/a: unfit") || asked() != 1 {
		t.Fatalf("got %v after %d requests", err, asked())
	}
	for range 2 { // what was unfit was not kept, and what is kept is not asked for again
		if data, err := get(nil); err != nil || string(data) != "bytes of a" || asked() != 2 {
			t.Fatalf("got %q, %v after %d requests, want 2", data, err, asked())
		}
	}
	files, err := filepath.Glob(filepath.Join(c.Dir, "*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("got %v, %v, want one file", files, err)
	}
	if err := os.WriteFile(files[0], []byte("bytes of b"), 0o600); err != nil {
		t.Fatal(err)
	}
	if data, err := get(nil); err != nil || string(data) != "bytes of a" || asked() != 3 {
		t.Errorf("damaged: got %q, %v after %d requests, want 3", data, err, asked())
	}
	c.Dir = files[0] // no folder
	if data, err := get(nil); err != nil || string(data) != "bytes of a" {
		t.Errorf("a folder that cannot be made: got %q, %v", data, err)
	}
}
