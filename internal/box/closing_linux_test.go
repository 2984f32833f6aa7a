package box

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// A server that answers without reading a long body closes the connection. The client goes on to write.
func TestConnectionsEndThatTheServerCloses(t *testing.T) {
	t.Parallel()
	h := start(t)
	address := listen(t, h.box, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		_, _ = io.Copy(w, r.Body)
	}))
	for range waiting { // all that the helper lets be open
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		go func() {
			_, _ = io.WriteString(conn, "POST /none HTTP/1.1\r\nHost: a\r\nContent-Length: 4000000\r\n\r\n")
			_, _ = io.WriteString(conn, strings.Repeat("x", 4000000))
		}()
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if got, err := send(ctx, address, strings.NewReader("hello")); got != "hello" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}
