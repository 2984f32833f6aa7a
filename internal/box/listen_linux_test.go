package box

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// listen serves a handler on the port of the helper until the test ends.
func listen(t testing.TB, b *Box, h http.Handler) (address string) {
	t.Helper()
	l, err := b.Listen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: h, ReadHeaderTimeout: enough}
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, net.ErrClosed) {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		_ = s.Close()
		_ = l.Close()
		serving.Wait()
	})
	return l.Addr().String()
}

// send sends a body over a connection of its own and returns the answer.
func send(ctx context.Context, address string, body io.Reader) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+address, body)
	if err != nil {
		return "", err
	}
	req.Close = true
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return string(text), err
}

var echo = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(w, r.Body)
})

func TestConnectionsFromTheContainerAreServed(t *testing.T) {
	t.Parallel()
	h := start(t)
	address := listen(t, h.box, echo)
	if host, _, err := net.SplitHostPort(address); host != "127.0.0.1" || err != nil {
		t.Errorf("it listens on %s, %v", address, err)
	}
	var all sync.WaitGroup
	for n := range 500 { // the helper lets 64 be open at once
		all.Go(func() {
			want := fmt.Sprint("call ", n)
			if got, err := send(t.Context(), address, strings.NewReader(want)); got != want || err != nil {
				t.Errorf("%q, %v; want %q", got, err, want)
			}
		})
	}
	all.Wait()
	large := bytes.Repeat([]byte("0123456789abcdef"), 2<<20)
	if got, err := send(t.Context(), address, bytes.NewReader(large)); got != string(large) || err != nil {
		t.Errorf("%d bytes of %d came back, %v", len(got), len(large), err)
	}
	h.box.mu.Lock()
	defer h.box.mu.Unlock()
	if len(h.box.flows) > 1 { // the last one may not have ended yet
		t.Errorf("%d connections are left", len(h.box.flows))
	}
}

// A client that reads nothing, one that says nothing, and one that hangs up delay nothing else.
func TestABadClientDelaysNothing(t *testing.T) {
	t.Parallel()
	h := start(t)
	left := make(chan error, 1)
	address := listen(t, h.box, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/flood":
			for r.Context().Err() == nil {
				_, _ = w.Write(make([]byte, 1<<20))
			}
		case "/wait":
			<-r.Context().Done()
			left <- r.Context().Err()
		default:
			echo(w, r)
		}
	}))
	for _, say := range []string{"GET /flood HTTP/1.1\r\nHost: x\r\n\r\n", "", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n"} {
		c, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, err := io.WriteString(c, say); err != nil {
			t.Fatal(err)
		}
	}
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(c, "GET /wait HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	for range 20 {
		if got, err := send(t.Context(), address, strings.NewReader("hello")); got != "hello" || err != nil {
			t.Fatalf("%q, %v", got, err)
		}
		if r, err := h.box.Run(t.Context(), Command{Script: "head -c 1000000 /dev/zero | wc -c"}); err != nil || string(r.Bytes) != "1000000\n" {
			t.Fatalf("%q, %v", r.Bytes, err)
		}
	}
	_ = c.Close()
	select {
	case err := <-left:
		if !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	case <-time.After(enough):
		t.Error("the end of a connection was not noticed")
	}
}

// The port outlives the process of batch. What was under way is reset, what comes meanwhile waits.
func TestThePortOutlivesAConnectionToBatch(t *testing.T) {
	t.Parallel()
	h := start(t)
	begun := make(chan struct{})
	first := listen(t, h.box, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "begun")
		_ = http.NewResponseController(w).Flush()
		close(begun)
		<-r.Context().Done()
	}))
	broken := make(chan error, 1)
	go func() {
		_, err := send(t.Context(), first, nil)
		broken <- err
	}()
	<-begun
	h.box.Close()
	select {
	case err := <-broken:
		t.Errorf("a connection ended before batch came back: %v", err)
	case <-time.After(100 * time.Millisecond):
	}

	h.connect(t, Running)
	second := listen(t, h.box, echo)
	if second != first {
		t.Errorf("the port is now %s, it was %s", second, first)
	}
	if err := <-broken; err == nil {
		t.Error("half an answer is whole")
	}
	if got, err := send(t.Context(), second, strings.NewReader("again")); got != "again" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

func TestAClosedListenerClosesItsConnections(t *testing.T) {
	t.Parallel()
	h := start(t)
	l, err := h.box.Listen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ours, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer ours.Close()
	if err := errors.Join(l.Close(), l.Close()); err != nil {
		t.Error(err)
	}
	if n, err := c.Read(make([]byte, 1)); err == nil {
		t.Errorf("read %d bytes from a connection that is closed", n)
	}
	if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Accept: %v", err)
	}
	late, err := net.Dial("tcp", l.Addr().String()) // nothing answers it any more
	if err != nil {
		t.Fatal(err)
	}
	defer late.Close()
	if n, err := late.Read(make([]byte, 1)); err == nil {
		t.Errorf("read %d bytes from a connection that no server has", n)
	}
}

// The time and memory of a request over the port, beside one over a socket of this machine.
func BenchmarkAConnectionFromTheContainer(b *testing.B) {
	h := start(b)
	s := &http.Server{Handler: echo, ReadHeaderTimeout: enough}
	direct, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	go func() { _ = s.Serve(direct) }()
	defer s.Close()
	addresses := map[string]string{"direct": direct.Addr().String(), "by the helper": listen(b, h.box, echo)}
	for _, size := range []int{1 << 10, 100 << 10} {
		for name, address := range addresses {
			b.Run(fmt.Sprintf("%s, %d KiB", name, size>>10), func(b *testing.B) {
				b.ReportAllocs()
				body := strings.Repeat("x", size)
				for b.Loop() {
					if _, err := send(b.Context(), address, strings.NewReader(body)); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
