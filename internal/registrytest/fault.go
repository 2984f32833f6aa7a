package registrytest

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"time"
)

// Fault answers a request instead of the registry and returns true, or returns false and
// leaves the request to the registry.
type Fault func(w http.ResponseWriter, r *http.Request) bool

// Refuse answers every request like a registry that refuses it. A 401 asks for a
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

// First passes the first n requests to f, which must answer them. Engines differ in how
// many requests they make for one pull: see [Registry.Requests].
func First(n int64, f Fault) Fault {
	var seen atomic.Int64
	return func(w http.ResponseWriter, r *http.Request) bool { return seen.Add(1) <= n && f(w, r) }
}

// Manifests passes only the requests for manifests to f.
func Manifests(f Fault) Fault {
	return func(w http.ResponseWriter, r *http.Request) bool {
		return strings.Contains(r.URL.Path, "/manifests/") && f(w, r)
	}
}

// Blob passes only the requests for the blob with that digest to f.
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

// CutOff announces the length of data, sends half of it and breaks the connection.
func CutOff(data []byte) Fault {
	return func(w http.ResponseWriter, _ *http.Request) bool {
		w.Header().Set("Content-Length", fmt.Sprint(len(data)))
		_, _ = w.Write(data[:len(data)/2])
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
}

// Dribble sends data one byte at a time, so slowly that it does not end within a
// test, until the client disconnects or stop is closed.
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
