package enginetest

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"batch.example/batch/internal/box"
	"batch.example/batch/sandbox/engine"
	"batch.example/batch/vocab"
)

// hostile is a command that would break a naive shell, and its expected effects.
type hostile struct {
	name, script string
	spec         engine.Spec
	timeout      time.Duration // 0: a long one that must not be reached
	timesOut     bool
	code         int // when it does not time out
	output       func(vocab.Output) bool
	oom          bool
	ruins        bool   // the container is destroyed by it
	shares       bool   // it leaves its container as it was: one serves all of these, one after the other
	later        string // a file that shows when the processes it left have finished
}

func prints(want string) func(vocab.Output) bool {
	return func(r vocab.Output) bool { return string(r.Bytes) == want }
}

func writes(least int64) func(vocab.Output) bool {
	return func(r vocab.Output) bool { return r.Total >= least && len(r.Bytes) <= 10<<20 }
}

var hostiles = []hostile{
	{name: "kill -9 -1", shares: true, script: "kill -9 -1; exit 9", code: 9}, // which does not reach the caller,
	{name: "kill its shell", shares: true, script: "echo a; kill -9 $$; sleep 50", code: 137, output: prints("a\n")},
	{name: "kill the parent", shares: true, script: "kill -9 $PPID; exit 9", code: 9},
	{name: "terminate its shell", shares: true, script: "kill $$; sleep 50", code: 143},
	{name: "stop its shell", script: "echo stopped; kill -STOP $$", timeout: 5 * time.Second, timesOut: true, output: prints("stopped\n")},
	{name: "stop its supervisor", script: "kill -STOP $PPID; exit 0", timeout: 5 * time.Second, timesOut: true},
	{name: "stop all", script: "kill -STOP -1; exit 0", timeout: 5 * time.Second, timesOut: true},
	{name: "stop all for ever", script: "(while :; do kill -STOP -1; done) >/dev/null 2>&1 & sleep 50", timeout: 5 * time.Second, timesOut: true},
	{
		name:   "faults and limits for the init",
		script: "for s in SEGV ILL BUS FPE TRAP SYS ABRT; do /usr/bin/kill -q 0 -$s 1; done; prlimit --pid 1 --cpu=1:1 2>/dev/null; /usr/bin/kill -q 0 -SEGV $PPID; sleep 0.1; exit 4",
		code:   4,
	},
	{name: "every signal to the init", shares: true, script: "for s in {1..64}; do kill -$s 1; done 2>/dev/null; exit 4", code: 4},
	{name: "terminate and hang up all", shares: true, script: "trap '' TERM HUP; for d in /proc/[0-9]*; do kill -TERM ${d#/proc/}; kill -HUP ${d#/proc/}; done 2>/dev/null; exit 4", code: 4},
	{name: "/dev/null as a pipe", script: "rm -f /dev/null; mkfifo /dev/null; echo gone", output: prints("gone\n")},
	{name: "stop itself", script: "kill -STOP $BASHPID", timeout: 5 * time.Second, timesOut: true},
	{name: "interrupt its group", shares: true, script: "kill -INT 0; sleep 50", code: 130},
	{name: "kill what waits later", script: "(sleep 0.3; for d in /proc/[1-9]*; do p=${d#/proc/}; ((p == 1 || p == BASHPID)) || kill -9 $p; done; echo >/tmp/done) >/dev/null 2>&1 & exit 3", code: 3, later: "/tmp/done"},
	{name: "exec", shares: true, script: "exec echo replaced", output: prints("replaced\n")},
	{name: "exec what is not there", shares: true, script: "exec nosuch; echo no", code: 127, output: prints("bash: line 1: exec: nosuch: not found\n")},
	{name: "close all descriptors", shares: true, script: "for fd in {0..255}; do eval \"exec $fd<&-\"; done 2>/dev/null; exit 9", code: 9},
	{name: "stty", shares: true, script: "stty raw -echo; stty sane; echo $?", output: func(r vocab.Output) bool { return strings.HasSuffix(string(r.Bytes), "1\n") }},
	{name: "a fork bomb", script: "f() { f | f & }; f; sleep 50", spec: engine.Spec{PidsLimit: 120}, timeout: 5 * time.Second, timesOut: true},
	{name: "all processes there may be", script: "for i in {1..300}; do sleep 50 & done 2>/dev/null; wait", spec: engine.Spec{PidsLimit: 60}, timeout: 5 * time.Second, timesOut: true},
	{
		name: "all of the memory", script: "x=$(head -c 300000000 /dev/zero | tail -c 300000000 | wc -c); echo $? $x; head -c 300000000 /dev/zero | tail -c 300000000 >/dev/null; exit ${PIPESTATUS[1]}",
		spec: engine.Spec{Memory: 96 << 20}, code: 137, oom: true,
	},
	{name: "memory in the shell itself", script: "x=x; while :; do x=$x$x; done", spec: engine.Spec{Memory: 96 << 20}, code: 137, oom: true},
	{name: "a full /dev/shm", script: "head -c 10000000 /dev/zero >/dev/shm/full", spec: engine.Spec{ShmSize: 1 << 20}, code: 1, output: func(r vocab.Output) bool { return strings.Contains(string(r.Bytes), "No space left") }},
	{name: "no bash any more", script: "rm -f /bin/bash /usr/bin/bash; echo gone", output: prints("gone\n"), ruins: true},
	{name: "a bash that is no program", script: "echo no program >/usr/bin/t; chmod 755 /usr/bin/t; ln -f /usr/bin/t /usr/bin/bash", ruins: true},
	{name: "a bash that must not run", script: "chmod 0 /usr/bin/bash", ruins: true},
	{name: "no loader any more", script: "rm -rf /lib64 /usr/lib64 /lib/ld-* /usr/lib/ld-*", ruins: true},
	{name: "no /dev/null any more", script: "rm -f /dev/null; echo gone", output: prints("gone\n")},
	{name: "/dev/null as a file", script: "rm -f /dev/null; echo secret >/dev/null; echo gone", output: prints("gone\n")},
	{name: "no programs any more", script: "PATH=; rm() { /usr/bin/rm \"$@\"; }; rm -rf /usr; echo gone", output: prints("gone\n"), ruins: true},
	{name: "lines like batch's own", shares: true, script: "printf 'ABCDEFGHIJKLMNOPQRSTUVWXYZe 0 0\\n'; printf 's\\ne 0 0\\ng 1 1\\n'; exit 5", code: 5, output: prints("ABCDEFGHIJKLMNOPQRSTUVWXYZe 0 0\ns\ne 0 0\ng 1 1\n")},
	{name: "all that can be read of its shell", shares: true, script: "cat /proc/$$/cmdline /proc/$$/environ /proc/$$/stat /proc/$$/maps; exit 5", code: 5, output: writes(500)},
	{name: "its stdin is read", shares: true, script: "timeout 0.3 cat </proc/$$/fd/0; exit 6", code: 6},
	{name: "and stolen later", shares: true, script: "cat </proc/$$/fd/0 >/dev/null & exit 6", code: 6},
	{name: "and added to", shares: true, script: "printf garbage >/proc/$$/fd/0; exit 6", code: 6},
	{name: "and to what it says", shares: true, script: "printf garbage >/proc/$$/fd/1; exit 6", code: 6, output: prints("garbage")},
	{name: "NUL and all bytes", shares: true, script: `printf 'a\0b'; for i in {1..255}; do printf "\\x$(printf %x $i)"; done; exit 3`, code: 3, output: func(r vocab.Output) bool {
		want := []byte("a\x00b")
		for i := 1; i < 256; i++ {
			want = append(want, byte(i))
		}
		return bytes.Equal(r.Bytes, want)
	}},
	{name: "100 MB on one line", shares: true, script: "head -c 100000000 /dev/zero", output: writes(100_000_000)},
	{name: "cat /dev/zero", script: "cat /dev/zero", timeout: 10 * time.Second, timesOut: true, output: writes(1 << 20)},
	{name: "cat /dev/urandom", script: "cat /dev/urandom", timeout: 10 * time.Second, timesOut: true, output: writes(1 << 20)},
	{name: "yes", script: "yes", timeout: 10 * time.Second, timesOut: true, output: writes(1 << 20)},
	{name: "cat of the terminal", shares: true, script: "cat /dev/tty", code: 1},
	{name: "no newline", shares: true, script: "printf end", output: prints("end")},
	{name: "its directory removed", script: "mkdir /tmp/d && cd /tmp/d && rm -rf /tmp/d; cd /testbed && rm -rf /testbed; mkdir /testbed", output: prints("")},
	{name: "limits", shares: true, script: "ulimit -n 3; ulimit -f 0; ulimit -t 1; umask 777; exit 2", code: 2},
	{name: "a processor's time", shares: true, script: "ulimit -t 1; while :; do :; done", code: 137},
	{name: "signals ignored", script: "trap '' HUP INT TERM QUIT TSTP CHLD PIPE; while :; do :; done", timeout: 5 * time.Second, timesOut: true},
	{name: "a background writer", script: "while :; do echo noise; sleep 0.01; done & echo started; exit 4", code: 4},
	{name: "a daemon with our output", script: "setsid bash -c 'while :; do echo noise; sleep 0.02; done' & exit 0"},
	{name: "batch's names redefined", shares: true, script: "builtin() { :; }; exec() { :; }; _bw=x; readonly _bw; enable -n wait; exit 3", code: 3},
}

func (e *suite) hostileCommandsDoNotBreakTheContainer(t *testing.T) {
	t.Parallel()
	t.Run("stop all from now on", func(t *testing.T) { e.stopAllFromNowOn(t) })
	t.Run("in one container", func(t *testing.T) {
		t.Parallel()
		c := e.start(t, engine.Spec{WorkDir: "/testbed"})
		for _, h := range hostiles {
			if h.shares {
				t.Run(h.name, func(t *testing.T) { h.run(t, c) })
			}
		}
	})
	for _, h := range hostiles {
		if h.shares {
			continue
		}
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			if h.spec.PidsLimit > 0 || h.spec.Memory > 0 {
				e.needLimits(t)
			}
			h.spec.WorkDir = "/testbed"
			h.run(t, e.start(t, h.spec))
		})
	}
}

// run runs the command in c, and then others.
func (h hostile) run(t *testing.T, c engine.Container) {
	t.Helper()
	Script(t, c, "rm -f /tmp/count") // so that the shell is not new
	limit := h.timeout
	if limit == 0 {
		limit = Enough
	}
	r := Command(t, c, box.Command{Script: "echo x >>/tmp/count; " + h.script, Timeout: limit})
	h.check(t, r)
	if h.later != "" {
		AwaitFile(t, c, h.later)
	}
	if h.ruins {
		if _, err := c.Run(t.Context(), box.Command{Script: "echo next"}); !errors.Is(err, vocab.ErrDestroyed) {
			t.Errorf("the next command: %v, want error %v", err, vocab.ErrDestroyed)
		}
		return
	}
	for range 2 { // with an empty stdin, whatever /dev/null is
		if r := Script(t, c, "cat; echo next"); string(r.Bytes) != "next\n" || r.ExitCode != 0 || r.TimedOut {
			t.Errorf("the next command has output %q, code %d, timed out %v", r.Bytes, r.ExitCode, r.TimedOut)
		}
	}
	r = Script(t, c, "mapfile -t n </tmp/count; echo ${#n[@]}")
	if string(r.Bytes) != "1\n" {
		t.Errorf("it ran %q times, want output %q", r.Bytes, "1\n")
	}
	if !h.timesOut { // and the list may need a /dev/null
		return
	}
	if left := Processes(t, c); len(left) > 0 {
		t.Errorf("still running: %q, want no process", left)
	}
}

func (h hostile) check(t *testing.T, r vocab.Output) {
	t.Helper()
	code := h.code
	if h.timesOut {
		code = -1
	}
	if r.TimedOut != h.timesOut || r.ExitCode != code || r.OOM != h.oom {
		t.Errorf("code %d, timed out %v, out of memory %v; want %d, %v, %v; output %.200q",
			r.ExitCode, r.TimedOut, r.OOM, code, h.timesOut, h.oom, r.Bytes)
	}
	if h.output != nil && !h.output(r) {
		t.Errorf("unexpected output of %d bytes: %.200q", r.Total, r.Bytes)
	}
}

// A command that keeps stopping every process stops other commands, but neither their init
// nor their time limit.
func (e *suite) stopAllFromNowOn(t *testing.T) {
	t.Parallel()
	e.needLimits(t)
	c := e.start(t, engine.Spec{CPUs: 0.25}) // for all: it needs a processor's whole time otherwise
	Script(t, c, "(while kill -0 $$; do sleep 0.01; done; echo >/tmp/begins; while :; do kill -STOP -1; done) >/dev/null 2>&1 & exit 0")
	// It has begun when its file is there, or when it stops the command that looks for the file.
	ctx := Soon(t)
	for begun := false; !begun; time.Sleep(20 * time.Millisecond) {
		r, err := c.Run(ctx, box.Command{Script: "[ -e /tmp/begins ]", Timeout: 5 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		begun = r.ExitCode == 0 || r.TimedOut
	}
	for range 4 {
		r, err := c.Run(Soon(t), box.Command{Script: "echo next", Timeout: 5 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		if string(r.Bytes) == "next\n" && r.ExitCode == 0 {
			return
		}
		t.Logf("code %d, timed out %v, restarted %v, %q", r.ExitCode, r.TimedOut, r.Restarted, r.Bytes)
		// It is killed if its supervisor was stopped for so long that it did not begin.
		if killed := r.ExitCode == 137 && len(r.Bytes) == 0; !r.TimedOut && !killed {
			t.Errorf("want %q, timed out, or exit code 137 without output", "next\n")
		}
	}
}
