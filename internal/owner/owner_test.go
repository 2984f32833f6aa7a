package owner

import (
	"os"
	"os/exec"
	"testing"
	"time"
)

func TestOwnerRoundTrip(t *testing.T) {
	me := Self()
	if back, ok := Parse(me.String()); !ok || back != me {
		t.Errorf("%q reads as %+v, want %+v", me, back, me)
	}
	for _, label := range []string{"", "x/y/z", "h/m/b/s/0/1", "h/m/b/s/x/1", "h/m/b/s/1/1/1"} {
		if o, ok := Parse(label); ok {
			t.Errorf("%q reads as %+v, want no owner", label, o)
		}
	}
}

func TestAnOwnerThatEndedIsDead(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^$")
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	o := Self()
	o.Pid = cmd.Process.Pid
	if o.Boot != "" && o.Liveness(Self(), true) != Dead { // also when another process got the same id
		t.Errorf("an owner whose process ended is not reported as dead")
	}
}

// A process that was killed stays in the table of processes until its parent asks how it ended, which the main
// program of a container may never do.
func TestAnOwnerThatIsAZombieIsDead(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "sleep", "1000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Wait() }()
	o := Of(cmd.Process.Pid)
	if o.Boot == "" {
		t.Skip("the system does not tell one boot from another")
	}
	if o.Liveness(Self(), true) != Alive {
		t.Error("a process that runs is not alive")
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); o.Liveness(Self(), true) != Dead; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("a zombie is not dead")
		}
	}
}

func TestProcess1IsAValidOwner(t *testing.T) {
	o := Owner{Host: "h", Pid: 1, Start: "5"} // batch as the main program of a container
	if back, ok := Parse(o.String()); !ok || back != o {
		t.Errorf("%q reads as %+v, want %+v", o, back, o)
	}
}
