package faults

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"batch.example/batch/docker"
	"batch.example/batch/e2e"
	"batch.example/batch/internal/enginetest"
	"batch.example/batch/internal/tier"
	"batch.example/batch/results"
)

// severalEngines starts n engines that have one image, with the same id.
func severalEngines(t *testing.T, n int) []*enginetest.Daemon {
	t.Helper()
	engines := []*enginetest.Daemon{e2e.OwnEngine(t)}
	for len(engines) < n {
		d := enginetest.Start(t)
		d.Copy(e2e.OwnImage, engines[0])
		engines = append(engines, d)
	}
	return engines
}

// several is a run on several engines.
type several struct {
	*testing.T
	dir     string
	engines []*enginetest.Daemon

	addresses []string // of the engines
	env       []string // of batch, beside the test's

	cmd  *exec.Cmd
	said bytes.Buffer
}

// waiting is a script that submits the file to which the first two commands append: a command that
// is lost, or runs twice in one container, shows. The second command takes some seconds.
const waiting = `"*":
  - bash: "echo one >> /tmp/state"
  - bash: "echo two >> /tmp/state; sleep %s"
  - bash: "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT; cat /tmp/state"
`

// severalRun returns a run of instances with a script, on engines.
func severalRun(t *testing.T, engines []*enginetest.Daemon, instances int, sleep string) *several {
	t.Helper()
	s := &several{T: t, dir: t.TempDir(), engines: engines}
	for _, d := range engines {
		s.addresses = append(s.addresses, d.Host())
	}
	var rows strings.Builder
	for i := range instances {
		fmt.Fprintf(&rows, `{"instance_id":"several__%d","problem_statement":"p","image_name":%q}`+"\n", i, e2e.OwnImage)
	}
	for name, text := range map[string]string{"rows.jsonl": rows.String(), "script.yaml": fmt.Sprintf(waiting, sleep)} {
		if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// named are the flags that name the engines.
func (s *several) named() (flags []string) {
	for _, address := range s.addresses {
		flags = append(flags, "--engine", address)
	}
	return flags
}

// start starts batch with the engines.
func (s *several) start(args ...string) {
	s.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	s.cmd = e2e.BatchContext(s.T, ctx, s.dir, append(args, s.named()...)...)
	s.said.Reset()
	s.cmd.Stdout, s.cmd.Stderr = &s.said, &s.said
	s.cmd.Env = append(s.cmd.Env, s.env...)
	if err := s.cmd.Start(); err != nil {
		s.Fatal(err)
	}
	s.Cleanup(cancel)
}

// run starts a run into the directory out.
func (s *several) run(width int, more ...string) {
	s.Helper()
	s.start(append([]string{
		"run", "--subset", "rows.jsonl", "-m", "scripted/script.yaml", "-o", "out", "-w", fmt.Sprint(width),
		"-c", "environment.timeout=900", "-c", "environment.cwd=/testbed",
	}, more...)...)
}

func (s *several) wait() {
	s.Helper()
	if err := s.cmd.Wait(); err != nil {
		s.Fatalf("%v\n%s", err, s.said.String())
	}
}

// owned counts the containers of batch on an engine.
func (s *several) owned(d *enginetest.Daemon) int {
	s.Helper()
	e, err := docker.Connect(s.Context(), docker.Config{Host: d.Host()})
	if err != nil {
		s.Fatal(err)
	}
	defer e.Close()
	list, err := e.Owned(s.Context())
	if err != nil {
		s.Fatal(err)
	}
	return len(list)
}

// awaitOn waits until each engine has n containers, or more.
func (s *several) awaitOn(n int) {
	s.Helper()
	for _, d := range s.engines {
		for end := time.Now().Add(e2e.Patience); s.owned(d) < n; time.Sleep(50 * time.Millisecond) {
			if time.Now().After(end) {
				s.Fatalf("waited without success for %d containers on %s", n, d.Host())
			}
		}
	}
}

// awaitStep waits until n journals have the second command's beginning.
func (s *several) awaitStep(n int) {
	s.Helper()
	for end := time.Now().Add(e2e.Patience); ; time.Sleep(50 * time.Millisecond) {
		found := 0
		paths, _ := filepath.Glob(filepath.Join(s.dir, "out", "*", "journal.jsonl"))
		for _, path := range paths {
			if text, err := os.ReadFile(path); err == nil && bytes.Count(text, []byte(`"type":"reply"`)) >= 2 {
				found++
			}
		}
		if found >= n {
			return
		}
		if time.Now().After(end) {
			s.Fatalf("waited without success for %d instances in their second command", n)
		}
	}
}

// log returns batch.log.
func (s *several) log() string {
	s.Helper()
	text, err := os.ReadFile(filepath.Join(s.dir, "out", "batch.log"))
	if err != nil {
		s.Fatal(err)
	}
	return string(text)
}

// byEngine counts the results by the engines that the records name.
func (s *several) byEngine() map[string]int {
	s.Helper()
	snap, err := results.Read(filepath.Join(s.dir, "out"))
	if err != nil {
		s.Fatal(err)
	}
	count := map[string]int{}
	for _, r := range results.Latest(snap.Records) {
		if r.Outcome.Final() {
			count[r.Engine]++
		}
	}
	return count
}

// says runs batch, which must print a text for each engine.
func (s *several) says(text string, args ...string) {
	s.Helper()
	s.start(args...)
	s.wait()
	for _, d := range s.engines {
		if want := fmt.Sprintf(text, d.Host()); !strings.Contains(s.said.String(), want) {
			s.Errorf("batch %s does not say %q:\n%s", args[0], want, s.said.String())
		}
	}
}

func (s *several) nothingLeft(engines []*enginetest.Daemon) {
	s.Helper()
	for _, d := range engines {
		if n := s.owned(d); n != 0 {
			s.Errorf("%d containers are left on %s", n, d.Host())
		}
	}
}

// The instances of one run are divided among engines, and the patches are the same as on one.
func TestOneRunUsesSeveralEngines(t *testing.T) {
	tier.Rest(t, "run/engines", "sandbox/*.go", "docker/*.go", "run/rundir")
	t.Parallel()
	engines := severalEngines(t, 3)
	one, all := severalRun(t, engines[:1], 9, "0.1"), severalRun(t, engines, 9, "0.1")
	one.run(6)
	one.wait()
	all.run(6, "--json")
	all.wait()
	events := all.said.String()
	want := e2e.Predictions(t, filepath.Join(one.dir, "out"))
	if diff := cmp.Diff(want, e2e.Predictions(t, filepath.Join(all.dir, "out"))); diff != "" || len(want) != 9 || want["several__0"] != "one\ntwo\n" {
		t.Errorf("%d predictions; on three engines (-one +three):\n%s", len(want), diff)
	}
	count := all.byEngine()
	for _, d := range engines {
		if n := count[d.Host()]; n < 2 || n > 4 {
			t.Errorf("%d of 9 instances ran on %s; want about 3: %v", n, d.Host(), count)
		}
		if !strings.Contains(events, fmt.Sprintf(`"phase":"commands","engine":%q`, d.Host())) {
			t.Errorf("no event names %s:\n%s", d.Host(), events)
		}
	}
	all.says("engine %s:\n", "images", "--subset", "rows.jsonl")
	all.says("%s: no containers of crashed runs", "doctor")
	all.says("%s: 0 containers to remove", "clean", "--dry-run")
	all.addresses = nil
	all.says("%s", "status", "out") // a line may end before the number
	all.nothingLeft(engines)
}

// An engine that is killed in mid-run and does not come back costs no instance its result: after
// --engine-wait, its instances are replayed on the others.
func TestARunOutlivesOneOfItsEngines(t *testing.T) {
	tier.Rest(t, "run/engines", "sandbox/*.go", "docker/*.go", "run/rundir")
	t.Parallel()
	engines := severalEngines(t, 3)
	s := severalRun(t, engines, 9, "4")
	s.run(6, "--engine-wait", "2s")
	s.awaitOn(2)
	s.awaitStep(6)
	lost := engines[1]
	lost.Kill(syscall.SIGKILL)
	s.wait()
	count := s.byEngine()
	if p := e2e.Predictions(t, filepath.Join(s.dir, "out")); len(p) != 9 || count[lost.Host()] > 2 || count[engines[0].Host()]+count[engines[2].Host()] < 7 {
		t.Errorf("predictions %q, by engine %v; want 9, at least 7 of them on the engines that are left\n%s", p, count, s.said.String())
	}
	for id, patch := range e2e.Predictions(t, filepath.Join(s.dir, "out")) {
		if patch != "one\ntwo\n" {
			t.Errorf("%s submitted %q", id, patch)
		}
	}
	if strings.Contains(s.said.String(), "context canceled") || !strings.Contains(s.said.String(), "removes with --engine "+lost.Host()) {
		t.Errorf("the run does not say, or not only, that containers may be left on %s:\n%s", lost.Host(), s.said.String())
	}
	s.nothingLeft([]*enginetest.Daemon{engines[0], engines[2]})
	lost.Restart()
	s.start("clean")
	s.wait()
	s.nothingLeft(engines)
}

// A killed runner finds its containers on all engines.
func TestAResumedRunFindsItsContainersOnAllEngines(t *testing.T) {
	tier.Rest(t, "run/engines", "sandbox/*.go", "docker/*.go", "run/rundir")
	t.Parallel()
	engines := severalEngines(t, 2)
	s := severalRun(t, engines, 4, "3")
	s.run(4)
	s.awaitOn(2)
	s.awaitStep(4)
	if err := s.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = s.cmd.Wait() // it was killed
	s.start("resume", "out")
	s.wait()
	snap, err := results.Read(filepath.Join(s.dir, "out"))
	if err != nil {
		t.Fatal(err)
	}
	for id, r := range results.Latest(snap.Records) {
		if !r.Outcome.Final() || r.Resumed != 1 || r.Time.Replay != 0 {
			t.Errorf("%s: %+v; want a result of an attempt that was resumed in its container", id, r)
		}
	}
	if count := s.byEngine(); count[engines[0].Host()] != 2 || count[engines[1].Host()] != 2 {
		t.Errorf("results by engine %v, want 2 on each", count)
	}
	s.nothingLeft(engines)
}

// A run stops only when no engine is left, and is resumed when they are back.
func TestARunStopsWhenNoEngineIsLeft(t *testing.T) {
	tier.Rest(t, "run/engines", "sandbox/*.go", "docker/*.go", "run/rundir")
	t.Parallel()
	engines := severalEngines(t, 2)
	s := severalRun(t, engines, 4, "5")
	s.run(4, "--engine-wait", "2s")
	s.awaitOn(2)
	s.awaitStep(4)
	for _, d := range engines {
		d.Kill(syscall.SIGKILL)
	}
	_ = s.cmd.Wait() // the exit code says how it ended
	if code := s.cmd.ProcessState.ExitCode(); code != e2e.ExitFailed || !strings.Contains(s.said.String(), "no engine is left") {
		t.Fatalf("exit code %d, want %d and why:\n%s", code, e2e.ExitFailed, s.said.String())
	}
	for _, d := range engines {
		d.Restart()
	}
	s.start("resume", "out")
	s.wait()
	if p := e2e.Predictions(t, filepath.Join(s.dir, "out")); len(p) != 4 || p["several__3"] != "one\ntwo\n" {
		t.Errorf("predictions %q, want 4", p)
	}
	s.nothingLeft(engines)
}

// An engine whose disk is full takes no instance from the others.
func TestARunOutlivesAFullDiskOfOneOfItsEngines(t *testing.T) {
	tier.Rest(t, "run/engines", "sandbox/*.go", "docker/*.go", "run/rundir")
	t.Parallel()
	engines := severalEngines(t, 1)
	disk := filepath.Join(t.TempDir(), "disk")
	smallDisk(t, disk, 64<<20)
	small := enginetest.Start(t, "--data-root", disk)
	small.Copy(e2e.OwnImage, engines[0])
	if err := fill(filepath.Join(disk, "filler")); err != nil {
		t.Fatal(err)
	}
	s := severalRun(t, append(engines, small), 4, "0.1")
	s.run(4)
	s.wait()
	if p, count := e2e.Predictions(t, filepath.Join(s.dir, "out")), s.byEngine(); len(p) != 4 || count[engines[0].Host()] != 4 {
		t.Errorf("predictions %q, by engine %v; want 4, all on the engine with room\n%s", p, count, s.said.String())
	}
	if log := s.log(); !strings.Contains(log, "trying another engine") || !strings.Contains(log, "not enough disk space") {
		t.Errorf("batch.log does not say that the engine was tried, and has no space:\n%s", log)
	}
	if err := os.Remove(filepath.Join(disk, "filler")); err != nil {
		t.Fatal(err)
	}
	s.nothingLeft(s.engines)
}
