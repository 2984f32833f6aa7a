package endpoint_test

import (
	"bytes"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"runtime"
	"testing"

	"batch.example/batch/llm/endpoint"
	"batch.example/batch/llm/internal/history"
)

// A conversation is sent in the pieces in which it is kept, without a copy.
func TestABodyIsSentWithoutACopy(t *testing.T) {
	body := history.Body{bytes.Repeat([]byte("conversation "), 100_000), []byte("]}")}
	want := bytes.Join(body, nil)
	equal := make(chan bool, 1)
	buf := make([]byte, len(want)+1)
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		n, err := io.ReadFull(r.Body, buf)
		equal <- err == io.ErrUnexpectedEOF && r.ContentLength == int64(n) && bytes.Equal(buf[:n], want)
	}))
	t.Cleanup(s.Close)
	client := http.Client{Transport: endpoint.Transport()}
	t.Cleanup(client.CloseIdleConnections)
	send := func() {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		body.Attach(r)
		answer, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if !<-equal {
			t.Fatal("the server got another body")
		}
	}
	send()                          // connects
	least := uint64(math.MaxUint64) // the least of several, because the server's pools may be empty
	for range 20 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		send()
		runtime.ReadMemStats(&after)
		least = min(least, after.TotalAlloc-before.TotalAlloc)
	}
	if least > 24<<10 {
		t.Errorf("a request allocates %d bytes, want less than a buffer of net/http", least)
	}
}
