package enginetest

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"

	"batch.example/batch/fault"
	"batch.example/batch/internal/box"
	"batch.example/batch/sandbox/engine"
)

func (e *suite) streamTalksToAProgramInTheContainer(t *testing.T) {
	t.Parallel()
	c := e.start(t, engine.Spec{WorkDir: "/testbed", Env: []string{"IMAGE=yes"}})
	var stderr bytes.Buffer
	s := Stream(t, c, box.Program{
		Name: "echo", Env: []string{"MINE=a b"}, Stderr: &stderr,
		Args: []string{"bash", "-c", `echo "$PWD $IMAGE $MINE"; echo grumble >&2; while read -r line; do echo "got $line"; done; echo last; exit 7`},
	})
	lines := bufio.NewReader(s)
	for _, tt := range []struct{ say, want string }{
		{"", "/testbed yes a b\n"},
		{"one\n", "got one\n"},
		{strings.Repeat("x", 300_000) + "\n", "got " + strings.Repeat("x", 300_000) + "\n"},
	} {
		if _, err := io.WriteString(s, tt.say); err != nil {
			t.Fatal(err)
		}
		got, err := lines.ReadString('\n')
		if err != nil || got != tt.want {
			t.Fatalf("got %.80q, %v; want %.80q", got, err, tt.want)
		}
	}
	if code, ended := s.Exit(); ended {
		t.Errorf("it has ended with %d", code)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if code, ended := s.Exit(); code != 7 || !ended {
		t.Errorf("exit code %d, %v; want 7: it should see the end of its stdin", code, ended)
	}
	if got := stderr.String(); got != "grumble\n" {
		t.Errorf("stderr %q", got)
	}
	if err := s.Close(); err != nil {
		t.Errorf("closing twice: %v", err)
	}
}

func (e *suite) aStreamEndsWithItsContainer(t *testing.T) {
	t.Parallel()
	c := e.start(t, engine.Spec{})
	s := Stream(t, c, box.Program{Name: "long", Args: []string{"sleep", "654321"}})
	if err := c.Remove(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(s); err != nil {
		t.Logf("the stream ended with %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := c.Stream(t.Context(), box.Program{Name: "late", Args: []string{"true"}}); err == nil {
		t.Error("a removed container started a program")
	}
}

func (e *suite) aStreamNeedsAProgramAndAName(t *testing.T) {
	t.Parallel()
	c := e.start(t, engine.Spec{})
	for _, p := range []box.Program{{Name: "x"}, {Args: []string{"true"}}} {
		if _, err := c.Stream(t.Context(), p); fault.KindOf(err) != fault.Usage {
			t.Errorf("%+v: %v, want a Usage fault", p, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Stream(ctx, box.Program{Name: "x", Args: []string{"true"}}); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
}

// A container without a network has its loopback.
func (e *suite) aProcessReachesTheListener(t *testing.T) {
	t.Parallel()
	c := e.start(t, engine.Spec{})
	l, err := c.Listen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var served sync.WaitGroup
	served.Go(func() {
		conn, err := l.Accept()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		line, err := bufio.NewReader(conn).ReadString('\n')
		if err != nil {
			t.Error(err)
		}
		if _, err := io.WriteString(conn, "got "+line); err != nil {
			t.Error(err)
		}
	})
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	out := Script(t, c, "exec 3<>/dev/tcp/127.0.0.1/"+port+"; echo hello >&3; cat <&3")
	if got := string(out.Bytes); got != "got hello\n" {
		t.Errorf("the process read %q", got)
	}
	served.Wait()
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

// Stream starts a program that is ended with the test.
func Stream(t testing.TB, c engine.Container, p box.Program) *box.Stream {
	t.Helper()
	s, err := c.Stream(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() }) // the test looks at the error
	return s
}

// left lists the processes in the container with the word in their arguments.
func left(t testing.TB, c engine.Container, word string) string {
	t.Helper()
	out := Script(t, c, `for p in /proc/[0-9]*; do
  [ "$p" = "/proc/$$" ] && continue
  { read -r -d '' -a a; } <"$p/cmdline"
  args=$(tr '\0' ' ' <"$p/cmdline" 2>/dev/null || while IFS= read -r -d '' w; do printf '%s ' "$w"; done <"$p/cmdline")
  case $args in *`+word+`*) echo "$args";; esac
done 2>/dev/null`)
	return string(out.Bytes)
}
