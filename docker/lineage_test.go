package docker_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"batch.example/batch/docker/containers"
	"batch.example/batch/internal/tier"
	"batch.example/batch/sandbox/engine"
)

// toEach does something to every process except the init and this one.
const toEach = `for d in /proc/[1-9]*; do p=${d#/proc/}; ((p == 1 || p == BASHPID)) || `

// A fork bomb so large that all processes are stopped at once ends at its time limit, and the
// processes of other commands are as before: they continue, or stay stopped.
func TestALargeForkBombEndsAtItsTimeLimit(t *testing.T) {
	t.Parallel()
	c := start(t, connect(t), engine.Spec{PidsLimit: 600}) // several times boxinit's crowd
	run(t, c, "(setsid nohup bash -c 'echo $$ >/tmp/continues; exec -a sleepserver sleep 7777' >/dev/null 2>&1 &)")
	run(t, c, "(setsid nohup bash -c 'echo $$ >/tmp/stays; kill -STOP $$' >/dev/null 2>&1 &)")
	awaitFile(t, c, "/tmp/continues")
	awaitFile(t, c, "/tmp/stays")
	for _, bomb := range []string{
		"f() { f | f & }; f; sleep 100",
		"kill -9 $PPID; f() { f | f & }; f; sleep 100",
		"echo 'for i in 1 2 3; do setsid bash /tmp/bomb & done; wait' >/tmp/bomb; bash /tmp/bomb; sleep 100",
	} {
		r := runCommand(t, c, containers.Command{Script: "echo begun; { " + bomb + "; } 2>/dev/null", Timeout: 5 * time.Second})
		if !r.TimedOut || r.Restarted || string(r.Bytes) != "begun\n" {
			t.Errorf("%s: timed out %v, restarted %v, %.200q; want timed out true, restarted false, %q", bomb, r.TimedOut, r.Restarted, r.Bytes, "begun\n")
		}
		if left := processes(t, c); strings.Join(left, ",") != "sleepserver 7777" {
			t.Errorf("%s: still running: %.200q, want %q", bomb, left, "sleepserver 7777")
		}
		const states = `for f in continues stays; do
	while read -r key value; do [[ $key != State: ]] || echo "$value"; done </proc/$(</tmp/$f)/status
done`
		const want = "S (sleeping)\nT (stopped)\n"
		if r := run(t, c, states); string(r.Bytes) != want {
			t.Errorf("%s: the processes of other commands are %q, want %q", bomb, r.Bytes, want)
		}
	}
}

// The short time slices of process 1 are not inherited by commands.
func TestACommandHasTheUsualTimeSlice(t *testing.T) {
	tier.Rest(t)
	t.Parallel()
	const slice = "while read -r key _ value; do [[ $key != se.slice ]] || echo $value; done </proc/self/sched"
	want, err := exec.Command("bash", "-c", slice).Output()
	if err != nil || len(want) == 0 {
		t.Skipf("this kernel does not tell the time slice of a process: %v", err)
	}
	c := start(t, connect(t), engine.Spec{})
	for range 2 {
		if r := run(t, c, slice); string(r.Bytes) != string(want) {
			t.Errorf("a command has the time slice %s ns, want %s", r.Bytes, want)
		}
	}
}

// A supervisor without remaining descendants gets the next command; commands before it
// have tried to kill and change it as far as they can.
func TestACommandIsNotAffectedByEarlierOnes(t *testing.T) {
	t.Parallel()
	c := start(t, connect(t), engine.Spec{CapAdd: []string{"KILL"}})
	// Two at once, so that a second supervisor waits besides the attacker's.
	twice := func(t *testing.T, script string) (out [2]string) {
		t.Helper()
		var both sync.WaitGroup
		for i := range out {
			both.Go(func() {
				r, err := c.Run(t.Context(), containers.Command{Script: script, Fresh: true})
				if err != nil || r.ExitCode != 0 {
					t.Errorf("code %d, %q, %v; want exit code 0, no error", r.ExitCode, r.Bytes, err)
				}
				out[i] = string(r.Bytes)
			})
		}
		both.Wait()
		return out
	}
	const look = "sleep 0.2; ulimit -Sa; ulimit -Ha; umask; pwd; env | sort; ls /proc/self/fd; cat /proc/self/oom_score_adj; grep -E '^(Sig(Blk|Ign)|Cap|Groups|NoNew|Seccomp)' /proc/self/status; true"
	want := twice(t, look)
	for name, attack := range map[string]string{
		"limits":             toEach + "prlimit --pid $p --nofile=9:9 --fsize=9:9 --core=9:9; done",
		"stopped":            "kill -STOP -1",
		"killed":             "kill -9 -1",
		"signaled":           toEach + "for s in {1..31}; do ((s == 9 || s == 19)) || kill -$s $p; done; done",
		"its own supervisor": "prlimit --pid $PPID --nofile=9:9; echo 900 >/proc/$PPID/oom_score_adj",
		"its own":            "cd /tmp; umask 7; export X=1; ulimit -n 9; trap '' HUP PIPE; exec 7>&1",
	} {
		t.Run(name, func(t *testing.T) {
			r := runCommand(t, c, containers.Command{Script: attack + " 2>/dev/null; exit 0", Fresh: true, Timeout: 2 * time.Second})
			t.Logf("the attacker: code %d, %q", r.ExitCode, r.Bytes)
			for range 2 {
				if diff := cmp.Diff(want, twice(t, look)); diff != "" || want[0] != want[1] {
					t.Error(diff)
				}
			}
		})
	}
}

// Reused process ids change nothing: a process is not mistaken for another
// that ended, nor is output.
func TestReusedProcessIDs(t *testing.T) {
	tier.Rest(t)
	t.Parallel()
	c := start(t, connect(t), engine.Spec{})
	in, err := raw(t).ContainerInspect(t.Context(), c.ID())
	if err != nil {
		t.Fatal(err)
	}
	// From Linux 6.14 on, each pid namespace has a limit of its own; before, it is the machine's.
	const limit = "/proc/sys/kernel/pid_max"
	var major, minor int
	release, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	if _, err := fmt.Sscanf(string(release), "%d.%d", &major, &minor); err != nil || major < 6 || major == 6 && minor < 14 {
		t.Skipf("the number of process ids is the machine's: Linux %s", release)
	}
	before, err := os.ReadFile(limit)
	if err != nil {
		t.Fatal(err)
	}
	few := exec.Command("nsenter", "-t", fmt.Sprint(in.State.Pid), "-p", "sh", "-c", "echo 400 >"+limit)
	if out, err := few.CombinedOutput(); err != nil {
		t.Skipf("the number of process ids cannot be lowered: %v, %s", err, out)
	}
	if all, _ := os.ReadFile(limit); string(all) != string(before) {
		t.Fatalf("the machine's number of process ids became %s, was %s: %v", all, before, os.WriteFile(limit, before, 0o644))
	}
	run(t, c, "(setsid nohup bash -c 'exec -a sleepserver sleep 7777' >/dev/null 2>&1 &)")
	for n := range 20 { // in each, of 400 ids more than 60
		r := runCommand(t, c, containers.Command{
			Script: fmt.Sprintf("(sleep 0.05; echo noise%d) & for i in {1..60}; do /usr/bin/true; done; echo %[1]d", n), Ahead: true, Timeout: enough,
		})
		own := strings.Replace(string(r.Bytes), fmt.Sprintf("noise%d\n", n), "", 1)
		if own != fmt.Sprintf("%d\n", n) || r.ExitCode != 0 {
			t.Errorf("%d: got %+v, %q; want own %v, exit code 0", n, r, r.Bytes, fmt.Sprintf("%d\n", n))
		}
		if n%10 == 0 {
			if r := runCommand(t, c, containers.Command{Script: "(setsid sleep 7001 &); sleep 7002", Timeout: 100 * time.Millisecond}); !r.TimedOut {
				t.Errorf("got %+v, want timed out true", r)
			}
		}
	}
	if left := processes(t, c); strings.Join(left, ",") != "sleepserver 7777" {
		t.Errorf("still running: %q, want %q", left, "sleepserver 7777")
	}
}
