package results_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"batch.example/batch/journal"
	"batch.example/batch/results"
	"batch.example/batch/results/manifest"
)

const childVar = "BATCH_TEST_PUT_IN"

func TestMain(m *testing.M) {
	dir := os.Getenv(childVar)
	if spec := os.Getenv(childSpec); spec != "" {
		putSomeAndExit(dir, spec)
	}
	if dir != "" {
		putForever(dir)
	}
	os.Exit(m.Run())
}

// crashPatch is long enough to make writes take several blocks.
func crashPatch(id string) string { return strings.Repeat(id+" é\r\n", 2000) }

// putForever saves results until it is killed, and prints each id that is durable.
func putForever(dir string) {
	s, err := results.Open(dir, results.Options{FlushEvery: time.Microsecond})
	if err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	from := len(s.Records())
	for worker := range 4 {
		go func() {
			for i := 0; ; i++ {
				id := fmt.Sprintf("i-%d-%d-%d", from, worker, i)
				if err := putOne(s, id); err != nil {
					fmt.Println("error", err)
					os.Exit(1)
				}
				fmt.Println(id)
			}
		}()
	}
	select {}
}

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

// killed runs a child, kills it some time after it saved its first result, and
// returns the ids that it reported as durable.
func killed(t *testing.T, dir string, after time.Duration) []string {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^$") //nolint:noctx // killed below
	cmd.Env = append(os.Environ(), childVar+"="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	kill := func() { _ = cmd.Process.Kill() }
	timer := time.AfterFunc(time.Minute, kill) // in case nothing is ever saved
	defer timer.Stop()
	var ids []string
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if len(ids) == 0 {
			timer.Reset(after)
		}
		if strings.HasPrefix(lines.Text(), "error") {
			t.Fatal(lines.Text())
		}
		ids = append(ids, lines.Text())
	}
	_ = cmd.Wait()
	return ids
}

func TestAKilledProcessLosesNoDurableResult(t *testing.T) {
	dir := t.TempDir()
	safe := map[string]bool{}
	rounds := 10
	if testing.Short() {
		rounds = 3
	}
	for range rounds {
		for _, id := range killed(t, dir, time.Duration(rand.IntN(40_000))*time.Microsecond) {
			safe[id] = true
		}
		if text, err := os.ReadFile(filepath.Join(dir, "preds.json")); err == nil && !json.Valid(text) {
			t.Fatalf("preds.json is not valid after a kill: %.100q", text)
		}
	}
	s := open(t, dir)
	if err := s.WritePredictions(t.Context()); err != nil {
		t.Fatal(err)
	}
	p := preds(t, dir)
	for id := range safe {
		if _, ok := s.Finished(id); !ok {
			t.Errorf("the prediction of %s is lost", id)
		}
		if want := crashPatch(id); p[id].Patch != want || read(t, dir, id, id+".patch") != want {
			t.Errorf("%s: the patch changed", id)
		}
	}
	// Each attempt cost the same. An attempt may be missing if its reply was not yet
	// durable, but all durable ones must count.
	if min := 0.5 * float64(len(safe)); s.Spent() < min {
		t.Errorf("spent %v, want at least %v", s.Spent(), min)
	}
	t.Logf("%d results safe over %d kills, %d attempts in all", len(safe), rounds, len(s.Records()))
	if len(safe) == 0 {
		t.Error("no child process saved a result, so nothing was tested")
	}
	// An open store writes in the background, through a temporary file.
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	noLeftovers(t, dir)
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
