package trajectory_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"batch.example/batch/internal/mask"
	"batch.example/batch/journal"
	"batch.example/batch/results"
	"batch.example/batch/results/trajectory"
	"batch.example/batch/vocab"
)

// stepsIn returns how many steps the last attempt has.
func stepsIn(x *journal.Index) int {
	a, err := x.Attempt(0)
	if err != nil {
		return 0
	}
	return len(a.Steps)
}

func (w *writer) attempt(number int, m *mask.Masker) *trajectory.Attempt {
	w.t.Helper()
	w.flush()
	a, err := trajectory.NewCache(1).Attempt(trajectory.Source{Dir: w.dir, Instance: demo, Attempt: number}, m)
	w.ok(err)
	return a
}

func overview(t testing.TB, a *trajectory.Attempt) *trajectory.Overview {
	t.Helper()
	o, err := a.Overview()
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func page(t testing.TB, a *trajectory.Attempt, from, to int) *trajectory.Page {
	t.Helper()
	p, err := a.Page(from, to, trajectory.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestMarksSayWhatHappenedInAStep(t *testing.T) {
	w := newWriter(t)
	w.begin(1)
	w.full("I look.", "ls", "a.py\n")
	w.ask()
	w.reply("I edit.", "sed -i s/a/b/ a.py")
	w.act("sed -i s/a/b/ a.py", journal.OutputData{Output: vocab.Output{ExitCode: -1, TimedOut: true, Shown: strings.Repeat("long ", 2000)}, Timeout: 60})
	w.add(journal.TypeRewrite, journal.RewriteData{Step: 3, Policy: "shorten", Before: 9, After: 3, Edits: []journal.Edit{{From: 1, To: 2, Messages: []json.RawMessage{message("user", "short")}}}})
	w.ask()
	w.add(journal.TypeLost, journal.LostData{Step: 3, Calls: 1, Cost: 0.5})
	w.add(journal.TypeTry, journal.TryData{Step: 3})
	w.reply("I ask for much.", "./a")
	w.act("./a", journal.OutputData{Output: vocab.Output{ExitCode: 137, OOM: true, Total: 1 << 30}, Kept: []byte("x")})
	w.ask()
	w.add(journal.TypeReply, journal.ReplyData{Step: 4, Cost: 0.01, Message: message("assistant", "nothing"), Priced: true, Response: encode(map[string]any{"choices": []any{map[string]any{"message": message("assistant", "nothing")}}})})
	w.step++
	w.add(journal.TypeInterrupt, journal.InterruptData{Step: 4, Name: vocab.StatusFormatError})
	w.messages(encode(map[string]any{"role": "user", "content": "Wrong.", "extra": map[string]any{"interrupt_type": "FormatError", "response": map[string]any{"step": 4}}}))
	w.ask()
	a := w.attempt(-1, nil)
	o := overview(t, a)
	var flags []string
	for _, m := range o.Marks {
		flags = append(flags, m.Flags.String())
	}
	if d := cmp.Diff([]string{"", "failed,timeout,edit", "failed,oom,rewrite,lost", "format_error"}, flags); d != "" {
		t.Errorf("flags (-want +got):\n%s", d)
	}
	second := o.Marks[1]
	if second.Commands != 0.25 || second.Cost != 0.01 || second.Seconds != 2 || second.Waited != 1 || second.Limited != 0.5 || second.Cached != 750 || second.Actions != 1 {
		t.Errorf("got %+v", second)
	}
	if o.Now == nil || o.Now.Does != "call" || o.Now.Step != 5 || o.Ended {
		t.Errorf("it does %+v, want call 5", o.Now)
	}
	p := page(t, a, 3, 4)
	third := p.Steps[0]
	if third.LostCalls != 1 || third.Tries != 1 || len(third.Rewrites) != 1 || third.Rewrites[0].Messages != 1 || *third.CacheShare != 0.75 {
		t.Errorf("got %+v", third)
	}
	if act := third.Actions[0]; act.Total != 1<<30 || act.Kept != 1 || !act.OOM {
		t.Errorf("got %+v", act)
	}
	if s := p.Steps[1]; !s.Refused || s.Thought != "nothing" || len(s.Notes) != 1 {
		t.Errorf("got %+v", s)
	}
	sent, err := a.Sent(3)
	if err != nil || len(sent.Rewrites) != 1 || sent.Rewrites[0].Edits[0].Messages[0].Text != "short" {
		t.Errorf("sent: %v, %+v", err, sent)
	}
}

func TestAJournalIsReadWhileItGrows(t *testing.T) {
	w := newWriter(t)
	w.begin(1)
	a := w.attempt(-1, nil)
	for i := 1; i <= 5; i++ {
		w.full(w.text(100), "ls", w.text(300_000))
		w.flush()
		if changed, err := a.Update(); err != nil || !changed {
			t.Fatalf("update %d: %t, %v", i, changed, err)
		}
		if o := overview(t, a); len(o.Marks) != i {
			t.Fatalf("after step %d there are %d", i, len(o.Marks))
		}
		if p := page(t, a, i, i); len(p.Steps) != 1 || p.Steps[0].Actions[0].Clipped == 0 {
			t.Fatalf("page %d: %+v", i, p)
		}
	}
	if changed, err := a.Update(); err != nil || changed {
		t.Errorf("nothing new: %t, %v", changed, err)
	}
}

// A reader may find a journal cut anywhere: the line at its end is torn.
func TestATornEndIsWaitedFor(t *testing.T) {
	whole := recorded(t, "toolcall")
	dir, path := directory(t, nil)
	x, err := journal.NewIndex(path)
	if err != nil {
		t.Fatal(err)
	}
	for end := 0; end <= len(whole); end += 97 {
		if err := os.WriteFile(path, whole[:end], 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := x.Update(); err != nil {
			t.Fatal(err)
		}
		fresh, err := journal.NewIndex(path)
		if err != nil {
			t.Fatal(err)
		}
		if stepsIn(x) != stepsIn(fresh) {
			t.Fatalf("at %d: %d steps, a new index has %d", end, stepsIn(x), stepsIn(fresh))
		}
	}
	if err := os.WriteFile(path, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := x.Update(); err != nil || stepsIn(x) != 6 {
		t.Errorf("%d steps, %v", stepsIn(x), err)
	}
	same(t, dir, -1, nil)
}

func TestAReplacedOrCutJournalIsReadAgain(t *testing.T) {
	whole := recorded(t, "toolcall")
	_, path := directory(t, whole)
	x, err := journal.NewIndex(path)
	if err != nil {
		t.Fatal(err)
	}
	cut := bytes.LastIndex(whole[:len(whole)*2/3], []byte("\n")) + 1
	other := bytes.Replace(whole[:cut], []byte(`"owner":"host`), []byte(`"owner":"bost`), 1)
	for name, text := range map[string][]byte{"cut": whole[:cut], "another of the same length": recorded(t, "text")[:0], "replaced": other} {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := x.Update(); err != nil {
			t.Fatal(err)
		}
		fresh, err := journal.NewIndex(path)
		if err != nil || stepsIn(x) != stepsIn(fresh) {
			t.Errorf("%s: %d steps, want %d (%v)", name, stepsIn(x), stepsIn(fresh), err)
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, err := x.Update(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without a file: %v", err)
	}
}

func TestADamagedRecordIsReportedAndTheOthersAreRead(t *testing.T) {
	whole := recorded(t, "toolcall")
	lines := bytes.SplitAfter(whole, []byte("\n"))
	for i := range lines[:len(lines)-1] {
		for name, damage := range map[string]func(line []byte){
			"in its head":     func(line []byte) { line[3] ^= 1 },
			"in its data":     func(line []byte) { line[len(line)-25] ^= 1 },
			"zeros at a line": func(line []byte) { clear(line[:len(line)-1]) },
		} {
			damaged := bytes.Clone(whole)
			at := len(bytes.Join(lines[:i], nil))
			damage(damaged[at : at+len(lines[i])])
			dir, _ := directory(t, damaged)
			a, err := trajectory.NewCache(1).Attempt(trajectory.Source{Dir: dir, Instance: demo, Attempt: -1}, nil)
			if err != nil {
				t.Fatalf("line %d, %s: %v", i+1, name, err)
			}
			o := overview(t, a)
			p, err := a.Page(1, 100, trajectory.Options{})
			if err != nil && i < len(lines)-3 {
				t.Errorf("line %d, %s: %v", i+1, name, err)
			}
			if err == nil && len(p.Problems)+len(o.Problems) == 0 && len(p.Steps) > 0 {
				t.Errorf("line %d, %s: no problem is reported", i+1, name)
			}
			if err == nil && len(p.Steps) < 5 {
				t.Errorf("line %d, %s: %d steps are left", i+1, name, len(p.Steps))
			}
		}
	}
}

func TestEachAttemptOfAJournalIsReadByItsNumber(t *testing.T) {
	w := newWriter(t)
	w.begin(1)
	w.full("one", "ls", "1\n")
	w.finish(vocab.StatusLimitsExceeded)
	w.add1(journal.TypeReset)
	w.begin(2)
	w.full("two", "ls", "2\n")
	w.full("three", "ls", "3\n")
	for number, want := range map[int]string{-1: "two", 1: "one", 2: "two"} {
		a := w.attempt(number, nil)
		if p := page(t, a, 1, 1); p.Steps[0].Thought != want || len(p.Prompts) != 2 {
			t.Errorf("attempt %d: %+v", number, p)
		}
	}
	a := w.attempt(1, nil)
	if o := overview(t, a); len(o.Attempts) != 2 || !o.Attempts[0].Reset || !o.Ended || o.Attempts[1].Steps != 2 {
		t.Errorf("%+v", o)
	}
	if p := page(t, a, 1, 9); p.End == nil || p.End.Status != vocab.StatusLimitsExceeded || p.End.Record == nil {
		t.Errorf("end: %+v", p.End)
	}
	if _, err := trajectory.NewCache(1).Attempt(trajectory.Source{Dir: w.dir, Instance: demo, Attempt: 3}, nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("attempt 3: %v", err)
	}
	// An attempt that is only in a file is read from it.
	file := results.EarlierTrajectory(w.dir, demo, 3)
	w.ok(os.MkdirAll(filepath.Dir(file), 0o700))
	w.ok(os.WriteFile(file, []byte(`{"info":{"batch":{"attempt":3}},"messages":[{"role":"assistant","content":"four"}]}`), 0o600))
	if o := overview(t, w.attempt(3, nil)); o.Form != "batch" || len(o.Marks) != 1 {
		t.Errorf("%+v", o)
	}
}

// add1 appends a record after an end, as a reset does.
func (w *writer) add1(typ string) {
	w.ok(w.j.Finish(journal.Record{Type: typ, Data: []byte(`{}`)}))
}

func TestAResumeTakesBackWhatIsRecordedAgain(t *testing.T) {
	w := newWriter(t)
	w.begin(1)
	w.full("one", "ls", "1\n")
	w.ask()
	w.reply("two", "make")
	w.add(journal.TypeAction, journal.ActionData{Step: 2, Action: 1, Command: "make"})
	w.ok(w.j.Resume(map[string]any{"owner": "o"}, 0.02, nil))
	w.add(journal.TypeDifference, journal.DifferenceData{Step: 1, Action: 1, Command: "ls", Output: []byte("other\n"), Total: 6, ExitCode: 1})
	w.add(journal.TypeContainer, journal.ContainerData{Container: "d", Replayed: 1, Differences: 1})
	w.messages(message("assistant", "two again"))
	w.act("make", journal.OutputData{Kept: []byte("made\n")})
	w.ask()
	w.flush()
	same(t, w.dir, -1, nil)
	p := page(t, w.attempt(-1, nil), 1, 9)
	if again := p.Steps[0].Actions[0].Again; len(again) != 1 || again[0].Output != "other\n" || !p.Steps[0].Flags.Has(journal.FlagDiffers) {
		t.Errorf("replayed: %+v", again)
	}
}

func TestTurnsOfAConversation(t *testing.T) {
	w := newWriter(t)
	w.begin(1)
	w.add(journal.TypeTurn, journal.TurnData{Turn: 1, Words: "w"})
	w.full("one", "ls", "1\n")
	w.add(journal.TypeTurnEnd, journal.TurnEndData{Turn: 1, End: journal.TurnFinished, Status: vocab.StatusAnswered})
	w.add(journal.TypeTurn, journal.TurnData{Turn: 2, Words: "more"})
	w.messages(message("user", "more"))
	w.full("two", "ls", "1\n")
	w.add(journal.TypeClear, nil)
	w.messages(message("user", "anew"))
	a := w.attempt(-1, nil)
	o := overview(t, a)
	v, err := trajectory.Source{Dir: w.dir, Instance: demo, Attempt: -1}.Read(nil)
	w.ok(err)
	if left := v.Messages[v.Begin:]; len(left) != 1 || !strings.Contains(string(left[0]), "anew") {
		t.Errorf("after the clear: %s", left)
	}
	if len(o.Turns) != 2 || o.Turns[0].End != "finished" || o.Turns[1].Step != 2 || o.Marks[1].Turn != 2 || !o.Marks[0].Flags.Has(journal.FlagWords) || !o.Marks[1].Flags.Has(journal.FlagCleared) {
		t.Errorf("%+v, %+v", o.Turns, o.Marks)
	}
	if p := page(t, a, 1, 2); len(p.Steps[0].Notes) != 1 || p.Steps[0].Notes[0].Text != "more" {
		t.Errorf("%+v", p.Steps[0].Notes)
	}
}

func TestSecretsAreHiddenAndBytesAreExact(t *testing.T) {
	const secret = "sk-Abc123Def456Ghi789"
	m := mask.New(mask.Secret{Name: "KEY", Value: secret})
	w := newWriter(t)
	w.begin(1)
	out := "a\xff\r\n" + strings.Repeat("x", 8180) + secret + strings.Repeat("y", 20_000)
	w.full("The key is "+secret, "echo "+secret, out)
	a := w.attempt(-1, m)
	p, err := a.Page(1, 1, trajectory.Options{Clip: 16 << 10})
	w.ok(err)
	text := string(encode(p))
	sent, err := a.Sent(1)
	w.ok(err)
	text += string(encode(sent))
	o, err := a.Output(1, 1)
	w.ok(err)
	text += string(o.Bytes)
	if strings.Contains(text, secret) || strings.Contains(text, secret[:12]) {
		t.Error("a secret is shown")
	}
	if want := strings.ReplaceAll(out, secret, mask.Hidden); string(o.Bytes) != want || !o.Hidden || o.Cut {
		t.Errorf("%d bytes, hidden %t, cut %t; want %d", len(o.Bytes), o.Hidden, o.Cut, len(want))
	}
	if act := p.Steps[0].Actions[0]; !act.Binary || !strings.HasPrefix(act.Output, "a\ufffd\r\n") || act.Clipped == 0 || act.Total != int64(len(out)) {
		t.Errorf("%q..., %+v", act.Output[:10], act.Clipped)
	}
	if s := sent.Shown; len(s) != 1 || !s[0].Differs || !s[0].Kept {
		t.Errorf("sent: %d texts", len(s))
	}
	for _, at := range [][2]int{{0, 1}, {2, 1}, {1, 2}} {
		if _, err := a.Output(at[0], at[1]); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("output %v: %v", at, err)
		}
	}
}
