package registrytest

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"time"
)

// Fault answers a request in a registry's place and returns true, or leaves it
// to the registry.
type Fault func(w http.ResponseWriter, r *http.Request) bool

// Refuse answers every request like a registry that says no. A 401 asks for a
// user and password.
func Refuse(status int, code, text string) Fault {
	return func(w http.ResponseWriter, _ *http.Request) bool {
		if status == http.StatusUnauthorized {
			w.Header().Set("WWW-Authenticate", `Basic realm="stub"`)
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = fmt.Fprintf(w, `{"errors":[{"code":%q,"message":%q}]}`, code, text)
		return true
	}
}

// RefuseAfter is Refuse with a Retry-After.
func RefuseAfter(d time.Duration, status int, code, text string) Fault {
	refuse := Refuse(status, code, text)
	return func(w http.ResponseWriter, r *http.Request) bool {
		w.Header().Set("Retry-After", fmt.Sprint(int(d.Seconds())))
		return refuse(w, r)
	}
}

// First lets f have the first n requests. f must answer. Engines differ in how
// many requests they make of one pull: see [Registry.Requests].
func First(n int64, f Fault) Fault {
	var seen atomic.Int64
	return func(w http.ResponseWriter, r *http.Request) bool { return seen.Add(1) <= n && f(w, r) }
}

// Manifests lets f have the requests for manifests alone.
func Manifests(f Fault) Fault {
	return func(w http.ResponseWriter, r *http.Request) bool {
		return strings.Contains(r.URL.Path, "/manifests/") && f(w, r)
	}
}

// Blob lets f have the requests for the blob with that digest alone.
func Blob(digest string, f Fault) Fault {
	return func(w http.ResponseWriter, r *http.Request) bool {
		return strings.HasSuffix(r.URL.Path, digest) && f(w, r)
	}
}

// Corrupt answers with data that has one bit changed.
func Corrupt(data []byte) Fault {
	return func(w http.ResponseWriter, _ *http.Request) bool {
		broken := append([]byte(nil), data...)
		broken[len(broken)/2] ^= 1
		_, _ = w.Write(broken)
		return true
	}
}

// CutOff promises data, sends half of it and breaks the connection.
func CutOff(data []byte) Fault {
	return func(w http.ResponseWriter, _ *http.Request) bool {
		w.Header().Set("Content-Length", fmt.Sprint(len(data)))
		_, _ = w.Write(data[:len(data)/2])
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
}

// Slow holds every request up for d and leaves it to the registry.
func Slow(d time.Duration) Fault {
	return func(http.ResponseWriter, *http.Request) bool {
		time.Sleep(d)
		return false
	}
}

// Dribble sends data a byte at a time, so slowly that it does not end within a
// test, until the reader goes or stop is closed.
func Dribble(data []byte, stop <-chan struct{}) Fault {
	return func(w http.ResponseWriter, r *http.Request) bool {
		w.Header().Set("Content-Length", fmt.Sprint(len(data)))
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for _, b := range data {
			if _, err := w.Write([]byte{b}); err != nil {
				return true
			}
			_ = http.NewResponseController(w).Flush()
			select {
			case <-tick.C:
			case <-r.Context().Done():
				return true
			case <-stop:
				return true
			}
		}
		return true
	}
}
