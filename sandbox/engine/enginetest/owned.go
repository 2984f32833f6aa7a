package enginetest

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"batch.example/batch/fault"
	"batch.example/batch/internal/box"
	again "batch.example/batch/internal/enginetest"
	"batch.example/batch/internal/owner"
	"batch.example/batch/sandbox/engine"
)

// underWay is a command that still runs in the container of a killed process.
var underWay = box.Command{
	ID: "s1.1", Timeout: Enough,
	Script: "echo ran >>/tmp/count; until [ -e /tmp/go ]; do sleep 0.01; done; echo done; exit 3",
}

// doomed has the arguments for a process of batch that will be killed.
type doomed struct {
	Dir, Image, Run, Lease string
	Attach                 string // a container; empty: it creates one
	Says                   string // the file into which it writes its container's id when it may be killed
}

// beKilled creates a container with a command under way, or attaches to one and starts a program
// there, and waits to be killed.
func beKilled(t *testing.T, o Options) {
	var d doomed
	if err := json.Unmarshal([]byte(again.Value()), &d); err != nil {
		t.Fatal(err)
	}
	id := d.Attach
	if e := o.Open(t, d.Dir); id == "" {
		id = d.create(t, e)
	} else {
		d.attach(t, e)
	}
	if err := errors.Join(os.WriteFile(d.Says+".new", []byte(id), 0o600), os.Rename(d.Says+".new", d.Says)); err != nil {
		t.Fatal(err)
	}
	time.Sleep(Enough)
}

func (d doomed) create(t *testing.T, e engine.Engine) string {
	labels := map[string]string{engine.LabelLease: d.Lease, engine.LabelInstance: "i", engine.LabelAttempt: "2", engine.LabelProgram: "yes"}
	c, err := e.Create(t.Context(), fill(engine.Spec{Labels: labels, WorkDir: "/testbed"}, d.Image, d.Run))
	if err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = c.Run(t.Context(), underWay) }()
	AwaitFile(t, c, "/tmp/count")
	return c.ID()
}

// mark is in the arguments of all processes of the doomed process's program.
const mark = "456123"

func (d doomed) attach(t *testing.T, e engine.Engine) {
	c, err := e.Attach(t.Context(), d.Attach)
	if err != nil {
		t.Fatal(err)
	}
	p := Stream(t, c, box.Program{Name: "server", Args: []string{"bash", "-c", "trap '' PIPE HUP TERM; echo up; setsid sleep " + mark + " & sleep " + mark}})
	if line, err := bufio.NewReader(p).ReadString('\n'); line != "up\n" {
		t.Fatalf("got %q, %v", line, err)
	}
}

// doom starts the process, and returns its container's id once it may be killed.
func (e *suite) doom(t *testing.T, d doomed) (id string, kill func()) {
	t.Helper()
	d.Dir, d.Image, d.Run, d.Says = e.dir, e.image, e.run, filepath.Join(t.TempDir(), "id")
	value, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	kill = again.Again(t, e.name, string(value))
	for end := time.Now().Add(Enough); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if id, err := os.ReadFile(d.Says); err == nil {
			return string(id), kill
		}
	}
	t.Fatal("the other process says nothing")
	return "", nil
}

// leftByAKilled returns the container of a killed process, under a lease.
func (e *suite) leftByAKilled(t *testing.T, lease string) string {
	t.Helper()
	id, kill := e.doom(t, doomed{Lease: lease})
	t.Cleanup(func() {
		if err := e.engine.Remove(context.Background(), id); err != nil {
			t.Error(err)
		}
	})
	if o := e.find(t, id); o.Dead || o.Mine || o.Abandoned {
		t.Errorf("while its creator lives: %+v", o)
	}
	kill()
	return id
}

// As soon as another process of batch connects, the programs of a killed one end.
func (e *suite) theProgramsOfAKilledProcessOfBatchEnd(t *testing.T) {
	t.Parallel()
	c := e.start(t, engine.Spec{})
	_, kill := e.doom(t, doomed{Attach: c.ID()})
	kill()
	got := left(t, c, mark)
	for end := time.Now().Add(Enough); got != "" && time.Now().Before(end); got = left(t, c, mark) {
		time.Sleep(50 * time.Millisecond)
	}
	if got != "" {
		t.Errorf("left: %s", got)
	}
}

// lease returns a lease that this process holds, if it is held.
func lease(t *testing.T, held bool) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "lease")
	if held {
		if err := os.WriteFile(path, []byte("somebody\n"+owner.Self().String()+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return owner.Lease(path)
}

var quiet = slog.New(slog.DiscardHandler)

func (e *suite) containersOfAKilledProcessAreInherited(t *testing.T) {
	t.Parallel()
	mine := lease(t, true)
	id := e.leftByAKilled(t, mine)
	if removed, err := engine.Reap(t.Context(), e.engine, quiet, mine); err != nil || len(removed) > 0 {
		t.Errorf("reaped %+v, %v; want nothing: its lease is held", removed, err)
	}
	list, err := engine.Inherited(t.Context(), e.engine, mine)
	if err != nil || len(list) != 1 || list[0].ID != id {
		t.Fatalf("inherited %+v, %v; want %s", list, err, id)
	}
	if o := list[0]; !o.Dead || o.Mine || o.Abandoned || o.Instance != "i" || o.Attempt != "2" || o.State != engine.StateRunning || o.Adopter != "" ||
		o.Host != owner.Self().Host || o.Expires.Before(time.Now()) || o.Image == "" || !o.Under([]string{mine}) {
		t.Errorf("inherited %+v", o)
	}
	if err := e.engine.Adopt(t.Context(), id, mine); err != nil {
		t.Fatal(err)
	}
	if o := e.find(t, id); o.Adopter != owner.Adopter(mine) {
		t.Errorf("adopter %q, want %q", o.Adopter, owner.Adopter(mine))
	}
	for n := range 3 { // the command that was under way is not run again
		c, err := e.engine.Attach(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.CopyIn(t.Context(), "/tmp/go", 0o644, nil); err != nil {
			t.Fatal(err)
		}
		if r := Command(t, c, underWay); string(r.Bytes) != "done\n" || r.ExitCode != 3 {
			t.Errorf("%d: got %+v, %q", n, r, r.Bytes)
		}
		if n == 2 {
			if r := Script(t, c, "pwd; cat /tmp/count"); string(r.Bytes) != "/testbed\nran\n" {
				t.Errorf("it ran %q, want once, and the container's directory", r.Bytes)
			}
		}
		c.Close()
	}
}

func (e *suite) containersOfAKilledProcessAreReaped(t *testing.T) {
	t.Parallel()
	free := lease(t, false)
	id := e.leftByAKilled(t, free)
	if o := e.find(t, id); !o.Dead || !o.Abandoned || o.Mine {
		t.Errorf("got %+v", o)
	}
	if removed, err := engine.Reap(t.Context(), e.engine, quiet, lease(t, false)); err != nil || len(removed) > 0 {
		t.Errorf("reaped %+v, %v under another lease", removed, err)
	}
	if removed, err := engine.ReapDead(t.Context(), e.engine, quiet); err != nil || slices.ContainsFunc(removed, func(o engine.Owned) bool { return o.ID == id }) {
		t.Errorf("reaped %+v, %v; its agent may go on", removed, err)
	}
	removed, err := engine.Reap(t.Context(), e.engine, quiet, free)
	if err != nil {
		t.Fatal(err)
	}
	// Another process may have reaped it before.
	if others := slices.DeleteFunc(removed, func(o engine.Owned) bool { return o.ID == id }); len(others) > 0 {
		t.Errorf("reaped %+v", others)
	}
	if slices.ContainsFunc(e.owned(t), func(o engine.Owned) bool { return o.ID == id }) {
		t.Error("it is still there")
	}
	if _, err := e.engine.Attach(t.Context(), id); fault.KindOf(err) != fault.Transient {
		t.Errorf("attaching to it: %v", err)
	}
	if err := e.engine.Remove(t.Context(), id); err != nil {
		t.Errorf("removing it again: %v", err)
	}
}

func (e *suite) containersOfThisProcessAreItsLeftovers(t *testing.T) {
	t.Parallel()
	mine := lease(t, true)
	c := e.start(t, engine.Spec{Labels: map[string]string{engine.LabelLease: mine, engine.LabelInstance: "i"}})
	if o := e.find(t, c.ID()); !o.Mine || o.Dead || o.Abandoned || o.Lease != mine || o.Instance != "i" || o.State != engine.StateRunning {
		t.Errorf("got %+v", o)
	}
	if list, err := engine.Inherited(t.Context(), e.engine, mine); err != nil || len(list) > 0 {
		t.Errorf("inherited %+v, %v", list, err)
	}
	if list, err := engine.Leftovers(t.Context(), e.engine, mine); err != nil || len(list) != 1 || list[0].ID != c.ID() {
		t.Errorf("left over %+v, %v", list, err)
	}
	for _, other := range []string{"", lease(t, true)} {
		if list, err := engine.Leftovers(t.Context(), e.engine, other); err != nil || len(list) > 0 {
			t.Errorf("left over under %q: %+v, %v", other, list, err)
		}
	}
}

func (e *suite) createLeavesNothingBehindWhenItFails(t *testing.T) {
	t.Parallel()
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	for name, tt := range map[string]struct {
		ctx    context.Context
		change func(*engine.Spec)
		kind   fault.Kind
	}{
		"no image named":             {t.Context(), func(s *engine.Spec) { s.Image = "" }, fault.Usage},
		"an image that is not there": {t.Context(), func(s *engine.Spec) { s.Image = "nosuch.example/x:1" }, fault.Instance},
		"a relative directory":       {t.Context(), func(s *engine.Spec) { s.WorkDir = "x" }, fault.Usage},
		"a directory that is absent": {t.Context(), func(s *engine.Spec) { s.WorkDir = "/no/such" }, fault.Instance},
		"a directory that is a file": {t.Context(), func(s *engine.Spec) { s.WorkDir = "/usr/bin/bash" }, fault.Instance},
		"a negative limit":           {t.Context(), func(s *engine.Spec) { s.Memory = -1 }, fault.Usage},
		"a network that is absent":   {t.Context(), func(s *engine.Spec) { s.Network = "nosuch" }, fault.Usage},
		"a canceled context":         {canceled, func(*engine.Spec) {}, fault.Unknown},
	} {
		s := e.spec(engine.Spec{Labels: map[string]string{engine.LabelInstance: name}})
		tt.change(&s)
		c, err := e.engine.Create(tt.ctx, s)
		if err == nil {
			_ = c.Remove(context.Background())
		}
		if err == nil || fault.KindOf(err) != tt.kind {
			t.Errorf("%s: kind %v, want %v: %v", name, fault.KindOf(err), tt.kind, err)
		}
		e.hasNone(t, name)
	}
	for _, none := range []string{"", "none"} {
		if err := e.engine.CheckNetwork(t.Context(), none); err != nil {
			t.Errorf("network %q: %v", none, err)
		}
	}
	if err := e.engine.CheckNetwork(t.Context(), "nosuch"); fault.KindOf(err) != fault.Usage {
		t.Errorf("a network that is absent: %v", err)
	}
}

// hasNone checks that no container of the instance is there.
func (e *suite) hasNone(t *testing.T, instance string) {
	t.Helper()
	if slices.ContainsFunc(e.owned(t), func(o engine.Owned) bool { return o.Instance == instance }) {
		t.Errorf("%s: a container is left", instance)
	}
}

func (e *suite) aCanceledCreateLeavesNothing(t *testing.T) {
	t.Parallel()
	for after := time.Millisecond; ; after *= 2 {
		ctx, cancel := context.WithCancel(t.Context())
		timer := time.AfterFunc(after, cancel)
		c, err := e.engine.Create(ctx, e.spec(engine.Spec{Labels: map[string]string{engine.LabelInstance: "canceled"}}))
		timer.Stop()
		cancel()
		if err == nil { // it was faster
			if err := c.Remove(context.Background()); err != nil {
				t.Error(err)
			}
			break
		}
		if !fault.Canceled(err) {
			t.Errorf("canceled after %v: %v", after, err)
		}
		e.hasNone(t, "canceled")
	}
	e.hasNone(t, "canceled")
}

func (e *suite) aRemovedContainerIsAFaultNotAnObservation(t *testing.T) {
	t.Parallel()
	c := e.start(t, engine.Spec{})
	ended := make(chan error, 1)
	go func() {
		AwaitFile(t, c, "/tmp/began")
		ended <- e.engine.Remove(context.Background(), c.ID())
	}()
	r, err := c.Run(Soon(t), box.Command{Script: "echo part; echo >/tmp/began; sleep 600"})
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if fault.KindOf(err) != fault.Transient {
		t.Errorf("result %+v, error %v (%v); want a Transient fault", r, err, fault.KindOf(err))
	}
	if _, err := c.Run(t.Context(), box.Command{Script: "true"}); fault.KindOf(err) != fault.Transient {
		t.Errorf("the next command: %v, want a Transient fault", err)
	}
	for range 2 {
		if err := c.Remove(t.Context()); err != nil {
			t.Errorf("removing the missing container: %v", err)
		}
	}
}

func (e *suite) aboutDescribesTheEngine(t *testing.T) {
	t.Parallel()
	if err := e.engine.Ready(t.Context()); err != nil {
		t.Error(err)
	}
	a, err := e.engine.About(t.Context())
	if err != nil || a.Address == "" || a.Store == "" || a.OS != "linux" || a.Arch == "" || a.CPUs < 1 || a.Memory < 1 {
		t.Errorf("got %+v, %v", a, err)
	}
}
