package results_test

import (
	"encoding/json"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"batch.example/batch/internal/mask"
	"batch.example/batch/journal"
	"batch.example/batch/results"
	"batch.example/batch/results/manifest"
)

func TestSecretsAreHiddenInWhatPeopleReadAndExactInTheJournal(t *testing.T) {
	const secret = "sk-planted-0123456789"
	dir := t.TempDir()
	var log strings.Builder
	s, err := results.Open(dir, results.Options{
		Mask: mask.New(mask.Secret{Name: "MY_KEY", Value: secret}), Log: slog.New(slog.NewTextHandler(&log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	a, err := s.Begin("i", manifest.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	patch := "+key = " + secret + "\n"
	for _, record := range []struct {
		typ  string
		data any
	}{
		{journal.TypeRequest, journal.RequestData{Step: 1}},
		{journal.TypeReply, journal.ReplyData{Step: 1, Message: json.RawMessage(`{"role":"assistant","content":"use ` + secret + `"}`)}},
		{journal.TypeAction, journal.ActionData{Step: 1, Command: "curl -u " + secret}},
		{journal.TypeOutput, journal.OutputData{Step: 1, Kept: []byte("\xff" + secret)}},
		{journal.TypeAction, journal.ActionData{Step: 1, Command: "submit"}},
		{journal.TypeOutput, journal.OutputData{Step: 1, Kept: []byte(patch)}},
		{journal.TypeSubmission, journal.SubmissionData{Submission: []byte(patch)}},
	} {
		if err := a.Journal().Append(record.typ, record.data); err != nil {
			t.Fatal(err)
		}
	}
	_, _ = io.WriteString(a.Log(), "half of sk-planted-")
	_, _ = io.WriteString(a.Log(), "0123456789\n")
	if err := a.Journal().Sync(); err != nil {
		t.Fatal(err)
	}
	h, err := s.History("i")
	if err != nil {
		t.Fatal(err)
	}
	step := h.Steps[0]
	if text := string(step.Reply.Message); !strings.Contains(text, secret) {
		t.Errorf("the reply is %s, want %q", text, secret)
	}
	if c := step.Actions[0]; c.Command != "curl -u "+secret || string(c.Output.Kept) != "\xff"+secret {
		t.Errorf("the action is %+v and its output %q, want both exact", c, c.Output.Kept)
	}
	info, err := os.Stat(filepath.Join(dir, "i", "journal.jsonl"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, error %v; want a journal that only its owner can read, since it holds secrets", info.Mode(), err)
	}
	r := result("i", patch)
	r.Record.Error = "refused: " + secret
	if _, err := s.Put(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	closeStore(t, s)
	if read(t, dir, "i", "i.patch") != patch || preds(t, dir)["i"].Patch != patch {
		t.Error("the patch differs from the submission")
	}
	if !strings.Contains(log.String(), "MY_KEY") || strings.Contains(log.String(), secret) {
		t.Errorf("the warning is %s, want %q, no %q", log.String(), "MY_KEY", secret)
	}
	for _, path := range []string{filepath.Join("i", "i.traj.json"), filepath.Join("i", "agent.log")} {
		if text := read(t, dir, path); strings.Contains(text, secret) || !strings.Contains(text, mask.Hidden) {
			t.Errorf("%s holds %s; want no %q, %q", path, text, secret, mask.Hidden)
		}
	}
	if rec := s.Records()[0]; rec.Error != "refused: "+mask.Hidden {
		t.Errorf("the record says %q, want error %v", rec.Error, "refused: "+mask.Hidden)
	}
}

// A pattern may match anything, also keys of the trajectory.
func TestAPatternLeavesATrajectoryWhole(t *testing.T) {
	for _, pattern := range []string{`[A-Z0-9]{20,}`, `\w+`, `.+`} {
		dir := t.TempDir()
		hide := mask.New()
		hide.AddPatterns(regexp.MustCompile(pattern))
		s, err := results.Open(dir, results.Options{Mask: hide})
		if err != nil {
			t.Fatal(err)
		}
		a, err := s.Begin("i", manifest.Settings{})
		if err != nil {
			t.Fatal(err)
		}
		observed := json.RawMessage(`{"role":"user","content":"AKIA0123456789ABCDEF\"","extra":{"raw_output":{"step":1,"action":1},"note":"a"}}`)
		tell(
			t, a, journal.TypeRequest, request(1), journal.TypeReply, reply(1),
			journal.TypeAction, action(1, "a"), journal.TypeOutput, output(1, "AKIA0123456789ABCDEF\xff - is it"),
			journal.TypeMessages, journal.MessagesData{Messages: []json.RawMessage{observed}},
		)
		if _, err := s.Put(t.Context(), result("i", "")); err != nil {
			t.Fatal(err)
		}
		closeStore(t, s)
		text := read(t, dir, "i", "i.traj.json")
		var got struct {
			Messages []struct {
				Extra map[string]string
			}
		}
		if err := json.Unmarshal([]byte(text), &got); err != nil {
			t.Errorf("%s: %v in\n%s", pattern, err, text)
		} else if len(got.Messages) != 1 || got.Messages[0].Extra["raw_output"] == "" {
			t.Errorf("%s: messages %+v, want 1 message, some raw_output", pattern, got.Messages)
		}
		if strings.Contains(text, "AKIA") {
			t.Errorf("%s: the secret is in\n%s", pattern, text)
		}
	}
}

func TestASecretInAPatchIsReported(t *testing.T) {
	const secret = "sk-planted-0123456789"
	for name, r := range map[string]*results.Result{
		"the submission":       {Submission: []byte("+" + secret), Prediction: "other"},
		"the prediction alone": {Prediction: "+" + secret},
		"neither":              {Submission: []byte("+x"), Prediction: "+x"},
	} {
		var log strings.Builder
		s, err := results.Open(t.TempDir(), results.Options{
			Mask: mask.New(mask.Secret{Name: "MY_KEY", Value: secret}), Log: slog.New(slog.NewTextHandler(&log, nil)),
		})
		if err != nil {
			t.Fatal(err)
		}
		r.Record = result("i", "").Record
		if _, err := s.Put(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		closeStore(t, s)
		if told := strings.Contains(log.String(), "MY_KEY"); told != (name != "neither") || strings.Contains(log.String(), secret) {
			t.Errorf("%s: the log says %q, want a report: %v, no %q", name, log.String(), (name != "neither"), secret)
		}
	}
}

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
