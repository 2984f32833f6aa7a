package journal_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"batch.example/batch/internal/mask"
	"batch.example/batch/internal/regular"
	"batch.example/batch/journal"
	"batch.example/batch/vocab"
)

const key = "Zq8Kp2Xv7Lm4Rt9Wb3Nc6Yd1"

// masked opens the journal at path for a process that knows the key.
func masked(t testing.TB, path string, m *mask.Masker) *journal.Writer {
	t.Helper()
	tail, err := journal.ReadTail(path)
	if err == nil && tail.Torn > 0 {
		err = tail.Cut(path, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	w, err := journal.Open(path, tail, journal.Options{Spend: func(_, _ float64) {}, Mask: m})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return w
}

func knows(secret string) *mask.Masker {
	return mask.New(mask.Secret{Name: "DEPLOY_API_KEY", Value: secret})
}

// secretive has records of an attempt with secret wherever there is text.
func secretive(secret string) []any {
	long := secret + strings.Repeat(" and think", 20)
	quoted, _ := json.Marshal(long)
	inner, _ := json.Marshal(map[string]string{"command": "echo \"" + secret + "\""})
	args, _ := json.Marshal(string(inner))
	message := `{"role":"assistant","content":` + string(quoted) + `,"tool_calls":[{"function":{"arguments":` + string(args) + `}}]}`
	with := `{"role":"assistant","content":` + string(quoted) + `,"extra":{"response":{"step":1}}}`
	return []any{
		journal.TypeContainer,
		journal.ContainerData{Container: "c", Preamble: []byte("hello " + secret)},
		journal.TypeMessages, says(`{"role":"user","content":"use ` + secret + `"}`),
		journal.TypeRequest,
		journal.RequestData{Step: 1, Digest: "d"},
		journal.TypeReply,
		journal.ReplyData{Step: 1, Message: json.RawMessage(message), Response: json.RawMessage(`{"text":` + string(quoted) + `}`)},
		journal.TypeMessages, says(with),
		journal.TypeAction,
		journal.ActionData{Step: 1, Action: 1, Command: "echo " + secret},
		journal.TypeOutput,
		journal.OutputData{Step: 1, Action: 1, Output: vocab.Output{Total: 40, Note: secret}, Kept: []byte("\xff" + secret + "\n")},
		journal.TypeSalvage,
		journal.SalvageData{Patch: []byte("+" + secret)},
		journal.TypeSubmission,
		journal.SubmissionData{Submission: []byte("-" + secret)},
	}
}

// all is everything that a history and its source have.
func all(t testing.TB, h *journal.History) string {
	t.Helper()
	s, err := h.Source()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	output, _, err1 := s.Output(journal.OutputRef{Step: 1, Action: 1})
	response, err2 := s.Response(1)
	text, err3 := json.Marshal([]any{h.Messages, h.Later, h.Steps[0].Reply, h.Steps[0].Actions, h.Opened})
	if err := errors.Join(err1, err2, err3); err != nil {
		t.Fatal(err)
	}
	return string(bytes.Join([][]byte{text, output, response, h.Salvage.Patch, h.Submission.Submission, h.Container.Preamble}, nil))
}

func TestPeopleReadCopiesWithoutTheSecrets(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.jsonl")
	w := masked(t, path, knows(key))
	if err := w.Begin(1, map[string]string{"settings": key}); err != nil {
		t.Fatal(err)
	}
	tell(t, w, secretive(key)...)

	plain := filepath.Join(t.TempDir(), "journal.jsonl")
	p := masked(t, plain, mask.New())
	if err := p.Begin(1, map[string]string{"settings": mask.Hidden}); err != nil {
		t.Fatal(err)
	}
	tell(t, p, secretive(mask.Hidden)...)
	if _, err := os.Stat(journal.CopiesPath(plain)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without a secret there are copies: %v", err)
	}

	shown, err := journal.ReadShown(path, 0)
	if err != nil {
		t.Fatal(err)
	}
	// The bytes are those of a run in which the secret was never anything but stars.
	if got, want := all(t, shown), all(t, history(t, plain)); got != want {
		t.Errorf("people read\n%s\nwant\n%s", got, want)
	}
	if shown.Unmasked || !shown.Copies {
		t.Errorf("unmasked %t, copies %t", shown.Unmasked, shown.Copies)
	}
	exact := all(t, history(t, path))
	if n := strings.Count(exact, key); n < 10 {
		t.Errorf("the exact history has the secret %d times:\n%s", n, exact)
	}
	copies, err := regular.ReadFile(journal.CopiesPath(path))
	if err != nil || bytes.Contains(copies, []byte(key)) {
		t.Errorf("the copies have the secret, or %v", err)
	}
}

func TestARecordIsShownOnlyWithItsCopy(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.jsonl")
	old := writer(t, path) // an older version
	if err := old.Begin(1, nil); err != nil {
		t.Fatal(err)
	}
	tell(t, old, journal.TypeMessages, says(`"`+key+`"`))
	old.Close()
	if h, err := journal.ReadShown(path, 0); err != nil || !h.Unmasked {
		t.Fatalf("an attempt of an older version is not marked: %v", err)
	}
	w := masked(t, path, knows(key))
	if err := w.Begin(2, nil); err != nil {
		t.Fatal(err)
	}
	tell(t, w, journal.TypeMessages, says(`"a `+key+`"`))
	w.Close()
	// A crash between the two files leaves a copy without its record, perhaps torn.
	f, err := os.OpenFile(journal.CopiesPath(path), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteString(`{"v":2,"seq":5,"att`)
	if err = errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	w = masked(t, path, knows(key))
	if err := w.Resume(nil, 0, nil); err != nil {
		t.Fatal(err)
	}
	tell(t, w, journal.TypeMessages, says(`"b `+key+`"`))
	h, err := journal.ReadShown(path, 2)
	if err != nil || string(h.Later[0]) != `"b `+mask.Hidden+`"` || h.Unmasked {
		t.Errorf("got %s, unmasked %t, %v", h.Later, h.Unmasked, err)
	}
	if h, err := journal.ReadShown(path, 1); err != nil || !h.Unmasked {
		t.Errorf("the older attempt is not marked any more: %v", err)
	}
	if err := os.Truncate(journal.CopiesPath(path), 1); err != nil {
		t.Fatal(err)
	}
	if h, err := journal.ReadShown(path, 2); err == nil {
		t.Errorf("without copies people read %s", h.Later)
	}
	walked := 0
	s, err := journal.OpenShown(path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	info, err := s.Stat()
	if err == nil {
		err = journal.Walk(s, 0, info.Size(), func(r *journal.Record, _ journal.Place) error {
			if r != nil && r.Masked != 0 && bytes.Contains(r.Data, []byte(key)) {
				t.Errorf("people read %s", r.Data)
			}
			walked++
			return nil
		})
	}
	if err != nil || walked != 6 {
		t.Errorf("walked over %d records: %v", walked, err)
	}
}

// A conversation may be continued by a process that does not know what an earlier one hid.
func TestPeopleReadNoSecretOfAnEarlierWriter(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.jsonl")
	w := masked(t, path, knows(key))
	if err := w.Begin(1, nil); err != nil {
		t.Fatal(err)
	}
	tell(t, w, journal.TypeMessages, says(`"a `+key+`"`))
	w.Close()
	w = masked(t, path, mask.New())
	tell(t, w, journal.TypeMessages, says(`"b"`))
	h, err := w.ShownHere()
	if err != nil || len(h.Later) != 2 || string(h.Later[0]) != `"a `+mask.Hidden+`"` || string(h.Later[1]) != `"b"` {
		t.Errorf("people read %s, %v", h.Later, err)
	}
	if h, err = w.HistoryHere(); err != nil || string(h.Later[0]) != `"a `+key+`"` {
		t.Errorf("the model would be told %s, %v", h.Later, err)
	}
}

// A directory from somebody else leads no copy into another file.
func TestCopiesFollowNoLink(t *testing.T) {
	dir := t.TempDir()
	path, other := filepath.Join(dir, "journal.jsonl"), filepath.Join(dir, "other")
	if err := errors.Join(os.WriteFile(other, nil, 0o600), os.Symlink(other, journal.CopiesPath(path))); err != nil {
		t.Fatal(err)
	}
	w := masked(t, path, knows(key))
	if err := w.Begin(1, nil); err != nil {
		t.Fatal(err)
	}
	if err := w.Append(journal.TypeMessages, says(`"a `+key+`"`)); err == nil {
		t.Error("it was written through a link")
	}
}

// BenchmarkStep writes the records of a step with 20 KB of output.
func BenchmarkStep(b *testing.B) {
	output := []byte(strings.Repeat("src/flask/app.py:112: def handle(self, request): return 'x'\n", 20<<10/60))
	quoted, _ := json.Marshal(string(output))
	thought, _ := json.Marshal(strings.Repeat("I look at the file and think. ", 20))
	for name, m := range map[string]*mask.Masker{"nobody looks": nil, "looked": knows(key), "found": knows("def handle(self")} {
		b.Run(name, func(b *testing.B) {
			w := masked(b, filepath.Join(b.TempDir(), "journal.jsonl"), m)
			if err := w.Begin(1, nil); err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				reply := journal.ReplyData{Step: 1, Message: json.RawMessage(`{"role":"assistant","content":` + string(thought) + `}`), Response: json.RawMessage(`{"id":"x","choices":[{"message":{"content":` + string(thought) + `}}]}`)}
				err := errors.Join(
					w.Append(journal.TypeRequest, journal.RequestData{Step: 1, Digest: strings.Repeat("ab", 32)}),
					w.Append(journal.TypeReply, reply),
					w.Append(journal.TypeMessages, says(`{"role":"assistant","content":`+string(thought)+`}`)),
					w.Append(journal.TypeAction, journal.ActionData{Step: 1, Action: 1, Command: "cat src/flask/app.py"}),
					w.Append(journal.TypeOutput, journal.OutputData{Step: 1, Action: 1, Kept: output}),
					w.Append(journal.TypeMessages, says(`{"role":"tool","content":`+string(quoted)+`}`)),
				)
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
