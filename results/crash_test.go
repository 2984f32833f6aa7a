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
	"syscall"
	"testing"
	"time"

	"batch.example/batch/fault"
	"batch.example/batch/results"
)

const childVar = "BATCH_TEST_PUT_IN"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childVar); dir != "" {
		putForever(dir)
	}
	os.Exit(m.Run())
}

// crashPatch is long enough to make writes take several blocks.
func crashPatch(id string) string { return strings.Repeat(id+" é\r\n", 2000) }

// putForever saves results until it is killed, and prints each id that is safe.
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
	a, err := s.Begin(id)
	if err != nil {
		return err
	}
	if err := a.Journal().Append(results.TypeReply, map[string]any{"cost": 0.5}); err != nil {
		return err
	}
	if err := a.Journal().Sync(); err != nil {
		return err
	}
	r := result(id, crashPatch(id))
	r.Record.Cost = 0.5
	if err := s.Put(context.Background(), r); err != nil {
		return err
	}
	return a.Close()
}

// killed runs a child, kills it some time after it saved its first result, and
// returns the ids it called safe.
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
	timer := time.AfterFunc(5*time.Second, kill) // when nothing is ever saved
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

func TestNothingSafeIsLostWhenTheProcessIsKilled(t *testing.T) {
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
	noLeftovers(t, dir)
	p := preds(t, dir)
	for id := range safe {
		if _, ok := s.Finished(id); !ok {
			t.Errorf("%s is lost", id)
		}
		if want := crashPatch(id); p[id].Patch != want || read(t, dir, id, id+".patch") != want {
			t.Errorf("%s: the patch changed", id)
		}
	}
	// Each attempt cost the same; those cut off before their reply was
	// durable may count less, the safe ones must all be there.
	if min := 0.5 * float64(len(safe)); s.Spent() < min {
		t.Errorf("spent %v, at least %v was", s.Spent(), min)
	}
	t.Logf("%d results safe over %d kills, %d attempts in all", len(safe), rounds, len(s.Records()))
	if len(safe) == 0 {
		t.Error("no child ever saved anything: the test shows nothing")
	}
}

func noLeftovers(t *testing.T, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if name := e.Name(); err == nil && strings.HasPrefix(name, ".") && name != ".batch.lock" {
			t.Errorf("left over: %s", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestAFullDiskIsTheHostsFaultAndLosesNothing(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("mounting a small file system needs root")
	}
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=1m"); err != nil {
		t.Skipf("cannot mount a small file system: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	s, err := results.Open(dir, results.Options{FlushEvery: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	put(t, s, result("first", "kept"))
	if err := s.WritePredictions(t.Context()); err != nil {
		t.Fatal(err)
	}
	err = s.Put(t.Context(), result("big", strings.Repeat("x", 2<<20)))
	if fault.KindOf(err) != fault.Host || !strings.Contains(fault.HintOf(err), "space") {
		t.Errorf("error %v (%v), hint %q", err, fault.KindOf(err), fault.HintOf(err))
	}
	if _, ok := s.Finished("big"); ok {
		t.Error("the result that did not fit counts as finished")
	}
	journalOnFullDisk(t, s, dir)
	closeStore(t, s)
	s, err = results.Open(dir, results.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if r, ok := s.Finished("first"); !ok || r.PatchBytes != 4 || preds(t, dir)["first"].Patch != "kept" {
		t.Errorf("first: %+v, %v", r, ok)
	}
	noLeftovers(t, dir)
}

// journalOnFullDisk checks that a journal survives a write that does not fit,
// and goes on where it was when there is room again.
func journalOnFullDisk(t *testing.T, s *results.Store, dir string) {
	t.Helper()
	a, err := s.Begin("journal")
	if err != nil {
		t.Fatal(err)
	}
	filler := filepath.Join(dir, "filler")
	_ = os.WriteFile(filler, make([]byte, 4<<20), 0o644) // fails, and leaves the disk full
	if err := a.Journal().Append(results.TypeOutput, strings.Repeat("y", 64<<10)); err != nil {
		t.Fatal(err)
	}
	if err := a.Journal().Sync(); fault.KindOf(err) != fault.Host {
		t.Errorf("sync on a full disk: %v", err)
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	if err := a.Journal().Sync(); err != nil {
		t.Errorf("sync when there is room again: %v", err)
	}
	records, torn, err := results.ReadJournal(filepath.Join(dir, "journal", "journal.jsonl"))
	if err != nil || torn != 0 || len(records) != 2 {
		t.Errorf("%d records, torn %d, %v", len(records), torn, err)
	}
}
