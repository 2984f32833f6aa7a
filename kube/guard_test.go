package kube

import (
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"batch.example/batch/fault"
	"batch.example/batch/internal/box"
	"batch.example/batch/internal/kubetest"
	"batch.example/batch/sandbox/engine"
)

// The kernel drops cached files before it kills anything, and so must the helper. What no process
// holds fills the rest of the memory, for a test that does not depend on how a shell allocates.
func TestCachedFilesKillNoProcess(t *testing.T) {
	kubetest.Config(t)
	t.Parallel()
	c := start(t, open(t, "default"), engine.Spec{Memory: 200 << 20, ShmSize: 190 << 20})
	r, err := c.Run(t.Context(), box.Command{Timeout: time.Minute, Script: `
head -c 182M /dev/zero >/dev/shm/held
head -c 40M /dev/zero >/testbed/file
for i in 1 2 3 4 5 6 7 8 9; do head -c 12M /testbed/file >/dev/null; sleep 0.1; done
echo end`})
	if err != nil || string(r.Bytes) != "end\n" || r.OOM {
		t.Errorf("got %q, exit code %d, out of memory %v, %v", r.Bytes, r.ExitCode, r.OOM, err)
	}
}

// A cluster behind a tunnel, or on the same machine, has the address of the loopback device.
func TestTheProbeTriesTheAddressThatPodsUse(t *testing.T) {
	kubetest.Config(t)
	t.Parallel()
	f := open(t, "default")
	c := start(t, f, engine.Spec{Network: engine.Bridge}).(*container)
	f.config = rest.CopyConfig(f.config)
	f.config.Host = "https://127.0.0.1:6443"
	if err := c.alone(t.Context(), true); fault.KindOf(err) != fault.Host || !strings.Contains(err.Error(), "it reached") {
		t.Errorf("got %v, want a Host fault", err)
	}
}

// Two runs may share a namespace: the end of one must not remove what the next pod of the other needs.
func TestTidyLeavesWhatALivingProcessNeeds(t *testing.T) {
	kubetest.Config(t)
	t.Parallel()
	space := namespace(t, open(t, "default").cluster, "privileged")
	one, other := open(t, space), open(t, space)
	other.me.Pid = 1 // another process that lives
	other.me.Start = ""
	if err := start(t, other, engine.Spec{}).Remove(t.Context()); err != nil {
		t.Fatal(err)
	}
	if removed, err := one.Tidy(t.Context()); err != nil || removed {
		t.Errorf("it removed something: %v, %v", removed, err)
	}
	says(t, start(t, other, engine.Spec{}), "echo on", "on\n")
}

// A failed pod makes Create forget what it made.
func TestAnOwnerThatWasRemovedIsMadeAgain(t *testing.T) {
	kubetest.Config(t)
	t.Parallel()
	f := open(t, namespace(t, open(t, "default").cluster, "privileged"))
	if err := start(t, f, engine.Spec{}).Remove(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := f.remove(t.Context(), f.configMaps(), f.parent.Name); err != nil {
		t.Fatal(err)
	}
	f.forget()
	says(t, start(t, f, engine.Spec{}), "sleep 3; echo on", "on\n")
}
