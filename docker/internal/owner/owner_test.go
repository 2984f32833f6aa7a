package owner

import (
	"os"
	"os/exec"
	"testing"
)

func TestAnOwnerReadsAsItWasWritten(t *testing.T) {
	me := Self()
	if back, ok := Parse(me.String()); !ok || back != me {
		t.Errorf("%q reads as %+v", me, back)
	}
	for _, label := range []string{"", "x/y/z", "h/m/b/s/0/1", "h/m/b/s/x/1", "h/m/b/s/1/1/1"} {
		if o, ok := Parse(label); ok {
			t.Errorf("%q reads as %+v", label, o)
		}
	}
}

func TestANumberThatIsNobodysIsDead(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^$")
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	o := Self()
	o.Pid = cmd.Process.Pid
	if o.Boot != "" && o.Fate(Self(), true) != Dead { // also when the number was given out again
		t.Errorf("an ended process is not dead")
	}
}

func TestTheFirstProcessOfASpaceIsAnOwner(t *testing.T) {
	o := Owner{Host: "h", Pid: 1, Start: "5"} // batch as the main program of a container
	if back, ok := Parse(o.String()); !ok || back != o {
		t.Errorf("%q reads as %+v", o, back)
	}
}
