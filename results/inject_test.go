package results_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"batch.example/batch/fault"
	"batch.example/batch/internal/inject"
	"batch.example/batch/internal/sample"
	"batch.example/batch/journal"
	"batch.example/batch/results"
	"batch.example/batch/results/grades"
	"batch.example/batch/results/manifest"
	"batch.example/batch/vocab"
)

// A child process saves some results in a directory with an injected failure.
const (
	childVar  = "BATCH_TEST_PUT_IN"
	childSpec = "BATCH_TEST_INJECT"
)

func TestMain(m *testing.M) {
	if spec := os.Getenv(childSpec); spec != "" {
		putSomeAndExit(os.Getenv(childVar), spec)
	}
	os.Exit(m.Run())
}

// crashPatch is long enough to make writes take several blocks.
func crashPatch(id string) string { return strings.Repeat(id+" é\r\n", 2000) }

func putOne(s *results.Store, id string) error {
	a, err := s.Begin(id, manifest.Settings{})
	if err != nil {
		return err
	}
	if err := a.Journal().Append(journal.TypeReply, map[string]any{"cost": 0.5}); err != nil {
		return err
	}
	if err := a.Journal().Sync(); err != nil {
		return err
	}
	r := result(id, crashPatch(id))
	r.Record.Cost = 0.5
	if _, err := s.Put(context.Background(), r); err != nil {
		return err
	}
	return a.Close()
}

// putSome saves and grades the results of three instances, one of them twice, under a plan
// of failures. It prints each id when result and grade are durable.
func putSome(dir string, plan *inject.Plan, safe func(id string)) error {
	s, err := results.Open(dir, results.Options{FlushEvery: time.Hour, Inject: plan})
	if err != nil {
		return err
	}
	for _, id := range []string{"a", "b", "a", "c"} {
		if err := putOne(s, id); err != nil {
			return errors.Join(err, s.Close())
		}
		log, err := s.Grades()
		if err == nil {
			err = log.Add(grades.Grade{InstanceID: id, Verdict: vocab.VerdictResolved})
		}
		if err != nil {
			return errors.Join(err, s.Close())
		}
		safe(id)
		if err := s.WritePredictions(context.Background()); err != nil {
			return errors.Join(err, s.Close())
		}
	}
	return s.Close()
}

// everyPass calls try with a spec for each pass through any point, until a spec fails nothing:
// every twelfth from a random one, or all of them without -short. The sync of a result and
// the replacement of a file are always tried.
func everyPass(t *testing.T, what string, try func(t *testing.T, spec string) (harmed bool)) {
	t.Parallel() // it waits for the disk
	for _, point := range []string{"journal.sync:1", "file.rename:2"} {
		if !try(t, point+"="+what) {
			t.Errorf("%s is not reached", point)
		}
	}
	step := 12
	if sample.All() {
		step = 1
	}
	t.Logf("sampled 1 of %d", step)
	n := 1 + sample.Rand(t).IntN(step)
	for try(t, fmt.Sprintf("*:%d=%s", n, what)) {
		if t.Failed() {
			t.Fatalf("at pass %d, want failed false", n)
		}
		n += step
	}
	t.Logf("%d passes", n-1)
	if n < 40 {
		t.Errorf("only %d passes: the points may not be reached", n-1)
	}
}

// putSomeAndExit is the child of TestKilledAtEveryPoint.
func putSomeAndExit(dir, spec string) {
	plan, err := inject.Parse(spec)
	if err == nil {
		err = putSome(dir, plan, func(id string) { fmt.Println(id) })
	}
	if err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	os.Exit(0)
}

func TestKilledAtEveryPoint(t *testing.T) {
	everyPass(t, "kill", func(t *testing.T, spec string) bool {
		dir := t.TempDir()
		cmd := exec.Command(os.Args[0], "-test.run=^$") //nolint:noctx // it ends by itself
		cmd.Env = append(os.Environ(), childVar+"="+dir, childSpec+"="+spec)
		out, err := cmd.Output()
		status, _ := cmd.ProcessState.Sys().(syscall.WaitStatus)
		if err != nil && !status.Signaled() {
			t.Fatalf("the child process ended with %v, want no error or a signal\n%s", err, out)
		}
		checkSafe(t, dir, out)
		return status.Signaled()
	})
}

func TestAFailureAtEveryPointIsTheHostsFaultAndLosesNothing(t *testing.T) {
	t.Parallel()
	for _, what := range []string{"ENOSPC", "EIO"} {
		t.Run(what, func(t *testing.T) {
			everyPass(t, what, func(t *testing.T, spec string) bool {
				dir := t.TempDir()
				plan, err := inject.Parse(spec)
				if err != nil {
					t.Fatal(err)
				}
				var out []byte
				err = putSome(dir, plan, func(id string) { out = append(out, id+"\n"...) })
				if err != nil && fault.KindOf(err) != fault.Host {
					t.Errorf("%s: got %v (%v); want no error, or a Host fault", spec, err, fault.KindOf(err))
				}
				checkSafe(t, dir, out)
				return plan.Acted() > 0
			})
		})
	}
}

// checkSafe opens the directory and looks for the ids in out.
func checkSafe(t *testing.T, dir string, out []byte) {
	t.Helper()
	if text, err := os.ReadFile(filepath.Join(dir, "preds.json")); err == nil && !json.Valid(text) {
		t.Errorf("preds.json is not valid: %.100q", text)
	}
	s, err := results.Open(dir, results.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if least := 0.5 * float64(strings.Count(string(out), "\n")); s.Spent() < least {
		t.Errorf("spent %v, want at least the %v of what is safe", s.Spent(), least)
	}
	if err := s.WritePredictions(t.Context()); err != nil {
		t.Error(err)
	}
	p := preds(t, dir)
	if list, err := grades.Read(dir); err != nil || len(list) < strings.Count(string(out), "\n") {
		t.Errorf("%d grades, %v; want the grades in\n%s", len(list), err, out)
	}
	for lines := bufio.NewScanner(strings.NewReader(string(out))); lines.Scan(); {
		id := lines.Text()
		if again := id == "a" && strings.Count(string(out), "a\n") == 1; again {
			continue // its second attempt may have begun
		}
		if _, ok := s.Finished(id); !ok || p[id].Patch != crashPatch(id) || read(t, dir, id, id+".patch") != crashPatch(id) {
			t.Errorf("the prediction or patch of %s is lost", id)
		}
	}
	closeStore(t, s)
	noLeftovers(t, dir)
}

// Put opens and closes the attempt itself here: both writes fail, as one failure.
func TestAFullDiskIsReportedOnce(t *testing.T) {
	s := injected(t, t.TempDir(), "journal.write:1+=ENOSPC")
	_, err := s.Put(t.Context(), result("a", "p"))
	if fault.KindOf(err) != fault.Host || strings.Count(err.Error(), "no space left") != 1 {
		t.Errorf("%v (%v)", err, fault.KindOf(err))
	}
}

func noLeftovers(t *testing.T, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if name := e.Name(); err == nil && strings.HasPrefix(name, ".") && name != ".batch.lock" {
			t.Errorf("temporary file left over: %s", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
