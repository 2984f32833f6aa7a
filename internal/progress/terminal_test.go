package progress

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"batch.example/batch/vocab"
)

// screen compares the text on the terminal with want, which starts with a newline.
func screen(t *testing.T, v *vt, want string) {
	t.Helper()
	synctest.Wait()
	if got := v.text(); got != strings.TrimPrefix(want, "\n") {
		t.Errorf("the screen differs (-want +got):\n%s\nall of it:\n%s", cmp.Diff(want, "\n"+got), got)
	}
	if v.cut > 0 {
		t.Errorf("%d characters were written outside the screen", v.cut)
	}
}

// soon is enough time for a repaint, and never a multiple of the display's own tick.
const soon = 300 * time.Millisecond

func start(t *Terminal, id string) {
	t.Event(vocab.Event{Type: vocab.EventInstanceStart, Instance: id, Attempt: 1})
}

func phase(t *Terminal, id, phase string, step int, cost float64) {
	t.Event(vocab.Event{Type: vocab.EventPhase, Instance: id, Phase: phase, Step: step, Cost: cost})
}

// spent reports the cost of the run, in an event of an instance that does not run.
func spent(t *Terminal, dollars float64) {
	t.Event(vocab.Event{Type: vocab.EventPhase, Spent: dollars})
}

func say(t *Terminal, text string) { t.Event(vocab.Event{Type: vocab.EventMessage, Text: text}) }

func end(t *Terminal, id, status string, cost float64) {
	t.Event(vocab.Event{Type: vocab.EventInstanceEnd, Instance: id, Status: vocab.Status(status), Outcome: vocab.Status(status).Outcome(), Cost: cost})
}

// tenMinutes plays a part of a run of ten instances that does not end.
func tenMinutes(d *Terminal) {
	d.Event(vocab.Event{Type: vocab.EventRunStart, Total: 10, Done: 2, Cost: 0.5})
	start(d, "django__django-11099")
	start(d, "sympy__sympy-20590")
	phase(d, "django__django-11099", "model", 3, 0.011)
	time.Sleep(time.Minute)
	end(d, "django__django-11099", "Submitted", 0.02)
	start(d, "a-very-long-name-of-an-organization__and-of-its-repository-4711")
	d.Event(vocab.Event{
		Type: vocab.EventPull, Instance: "a-very-long-name-of-an-organization__and-of-its-repository-4711",
		Bytes: 34e6, BytesTotal: 120e6,
	})
	phase(d, "sympy__sympy-20590", "commands", 12, 1.25)
	time.Sleep(9 * time.Minute)
	start(d, "flask-1")
	end(d, "flask-1", "LimitsExceeded", 0.25)
	spent(d, 2.02)
	time.Sleep(soon)
}

func TestTerminalShowsTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newVT(t, 100, 24)
		d := NewTerminal(v, v.size, 0, 4)
		tenMinutes(d)
		screen(t, v, `
  40% |████████████████                        | (4/10)  10m00s  ETA 30m00s  $2.02
running 2 of 4  done before 2  LimitsExceeded 1  Submitted 1
sympy__sympy-20590                                     commands    step 12            $1.25  10m00s
...ame-of-an-organization__and-of-its-repository-4711  pull                                   9m00s
`)
		end(d, "sympy__sympy-20590", "Submitted", 1.5)
		spent(d, 2.27)
		end(d, "a-very-long-name-of-an-organization__and-of-its-repository-4711", "Submitted", 0)
		d.Event(vocab.Event{Type: vocab.EventRunEnd})
		time.Sleep(time.Hour)
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
		want := `
  60% |████████████████████████                | (6/10)  10m00s  $2.27
done before 2  Submitted 3  LimitsExceeded 1
`
		screen(t, v, want)
		d.Event(vocab.Event{Type: vocab.EventMessage, Text: "too late"})
		screen(t, v, want)
	})
}

func TestTerminalFitsTheScreen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newVT(t, 60, 7)
		d := NewTerminal(v, v.size, 0, 4)
		defer d.Close()
		tenMinutes(d)
		for i := range 5 {
			start(d, fmt.Sprintf("go__go-%d", i))
		}
		time.Sleep(soon)
		screen(t, v, `
  40% |██████           | (4/10)  10m00s  ETA 30m01s  $2.02
running 7 of 4  done before 2  LimitsExceeded 1
sympy__sympy-20590                       commands    10m00s
...nization__and-of-its-repository-4711  pull         9m00s
go__go-0                                                 0s
+ 4 more
`)
		for _, size := range []struct{ cols, rows int }{{40, 20}, {61, 20}, {36, 30}} {
			v.resize(size.cols, size.rows)
			time.Sleep(time.Second)
		}
		screen(t, v, `
4/10  $2.02  ETA 30m09s  10m03s
running 7 of 4  done before 2
LimitsExceeded 1  Submitted 1
sympy__sympy-20590           10m03s
...nd-of-its-repository-4711  9m03s
go__go-0                         2s
go__go-1                         2s
go__go-2                         2s
go__go-3                         2s
go__go-4                         2s
`)
	})
}

func TestABlockAsHighAsTheScreenLeavesNoCopiesBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newVT(t, 40, 4)
		d := NewTerminal(v, v.size, 2, 1)
		defer d.Close()
		start(d, "one")
		for i := range 5 {
			say(d, fmt.Sprintf("%d: a line that takes two rows on so narrow a screen", i))
			time.Sleep(soon)
		}
		if n := strings.Count(v.text(), "running"); n != 1 {
			t.Errorf("the block is on the terminal %d times, want once:\n%s", n, v.text())
		}
		if n := strings.Count(v.text(), "two rows"); n != 5 {
			t.Errorf("got %d log lines of 5, want 5:\n%s", n, v.text())
		}
	})
}

func TestTerminalKeepsToATinyScreen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newVT(t, 60, 20)
		d := NewTerminal(v, v.size, 0, 4)
		defer d.Close()
		tenMinutes(d)
		for _, size := range []struct {
			cols, rows int
			want       string
		}{
			{20, 5, "\n4/10  $2.02\nrunning 2 of 4\n...mpy-20590 10m01s\n...tory-4711  9m01s\n"},
			{20, 2, "\n4/10  $2.02\n"},
			{3, 3, "\n4/\nru\n"},
			{1, 1, "\n\n"},
		} {
			v.resize(size.cols, size.rows)
			time.Sleep(time.Second + soon)
			synctest.Wait()
			if got := v.visible(); "\n"+got != size.want {
				t.Errorf("on %d by %d, the screen is\n%s\nwant%s", size.cols, size.rows, got, size.want)
			}
		}
	})
}

func TestLogLinesAppearAboveTheBlock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newVT(t, 72, 5)
		d := NewTerminal(v, v.size, 3, 1)
		start(d, "one")
		for i := range 4 {
			say(d, fmt.Sprintf("line %d", i))
			time.Sleep(time.Second)
		}
		d.Event(vocab.Event{Type: vocab.EventMessage, Text: "draining"})
		d.Event(vocab.Event{Type: vocab.EventInstanceEnd, Instance: "one", Status: "TransientFault", Outcome: "infrastructure", Error: "pulling image x: refused\nmore"})
		say(d, strings.Repeat("long", 20))
		_ = d.Close()
		screen(t, v, `
line 0
line 1
line 2
line 3
draining
one: TransientFault: pulling image x: refused more
longlonglonglonglonglonglonglonglonglonglonglonglonglonglonglonglonglong
longlong
   0% |                                      | (0/3)  4s  ETA 8s  $0.00
running 0 of 1  failed 1 (will be retried)  TransientFault 1
`)
	})
}

func TestHostileTextCannotMoveTheCursor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newVT(t, 80, 24)
		d := NewTerminal(v, v.size, 3, 1)
		evil := "a\x1b[2J\x1b[1;1Hb\rc\x1b]0;title\x07d\x9b2Je\u202ef\u0085g\x7fh\x00\b\vi\u2028j\x1bPq\x1b\\k\x1b"
		start(d, evil)
		phase(d, evil, "x\x1b[9A", 1, 0)
		start(d, "世界世界世界世界世界世界世界世界世界世界世界世界-the-tail")
		start(d, "e\u0301\u0301\u0301-👩‍👩‍👧‍👦")
		say(d, evil)
		d.Event(vocab.Event{Type: vocab.EventInstanceEnd, Instance: "z\x1b[A", Status: "\x1b[1AEvil", Outcome: "submitted", Error: evil})
		time.Sleep(soon)
		_ = d.Close()
		screen(t, v, `
a\u001b[2J\u001b[1;1Hb c\u001b]0;title\u0007d\x9b2Je\u202ef\u0085g\u007fh\u0000\
u0008\u000bi\u2028j\u001bPq\u001b\k\u001b
z\u001b[A: \u001b[1AEvil: a\u001b[2J\u001b[1;1Hb c\u001b]0;title\u0007d\x9b2Je\u
202ef\u0085g\u007fh\u0000\u0008\u000bi\u2028j\u001bPq\u001b\k\u001b
  33% |█████████████                           | (1/3)  0s  ETA 0s  $0.00
running 3 of 1  \u001b[1AEvil 1
...i\u2028j\u001bPq\u001b\k\u001b  x\u001b[9A  step 1                        0s
...世界世界世界世界世界-the-tail                                             0s
`+"e\u0301\u0301\u0301-👩‍👩‍👧‍👦"+`                                                                         0s
`)
	})
}

func TestRepaintsAreFewAndKeepUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newVT(t, 80, 24)
		d := NewTerminal(v, v.size, 3, 1)
		start(d, "one")
		begin := v.paintings()
		for i := range 1000 {
			phase(d, "one", "model", i, 0)
			time.Sleep(10 * time.Millisecond)
		}
		synctest.Wait()
		if n := v.paintings() - begin; n < 90 || n > 101 {
			t.Errorf("%d paintings in 10 s of many events, want about 100", n)
		}
		begin = v.paintings()
		time.Sleep(20 * time.Second)
		synctest.Wait()
		if n := v.paintings() - begin; n < 19 || n > 21 {
			t.Errorf("%d paintings in 20 s without events, want one a second", n)
		}
		if !strings.Contains(v.text(), "30s") {
			t.Errorf("the age of the instance does not advance:\n%s", v.text())
		}
		_ = d.Close()
	})
}

// stuck is a terminal that accepts no output until it is released.
type stuck struct{ free chan struct{} }

func (s stuck) Write(p []byte) (int, error) {
	<-s.free
	return len(p), nil
}

func TestAStuckTerminalBlocksNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := stuck{make(chan struct{})}
		d := NewTerminal(s, nil, 3, 1)
		line := strings.Repeat("x", 1000)
		start(d, "one")
		time.Sleep(soon) // the painter is blocked now, and reads no more lines
		before := time.Now()
		for range 5000 {
			phase(d, "one", "model", 1, 0)
			say(d, line)
			start(d, "one")
		}
		synctest.Wait()
		if waited := time.Since(before); waited > 0 {
			t.Errorf("events waited %v, want at most 0", waited)
		}
		d.mu.Lock()
		if kept := d.log.size; kept > maxPending+len(line) || d.log.dropped < 3000 {
			t.Errorf("%d bytes are buffered, %d lines dropped", kept, d.log.dropped)
		}
		d.mu.Unlock()
		close(s.free)
		_ = d.Close()
	})
}

type broken struct{ writes int }

var errGone = errors.New("terminal gone")

func (b *broken) Write([]byte) (int, error) { b.writes++; return 0, errGone }

func TestABrokenTerminalIsNotWrittenAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &broken{}
		d := NewTerminal(b, nil, 3, 1)
		start(d, "one")
		time.Sleep(time.Minute)
		for range 2 {
			if err := d.Close(); !errors.Is(err, errGone) {
				t.Errorf("Close: %v, want %v", err, errGone)
			}
		}
		if b.writes != 1 {
			t.Errorf("%d writes to a broken terminal, want 1", b.writes)
		}
	})
}

func TestManyGoroutinesShareADisplay(t *testing.T) {
	v := newVT(t, 80, 24)
	displays := map[string]Display{
		"terminal": NewTerminal(v, v.size, 64, 8), "lines": NewLines(newVT(t, 999, 24)),
		"json": NewJSON(newVT(t, 999, 24)), "quiet": NewQuiet(newVT(t, 999, 24)),
	}
	for name, d := range displays {
		t.Run(name, func(t *testing.T) {
			var all sync.WaitGroup
			for i := range 64 {
				all.Go(func() {
					id := fmt.Sprintf("instance-%d", i)
					d.Event(vocab.Event{Type: vocab.EventInstanceStart, Instance: id})
					for step := range 50 {
						d.Event(vocab.Event{Type: vocab.EventPhase, Instance: id, Phase: "model", Step: step})
						d.Event(vocab.Event{Type: vocab.EventMessage, Text: fmt.Sprintf("%s at %d", id, step)})
					}
					d.Event(vocab.Event{Type: vocab.EventInstanceEnd, Instance: id, Status: "Submitted", Outcome: "submitted", Cost: 1})
				})
			}
			all.Go(func() { v.resize(79, 10) })
			all.Wait()
			if err := d.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	if got := v.text(); !strings.Contains(got, "Submitted 64") || !strings.Contains(got, "(64/64)") {
		t.Errorf("the last state is not on the screen:\n%s", got[max(0, len(got)-300):])
	}
	if n := strings.Count(v.text(), " at "); n != 64*50 {
		t.Errorf("%d log lines above the block, want %d", n, 64*50)
	}
}
