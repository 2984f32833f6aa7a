package trajectory_test

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"batch.example/batch/results"
	"batch.example/batch/results/manifest"
	"batch.example/batch/results/trajectory"
	"batch.example/batch/vocab"
)

// submitted makes a run directory in which instance a submitted the patch.
func submitted(t *testing.T, patch string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	s, err := results.Open(dir, results.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err = s.Begin("a", manifest.Settings{}); err == nil {
		_, err = s.Put(t.Context(), &results.Result{
			Record:     results.Record{InstanceID: "a", Status: vocab.StatusSubmitted, Outcome: vocab.OutcomeSubmitted},
			Submission: []byte(patch), Prediction: patch,
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// An attempt that can be shown is also available as JSON and as a patch.
func TestTheFileServesWhereTheJournalIsDamaged(t *testing.T) {
	const patch = "diff --git a/f b/f\n"
	dir := submitted(t, patch)
	journal, err := os.ReadFile(results.JournalPath(dir, "a"))
	if err != nil {
		t.Fatal(err)
	}
	journal[0] ^= 1
	if err := os.WriteFile(results.JournalPath(dir, "a"), journal, 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(results.TrajectoryPath(dir, "a"))
	if err != nil {
		t.Fatal(err)
	}
	source := trajectory.Source{Dir: dir, Instance: "a", Attempt: -1}
	if v, err := source.Read(nil); err != nil || v.Patch == nil || string(v.Patch.Text) != patch {
		t.Errorf("Read: got %+v, %v; want submission %q", v, err, patch)
	}
	if got, err := source.Raw(nil); err != nil || !bytes.Equal(got, file) {
		t.Errorf("Raw: got %q, %v; want the file %q", got, err, file)
	}
	if got, salvaged, err := source.Patch(); err != nil || salvaged || string(got) != patch {
		t.Errorf("Patch: got %q, %t, %v; want %q, false", got, salvaged, err, patch)
	}
	if err := os.Remove(results.TrajectoryPath(dir, "a")); err != nil {
		t.Fatal(err)
	}
	_, read := source.Read(nil)
	_, raw := source.Raw(nil)
	for what, err := range map[string]error{"Read": read, "Raw": raw} {
		if err == nil || !strings.Contains(err.Error(), "damaged") {
			t.Errorf("%s without the file: %v; want what is wrong with the journal", what, err)
		}
	}
	if got, _, err := source.Patch(); err != nil || string(got) != patch {
		t.Errorf("Patch without the file: got %q, %v; want the patch: its own record is whole", got, err)
	}
}

// Wherever a record is damaged or missing, the whole attempt comes from the file, and without one there
// is an error.
func TestDamageAnywhereInAJournalIsSeen(t *testing.T) {
	whole := recorded(t, "toolcall")
	dir, path := directory(t, whole)
	source := trajectory.Source{Dir: dir, Instance: demo, Attempt: -1}
	want, err := source.Read(nil)
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	if err := results.WriteTrajectory(&file, dir, demo, 1, nil); err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(whole, []byte("\n"))
	for i, line := range lines[:len(lines)-2] { // what follows the last whole record is torn
		for what, changed := range map[string][]byte{
			"gone": nil, "of another attempt": bytes.Replace(line, []byte(`"attempt":1`), []byte(`"attempt":7`), 1),
			"damaged": flipped(line), "zeros": append(make([]byte, len(line)-1), '\n'),
		} {
			damaged := bytes.Join([][]byte{bytes.Join(lines[:i], nil), changed, bytes.Join(lines[i+1:], nil)}, nil)
			if err := os.WriteFile(path, damaged, 0o600); err != nil {
				t.Fatal(err)
			}
			if i == 0 && what == "gone" { // the numbers of the records begin later
				continue
			}
			if v, err := source.Read(nil); err == nil {
				t.Fatalf("record %d %s: %d steps and no error", i+1, what, len(v.Steps))
			}
			if err := os.WriteFile(results.TrajectoryPath(dir, demo), file.Bytes(), 0o600); err != nil {
				t.Fatal(err)
			}
			if v, err := source.Read(nil); err != nil || len(v.Steps) != len(want.Steps) {
				t.Errorf("record %d %s: %v, want the %d steps of the file", i+1, what, err, len(want.Steps))
			}
			if err := os.Remove(results.TrajectoryPath(dir, demo)); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// flipped returns a line with another byte in its middle.
func flipped(line []byte) []byte {
	line = bytes.Clone(line)
	line[len(line)/2] ^= 1
	return line
}
