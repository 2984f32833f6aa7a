package view_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"batch.example/batch/dataset"
	"batch.example/batch/internal/mask"
	"batch.example/batch/internal/swebench"
	"batch.example/batch/journal"
	"batch.example/batch/results"
	"batch.example/batch/results/grades"
	"batch.example/batch/results/manifest"
	"batch.example/batch/results/sweeps"
	"batch.example/batch/run/control"
	"batch.example/batch/view"
	"batch.example/batch/vocab"
)

// texts returns the text that others write at a place, such as "thought" or "file name".
type texts func(place string) string

// usual returns the texts of an ordinary run.
func usual(place string) string {
	if text, known := usualTexts[place]; known {
		return text
	}
	return "the text of the " + place
}

var usualTexts = map[string]string{
	"repo": "django/django", "model": "openai/gpt-5.1", "tool": "read_file", "file name": "django/db/models/query.py",
	"status": string(vocab.StatusSubmitted), "test": "tests/test_query.py::test_slice[a b]", "who": "ada",
	"output": "\x1b[1;31mFAILED\x1b[0m tests/test_query.py \xff\xfe\n\x1b[38;5;200mé\x1b[0m\n",
}

// instances are the ids of a run of the tests.
var instances = []string{"django__django-11001", "django__django-11002", "sympy__sympy-20001", "sympy__sympy-20002", "pallets__flask-5001", "psf__requests-6001"}

// recorder writes an attempt as a run does.
type recorder struct {
	t    testing.TB
	a    *results.Attempt
	text texts
	step int
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func encoded(v any) json.RawMessage {
	text, _ := json.Marshal(v) //nolint:errchkjson // texts
	return text
}

func (w *recorder) add(typ string, v any) {
	w.t.Helper()
	must(w.t, w.a.Journal().Append(typ, v))
}

func (w *recorder) messages(list ...any) {
	d := journal.MessagesData{}
	for _, m := range list {
		d.Messages = append(d.Messages, encoded(m))
	}
	w.add(journal.TypeMessages, d)
}

func (w *recorder) begin() {
	w.add(journal.TypeContainer, journal.ContainerData{Container: "c", Image: "i", ImageID: "sha256:0"})
	w.messages(map[string]any{"role": "system", "content": "You are an engineer."}, map[string]any{"role": "user", "content": w.text("task")})
}

// call records a request and its answer: a call of the shell, or of another tool.
func (w *recorder) call(tool, command string) {
	w.step++
	w.add(journal.TypeRequest, journal.RequestData{Step: w.step, Digest: "d", Tokens: 1000})
	m := map[string]any{"role": "assistant", "content": w.text("thought"), "reasoning_content": w.text("reasoning")}
	id := fmt.Sprintf("call_%d", w.step)
	m["tool_calls"] = []any{map[string]any{"id": id, "type": "function", "function": map[string]any{"name": tool, "arguments": string(encoded(map[string]any{"command": command}))}}}
	limited := 0.5
	w.add(journal.TypeReply, journal.ReplyData{
		Step: w.step, Cost: 0.01, Usage: vocab.Usage{Input: 1000, Cached: 750, Output: 50}, Model: w.text("model"), Seconds: 2, Waited: 1, Limited: &limited,
		Message: encoded(m), FinishReason: "stop", Priced: true, Response: encoded(map[string]any{"choices": []any{map[string]any{"message": m}}}),
	})
	m["extra"] = map[string]any{"actions": []any{map[string]any{"command": command, "tool_call_id": id}}, "response": map[string]any{"step": w.step}}
	w.messages(m)
}

// result records a command and its output.
func (w *recorder) result(tool, command, output string, d journal.OutputData) {
	action := journal.ActionData{Step: w.step, Action: 1, Command: command}
	if tool != "bash" {
		action.Tool = tool
	}
	w.add(journal.TypeAction, action)
	d.Step, d.Action, d.Seconds, d.SHA256, d.Kept = w.step, 1, 0.25, strings.Repeat("0", 64), []byte(output)
	d.Total = int64(len(output))
	w.add(journal.TypeOutput, d)
	w.messages(map[string]any{
		"role": "tool", "tool_call_id": fmt.Sprintf("call_%d", w.step), "content": fmt.Sprintf("<returncode>%d</returncode>\n%s", d.ExitCode, cutAtLine(output, 2000)),
		"extra": map[string]any{"raw_output": journal.OutputRef{Step: w.step, Action: 1}, "returncode": d.ExitCode},
	})
}

// cutAtLine returns the first lines of a text, like an agent that sends only a part of an output.
func cutAtLine(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return text[:strings.LastIndexByte(text[:most], '\n')+1]
}

// work records n steps, with failures among them.
func (w *recorder) work(n int) {
	for i := range n {
		command := "cd /testbed && git log -3 -- " + w.text("command")
		tool, output, d := "bash", w.text("output"), journal.OutputData{}
		switch i % 8 {
		case 1:
			command = "sed -i s/a/b/ " + w.text("command")
		case 2:
			tool = w.text("tool")
		case 3:
			command, d.ExitCode, output = "curl https://example.com/"+w.text("command"), 1, strings.Repeat(output, 60)
		case 4:
			d.ExitCode, d.TimedOut, d.Timeout, d.Note = 124, true, 60, w.text("hint")
		case 5:
			w.call("bash", "")
			w.add(journal.TypeInterrupt, journal.InterruptData{Step: w.step, Name: vocab.StatusFormatError})
			w.messages(map[string]any{"role": "user", "content": w.text("format error"), "extra": map[string]any{"interrupt_type": "FormatError"}})
			continue
		}
		w.call(tool, command)
		w.result(tool, command, output, d)
	}
}

// patchOf returns a patch with the given texts.
func patchOf(text texts) string {
	name := text("file name")
	return "diff --git a/" + name + " b/" + name + "\n--- a/" + name + "\n+++ b/" + name + "\n@@ -1 +1,2 @@\n-old\n+" + text("patch") + "\n"
}

// writeRun writes a run directory with every possible result of an instance, and returns its open store.
func writeRun(t testing.TB, dir string, ids []string, steps int, text texts) *results.Store {
	t.Helper()
	s, err := results.Open(dir, results.Options{Owner: "host h, pid 1", FlushEvery: time.Millisecond, Durability: journal.Process})
	must(t, err)
	t.Cleanup(func() { _ = s.Close() })
	must(t, s.WriteManifest(&manifest.Manifest{
		Batch: "v1.4.0", Model: text("model"), Created: time.Now().UTC(), Dataset: manifest.Dataset{Name: "d", Split: "test", Instances: ids},
		Config: map[string]any{}, Runs: []manifest.Run{{Started: time.Now().UTC()}},
	}))
	log, err := s.Grades()
	must(t, err)
	for i, id := range ids {
		n := 3 + i
		if i == 1 {
			n = steps
		}
		if i == 2 { // an earlier attempt
			put(t, s, id, 2, text, func(r *results.Result) {
				r.Record.Status, r.Record.Outcome = vocab.StatusTransientFault, vocab.OutcomeInfrastructure
			})
		}
		r := put(t, s, id, n, text, func(r *results.Result) {
			switch i {
			case 3:
				r.Record.Status, r.Record.Outcome, r.Record.Salvaged = vocab.StatusLimitsExceeded, vocab.OutcomeLimit, true
				r.Salvage, r.Submission = r.Submission, nil
			case 4:
				r.Record.Status, r.Record.Outcome, r.Record.Blame = vocab.StatusTransientFault, vocab.OutcomeInfrastructure, "transient"
				r.Record.Error, r.Submission, r.Prediction = text("error"), nil, ""
			}
		})
		if i < 4 {
			must(t, log.Add(gradeOf(t, dir, id, r, i, text)))
		}
	}
	return s
}

// put writes an attempt with its result.
func put(t testing.TB, s *results.Store, id string, steps int, text texts, change func(*results.Result)) *results.Result {
	t.Helper()
	a, err := s.Begin(id, manifest.Settings{})
	must(t, err)
	w := &recorder{t: t, a: a, text: text}
	w.begin()
	w.work(steps)
	patch := patchOf(text)
	r := &results.Result{
		Record: results.Record{
			InstanceID: id, Repo: text("repo"), Status: vocab.Status(text("status")), Outcome: vocab.OutcomeSubmitted, Model: text("model"),
			Steps: w.step, Cost: 0.01 * float64(w.step), Started: time.Now().UTC(), Time: results.Phases{Model: 5, Total: 9},
		},
		Submission: []byte(patch), Prediction: patch,
	}
	change(r)
	if r.Submission != nil {
		w.add(journal.TypeSubmission, journal.SubmissionData{Submission: r.Submission})
	}
	if r.Salvage != nil {
		w.add(journal.TypeSalvage, journal.SalvageData{Patch: r.Salvage})
	}
	w.messages(map[string]any{"role": "exit", "content": text("exit"), "extra": map[string]any{"exit_status": text("status"), "submission": patch}})
	_, err = s.Put(t.Context(), r)
	must(t, err)
	must(t, a.Close())
	return r
}

// gradeOf returns the grade of the i-th instance, and writes the log of its tests.
func gradeOf(t testing.TB, dir, id string, r *results.Result, i int, text texts) grades.Grade {
	t.Helper()
	g := grades.Grade{
		InstanceID: id, Attempt: r.Record.Attempt, Model: r.Record.Model, Patch: grades.PatchDigest(r.Prediction), Verdict: vocab.VerdictResolved,
		FailToPass: grades.Tests{Passed: []string{text("test"), "test_b"}}, PassToPass: grades.Tests{Passed: []string{"test_c"}}, Log: "logs/" + id,
		Started: time.Now().UTC(),
	}
	if i%2 == 1 {
		g.Verdict, g.Why, g.Suspicious, g.Notes = vocab.VerdictUnresolved, text("why"), []string{text("suspicious")}, []string{text("grade note")}
		g.Doubt, g.FailedInstall = text("doubt"), text("failed install")
		g.FailToPass = grades.Tests{Passed: []string{"test_b"}, Failed: []string{text("test")}}
	}
	folder := filepath.Join(dir, "logs", id)
	must(t, os.MkdirAll(folder, 0o755))
	lines := text("test") + " FAILED " + text("log line") + "\n\x1b[32mtest_b PASSED\x1b[0m\n" + text("log line") + " test_c\n"
	must(t, os.WriteFile(filepath.Join(folder, swebench.OutputName), []byte(lines), 0o644))
	return g
}

// site is a server with the runs of a test.
type site struct {
	*view.Server
	dir    string
	http   *httptest.Server
	config view.Config
}

const token = "the-token-of-the-tests"

// serve serves the runs below dir on the loopback interface.
func serve(t testing.TB, dir string, text texts, change func(*view.Config)) *site {
	t.Helper()
	s := &site{dir: dir, config: view.Config{
		Roots: []string{dir}, Token: token, Mask: mask.New(),
		Row: func(context.Context, *manifest.Manifest, string) (*dataset.Instance, string) {
			return &dataset.Instance{ID: "x", Patch: patchOf(func(place string) string { return text("gold " + place) }), TestPatch: patchOf(text)}, ""
		},
	}}
	listen, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	s.config.Hosts = []string{listen.Addr().String()}
	if change != nil {
		change(&s.config)
	}
	s.Server, err = view.New(s.config)
	must(t, err)
	s.http = httptest.NewUnstartedServer(s.Handler())
	_ = s.http.Listener.Close()
	s.http.Listener = listen
	s.http.Start()
	t.Cleanup(func() {
		s.http.CloseClientConnections()
		s.http.Close()
	})
	return s
}

// get requests a page, like a program.
func (s *site) get(t testing.TB, address string) (code int, header http.Header, body string) {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, "http://"+s.config.Hosts[0]+"/", http.NoBody)
	r.URL.Path, r.RequestURI = "", ""
	u, err := r.URL.Parse("http://" + s.config.Hosts[0] + address)
	must(t, err)
	r.URL = u
	r.Header.Set("Authorization", "Bearer "+token)
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, r)
	return w.Code, w.Header(), w.Body.String()
}

// busy reports work under way, for the page about it.
type busy struct{ text texts }

func (b busy) Status(bool) control.Status {
	now := time.Now()
	until := now.Add(45 * time.Second)
	return control.Status{
		Kind: control.KindRun, State: control.Running, Now: now, Started: now.Add(-time.Hour), Since: now, Width: 2, Running: 2, Total: 6, Cost: 1, Held: 0.5, Budget: 9,
		Workers: []vocab.Worker{
			{Instance: instances[1], Phase: "commands", Since: now.Add(-41 * time.Second), Step: 3, Cost: 0.2, Engine: b.text("engine"), Stalled: true},
			{Instance: b.text("worker"), Phase: "model", Since: now, Waiting: "back-off", Until: &until},
		},
		Queued: []string{instances[2], b.text("queued")}, Cancels: []string{b.text("canceled")}, Done: 3, Verbs: control.Verbs,
	}
}

func (b busy) Check(c control.Command) (control.Command, error) { return c, nil }

func (b busy) Apply(control.Record) (string, error) { return "done", nil }

// steered serves the control socket of a run directory, with one command in its log.
func steered(t testing.TB, dir string, text texts) {
	t.Helper()
	log, err := control.OpenLog(dir)
	must(t, err)
	s, err := control.Serve(dir, busy{text}, log, slog.New(slog.DiscardHandler))
	must(t, err)
	t.Cleanup(func() {
		_ = s.Close()
	})
	client, err := control.Dial(dir, sweeps.Of(dir))
	must(t, err)
	_, err = client.Do(t.Context(), control.Command{ID: control.NewID(), Verb: control.Cancel, Instance: text("canceled")})
	must(t, err)
}
