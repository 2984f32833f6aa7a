package box

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"
)

// Between the connection of another process of batch and its Listen, a client waits.
func TestAConnectionWaitsForListen(t *testing.T) {
	t.Parallel()
	h := start(t)
	l, err := h.box.Listen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	_ = l.Close()
	h.box.mu.Lock()
	h.box.visited = nil // as in the next process of batch
	h.box.mu.Unlock()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_, _ = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	time.Sleep(100 * time.Millisecond)
	listen(t, h.box, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hi") }))
	_ = conn.SetReadDeadline(time.Now().Add(3 * time.Second))
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		t.Errorf("%q, %v", line, err)
	}
}
