package box

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"batch.example/batch/internal/boxinit/wire"
)

// enough is longer than anything here takes.
const enough = time.Minute

var words atomic.Int64

// word is a number that only the processes of one test have in their arguments.
func word() string { return fmt.Sprintf("9%06d%06d", os.Getpid(), words.Add(1)) }

// stream starts bash with a script, as a program of that name.
func stream(t testing.TB, h *local, name, script string) *Stream {
	t.Helper()
	return streamOf(t, h, Program{Name: name, Args: []string{"bash", "-c", script}})
}

func streamOf(t testing.TB, h *local, p Program) *Stream {
	t.Helper()
	s, err := h.box.Stream(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() }) // the test looks at the error
	return s
}

// closed closes a stream, which must take no longer than that and leave nothing.
func closed(t testing.TB, s *Stream, within time.Duration) {
	t.Helper()
	begin := time.Now()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if took := time.Since(begin); took > within {
		t.Errorf("closing took %v, want at most %v", took, within)
	}
}

// says checks the next line of the stdout.
func says(t testing.TB, r *bufio.Reader, want string) {
	t.Helper()
	if got, err := r.ReadString('\n'); got != want+"\n" || err != nil {
		t.Fatalf("got %.80q, %v; want %q", got, err, want)
	}
}

// What a program writes is read in full before its exit code is known.
func TestTheExitCodeOfAStreamIsWaitedFor(t *testing.T) {
	t.Parallel()
	h := start(t)
	s := stream(t, h, "short", "head -c 100000 /dev/zero; exit 7")
	time.Sleep(2 * time.Second) // longer than the output of a program that has ended is waited for
	if code, ended := s.Exit(); ended {
		t.Errorf("it has ended with %d before its output was read", code)
	}
	said, err := io.ReadAll(s)
	if code, ended := s.Exit(); len(said) != 100_000 || err != nil || code != 7 || !ended {
		t.Errorf("read %d bytes, %v; exit code %d, %v; want 7", len(said), err, code, ended)
	}
}

func TestAProgramThatCannotBeStartedEndsAtOnce(t *testing.T) {
	t.Parallel()
	h := start(t)
	plain := filepath.Join(h.dir, "plain")
	if err := os.WriteFile(plain, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		p    Program
		code int
		said string
	}{
		{Program{Args: []string{"no-such-program"}}, 127, "exec no-such-program: no such file or directory\n"},
		{Program{Args: []string{plain}}, 126, "exec " + plain + ": permission denied\n"},
		{Program{Args: []string{"true"}, Dir: "/no/such"}, 126, "chdir /no/such: no such file or directory\n"},
		{Program{Args: []string{"true", strings.Repeat("x", 200_000)}}, 126, "exec true: argument list too long\n"},
	} {
		var stderr bytes.Buffer
		tt.p.Name, tt.p.Stderr = "none", &stderr
		s := streamOf(t, h, tt.p)
		said, err := io.ReadAll(s)
		if code, ended := s.Exit(); len(said) > 0 || err != nil || code != tt.code || !ended || stderr.String() != tt.said {
			t.Errorf("read %q, %v; stderr %q; exit code %d, %v; want %d", said, err, &stderr, code, ended, tt.code)
		}
		closed(t, s, time.Second)
	}
}

// A program that floods its output while it is not read delays nothing else.
func TestAFloodThatIsNotReadStopsItsProgramAlone(t *testing.T) {
	t.Parallel()
	h := start(t)
	mark := word()
	s := stream(t, h, "flood", "yes "+mark+" & yes "+mark+" >&2 & wait")
	other := stream(t, h, "other", `while read -r line; do echo "got $line"; done`)
	out := bufio.NewReader(other)
	for n := range 20 {
		begin := time.Now()
		r, err := h.box.Run(t.Context(), Command{Script: "head -c 1000000 /dev/zero | wc -c"})
		if err != nil || string(r.Bytes) != "1000000\n" || time.Since(begin) > 5*time.Second {
			t.Fatalf("a command beside it: %q, %v, after %v", r.Bytes, err, time.Since(begin))
		}
		fmt.Fprintln(other, n)
		says(t, out, fmt.Sprint("got ", n))
	}
	if n := len(s.arrived); n > wire.Window {
		t.Errorf("%d frames were sent to a reader that does not read", n)
	}
	closed(t, s, enough)
	gone(t, mark, 0)
}

// A program's own children may hold its stdout when it has ended. They end a second later.
func TestADaemonHoldsItsProgramsOutputForASecond(t *testing.T) {
	t.Parallel()
	h := start(t)
	mark := word()
	s := stream(t, h, "parent", "echo begun; setsid sleep "+mark+" & setsid bash -c 'while :; do echo "+mark+" || exit; sleep 0.01; done' & exit 3")
	begin := time.Now()
	said, err := io.ReadAll(s)
	if code, ended := s.Exit(); !bytes.HasPrefix(said, []byte("begun\n")) || err != nil || code != 3 || !ended || time.Since(begin) > 10*time.Second {
		t.Errorf("read %.20q, %v; exit code %d, %v, after %v; want 3", said, err, code, ended, time.Since(begin))
	}
	gone(t, mark, 0)
	closed(t, s, time.Second)
}

func TestClosingEndsAProgramThatIgnoresIt(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"signals":       `trap '' TERM HUP INT PIPE; while :; do sleep MARK; done`,
		"stdin":         `exec <&-; sleep MARK & setsid sleep MARK & env -i sleep MARK & wait`,
		"closed output": `exec >&- 2>&-; sleep MARK`,
		"stopped":       `sleep MARK & kill -STOP $$`,
		"orphans":       `(setsid sleep MARK & (sleep MARK & (sleep MARK &))) & kill -9 $PPID; sleep MARK`,
		"forks":         `f() { sleep 0.01; f & }; f MARK; while :; do sleep 0.1; f MARK; done`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, mark := start(t), word()
			s := stream(t, h, name, "echo up; "+strings.ReplaceAll(script, "MARK", mark))
			says(t, bufio.NewReader(s), "up")
			kept := word()
			if _, err := h.box.Run(t.Context(), Command{Script: "sleep " + kept + " >&- 2>&- &"}); err != nil {
				t.Fatal(err)
			}
			closed(t, s, politeness+5*time.Second)
			gone(t, mark, 0)
			if len(running(kept)) == 0 {
				t.Error("a command's own process was killed too")
			}
			for pid := range running(kept) {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		})
	}
}

// A Write waits for a program that does not read; Close ends both.
func TestClosingEndsAWriteThatWaits(t *testing.T) {
	t.Parallel()
	h := start(t)
	s := stream(t, h, "deaf", "sleep 1000")
	wrote := make(chan error)
	go func() {
		_, err := s.Write(make([]byte, 10<<20))
		wrote <- err
	}()
	select {
	case err := <-wrote:
		t.Errorf("10 MB were written to a program that does not read, %v", err)
	case <-time.After(300 * time.Millisecond):
	}
	closed(t, s, politeness+5*time.Second)
	if err := <-wrote; !errors.Is(err, syscall.EPIPE) {
		t.Errorf("the write ended with %v", err)
	}
}

// What a program does not read any more is dropped, as by a pipe that has been read to its end.
func TestAProgramMayCloseItsStdin(t *testing.T) {
	t.Parallel()
	h := start(t)
	s := stream(t, h, "closing", "exec <&-; echo closed; sleep 1; echo last")
	out := bufio.NewReader(s)
	says(t, out, "closed")
	if _, err := s.Write(make([]byte, 2<<20)); err != nil {
		t.Error(err)
	}
	says(t, out, "last")
}

// A process of batch that connects ends the programs of one that was killed, and has its own.
func TestTheProgramsOfAKilledProcessEnd(t *testing.T) {
	t.Parallel()
	h := start(t)
	mark := word()
	script := "trap '' PIPE HUP; echo up; sleep " + mark + "; echo on; sleep " + mark
	before := stream(t, h, "server", script)
	says(t, bufio.NewReader(before), "up")
	h.lose()
	if said, err := io.ReadAll(before); len(said) > 0 || err != nil {
		t.Errorf("read %q, %v when the connection was lost", said, err)
	}
	if _, err := before.Write([]byte("x")); !errors.Is(err, syscall.EPIPE) {
		t.Errorf("a write when the connection was lost: %v", err)
	}
	if code, ended := before.Exit(); ended {
		t.Errorf("exit code %d of a program whose end is not known", code)
	}
	if len(running(mark)) == 0 {
		t.Error("the program ended before anything could tell the helper")
	}
	h.connect(t, Running)
	gone(t, mark, 5*time.Second)
	after := stream(t, h, "server", `while read -r line; do echo "got $line"; done`)
	fmt.Fprintln(after, "1")
	says(t, bufio.NewReader(after), "got 1")
	closed(t, after, enough)
}

func TestAProgramEndsWhenNothingIsHeardOfBatch(t *testing.T) {
	t.Parallel()
	h := start(t)
	mark := word()
	const silence = time.Second
	m := wire.Run{Name: "x", Silence: uint64(silence), Args: []string{"bash", "-c", "sleep " + mark + "; :"}, Dir: "/"}
	h.box.current().write(wire.Frame{Kind: wire.KindRun, ID: "x", Data: wire.Encode(m)})
	var longest time.Duration // between two signs of life
	for range 15 {
		began := time.Now()
		time.Sleep(silence / 10)
		if _, err := h.box.Run(t.Context(), Command{Script: ":"}); err != nil {
			t.Fatal(err)
		}
		longest = max(longest, time.Since(began))
	}
	if len(running(mark)) == 0 && longest < silence/2 { // on a busy machine it may have heard nothing for long
		t.Errorf("it ended although batch was heard, at least each %v", longest)
	}
	h.lose()
	gone(t, mark, 10*time.Second)
}

func TestANameHasOneProgram(t *testing.T) {
	t.Parallel()
	h := start(t)
	marks := [2]string{word(), word()}
	first := stream(t, h, "same", "echo up; sleep "+marks[0])
	says(t, bufio.NewReader(first), "up")
	second := stream(t, h, "same", "echo up; sleep "+marks[1]+"; :")
	says(t, bufio.NewReader(second), "up")
	gone(t, marks[0], 0)
	if _, err := io.ReadAll(first); err != nil {
		t.Error(err)
	}
	if code, ended := first.Exit(); code != 137 || !ended {
		t.Errorf("exit code %d, %v; want 137", code, ended)
	}
	closed(t, first, enough)
	if len(running(marks[1])) == 0 {
		t.Error("closing the first ended the second")
	}
	closed(t, second, enough)
	gone(t, marks[1], 0)
}

func TestManyProgramsRunBesideCommands(t *testing.T) {
	t.Parallel()
	h := start(t)
	var all sync.WaitGroup
	for i := range 10 {
		all.Go(func() {
			s, err := h.box.Stream(t.Context(), Program{Name: fmt.Sprint("echo", i), Args: []string{"cat"}})
			if err != nil {
				t.Error(err)
				return
			}
			out := bufio.NewReader(s)
			for n := range 200 {
				line := fmt.Sprintf("%d.%d%s\n", i, n, strings.Repeat("x", n*50))
				_, _ = io.WriteString(s, line)
				if got, err := out.ReadString('\n'); got != line || err != nil {
					t.Errorf("program %d: got %.20q, %v", i, got, err)
					break
				}
			}
			closed(t, s, enough)
		})
		all.Go(func() {
			for range 20 {
				if r, err := h.box.Run(t.Context(), Command{Script: fmt.Sprint("echo ", i), Ahead: true}); err != nil || string(r.Bytes) != fmt.Sprintln(i) {
					t.Errorf("command %d: %q, %v", i, r.Bytes, err)
				}
			}
		})
	}
	all.Wait()
}

func TestAHelperOfAnotherVersionIsRefused(t *testing.T) {
	t.Parallel()
	for _, version := range []uint64{wire.Version - 1, wire.Version + 1} {
		here, there := pipes(t)
		b := New(&local{}, wire.Key{}, 0)
		defer b.Close()
		go func() {
			in, out := wire.NewReader(there, wire.Key{}, wire.Runner), wire.NewWriter(there, wire.Key{}, wire.Init)
			var m wire.Hello
			if f, _, err := in.Next(); err == nil && wire.Decode(f.Data, &m) == nil {
				answer := wire.Welcome{Version: version, Connection: m.Connection}
				_ = out.Begin(m.Connection, wire.Frame{Kind: wire.KindWelcome, Data: wire.Encode(answer)})
			}
		}()
		if err := b.Begin(t.Context(), here, Running); err == nil || !strings.Contains(err.Error(), "protocol version") {
			t.Errorf("version %d: got %v", version, err)
		}
	}
}
