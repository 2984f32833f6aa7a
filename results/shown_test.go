package results_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"batch.example/batch/internal/mask"
	"batch.example/batch/journal"
	"batch.example/batch/results"
	"batch.example/batch/results/manifest"
)

// A directory keeps from people what the run that made it hid: its trajectory that a later process derives,
// and a copy of an attempt that goes on elsewhere.
func TestWhatARunHidStaysHidden(t *testing.T) {
	const secret, id = "Zq8Kp2Xv7Lm4Rt9Wb3Nc6Yd1", "a__b-1"
	dir, copied := t.TempDir(), t.TempDir()
	s, err := results.Open(dir, results.Options{Mask: mask.New(mask.Secret{Name: "KEY", Value: secret})})
	if err != nil {
		t.Fatal(err)
	}
	a, err := s.Begin(id, manifest.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	tell(
		t, a, journal.TypeMessages, journal.MessagesData{Messages: []json.RawMessage{[]byte(`{"role":"user","content":"use ` + secret + `"}`)}},
		journal.TypeRequest, journal.RequestData{Step: 1},
		journal.TypeReply, journal.ReplyData{Step: 1, Message: json.RawMessage(`{"role":"assistant","content":"` + secret + `"}`)},
		journal.TypeAction, journal.ActionData{Step: 1, Action: 1, Command: "echo " + secret},
		journal.TypeOutput, journal.OutputData{Step: 1, Action: 1, Kept: []byte(secret)},
	)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(results.TrajectoryPath(dir, id)); err != nil {
		t.Fatal(err)
	}
	s, err = results.Open(dir, results.Options{})
	if err == nil {
		err = s.Close() // it writes the trajectory again
	}
	if err != nil {
		t.Fatal(err)
	}
	derived, err := os.ReadFile(results.TrajectoryPath(dir, id))
	if err != nil || strings.Contains(string(derived), secret) || !strings.Contains(string(derived), "use "+mask.Hidden) {
		t.Errorf("%v, the derived trajectory has the secret, or not the message:\n%s", err, derived)
	}
	if err := results.Seed(copied, id, manifest.Settings{}, dir, "task", mask.New()); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(copied, id, "journal.jsonl")
	shown, err := journal.ReadShown(path, 0)
	if err != nil {
		t.Fatal(err)
	}
	exact, err := journal.ReadHistory(path)
	if err != nil {
		t.Fatal(err)
	}
	for h, want := range map[*journal.History]string{shown: mask.Hidden, exact: secret} {
		output, err := h.Output(1, 1)
		if err != nil || string(output) != want || h.Steps[0].Actions[0].Command != "echo "+want || h.Unmasked {
			t.Errorf("%v, got %s and %+v, want %s; unmasked %t", err, output, h.Steps[0].Actions, want, h.Unmasked)
		}
	}
}
