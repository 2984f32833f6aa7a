package serve

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"iter"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/a2a"
	"github.com/a2aproject/a2a-go/a2aclient"
	"github.com/a2aproject/a2a-go/a2aclient/agentcard"

	"batch.example/batch/attempt"
	"batch.example/batch/fault"
	"batch.example/batch/internal/tier"
	"batch.example/batch/runner"
)

func TestAMessageIsATurn(t *testing.T) {
	w := newWorld(t, settings{})
	c := w.client("")
	task := send(t, c, say("run echo b >> f.txt && echo ok"))
	expect(t, task, a2a.TaskStateCompleted, "done: 0 ok")
	if got := product1(t, task, patchName); !strings.Contains(got, "\n+b\n") {
		t.Errorf("the patch is %q", got)
	}
	next := send(t, c, in(say("run cat f.txt"), task.ContextID))
	expect(t, next, a2a.TaskStateCompleted, "done: 0 a\nb")
	if next.ContextID != task.ContextID || next.ID == task.ID || w.boxes.openings() != 1 {
		t.Errorf("the second task is %s of %s in container %d, want another one in the same context and container", next.ID, next.ContextID, w.boxes.openings())
	}
	for n, want := range map[int]int{0: 0, 1: 1, 2: 2, 5: 2} {
		seen, err := c.GetTask(t.Context(), &a2a.TaskQueryParams{ID: next.ID, HistoryLength: &n})
		if err != nil || len(seen.History) != want {
			t.Errorf("with historyLength %d: %d messages, %v; want %d", n, len(seen.History), err, want)
		}
	}
}

// product1 returns the exact content of a task's artifact.
func product1(t *testing.T, task *a2a.Task, name string) string {
	t.Helper()
	i := slices.IndexFunc(task.Artifacts, func(a *a2a.Artifact) bool { return a.Name == name })
	if i < 0 {
		t.Fatalf("task %s has no artifact %s: %+v", task.ID, name, task.Artifacts)
	}
	return content(t, task.Artifacts[i].Parts)
}

func content(t *testing.T, parts a2a.ContentParts) string {
	t.Helper()
	var all strings.Builder
	for _, p := range parts {
		switch p := p.(type) {
		case a2a.TextPart:
			all.WriteString(p.Text)
		case a2a.FilePart:
			data, err := base64.StdEncoding.DecodeString(p.File.(a2a.FileBytes).Bytes)
			if err != nil {
				t.Fatal(err)
			}
			all.Write(data)
		}
	}
	return all.String()
}

func TestASubmissionIsAnArtifact(t *testing.T) {
	w := newWorld(t, settings{})
	task := send(t, w.client(""), say(`run echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT; printf 'caf\351\n'`))
	expect(t, task, a2a.TaskStateCompleted, "I call bash")
	if got := product1(t, task, submissionName); got != "caf\xe9\n" {
		t.Errorf("the submission is %q, want its exact bytes", got)
	}
}

func TestAStreamHasTheTurn(t *testing.T) {
	w := newWorld(t, settings{})
	var kinds []string
	var last *a2a.TaskStatusUpdateEvent
	for e, err := range w.client("").SendStreamingMessage(t.Context(), say("run echo b >> f.txt")) {
		if err != nil {
			t.Fatal(err)
		}
		switch e := e.(type) {
		case *a2a.Task:
			kinds = append(kinds, "task "+string(e.Status.State))
		case *a2a.TaskStatusUpdateEvent:
			last = e
			kind := string(e.Status.State)
			if meta, ok := e.Metadata[eventKey].(map[string]any); ok {
				kind = fmt.Sprint(meta["kind"])
			}
			if kinds[len(kinds)-1] != kind {
				kinds = append(kinds, kind)
			}
		case *a2a.TaskArtifactUpdateEvent:
			kinds = append(kinds, "artifact "+e.Artifact.Name)
		}
	}
	want := "task submitted, working, text, usage, tool_call, tool_result, text, usage, status, artifact patch, completed"
	if got := strings.Join(kinds, ", "); got != want || !last.Final {
		t.Errorf("got %s, final %v; want %s", got, last.Final, want)
	}
}

// The SDK's client reads lines of at most 64 KiB.
func TestLargeArtifactsComeInPieces(t *testing.T) {
	for name, command := range map[string]string{
		"text":      `run seq 60000 > big.txt; printf 'é<&>\001' >> big.txt`,
		"not UTF-8": `run seq 60000 > big.txt; printf 'caf\351' >> big.txt`,
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, settings{})
			c := w.client("")
			var patch strings.Builder
			pieces, lasts := 0, 0
			var id a2a.TaskID
			collect := func(events iter.Seq2[a2a.Event, error]) {
				patch.Reset()
				pieces, lasts = 0, 0
				for e, err := range events {
					if err != nil {
						t.Fatal(err)
					}
					id = e.TaskInfo().TaskID
					if e, ok := e.(*a2a.TaskArtifactUpdateEvent); ok {
						if e.Append != (pieces > 0) {
							t.Errorf("piece %d has append %v", pieces, e.Append)
						}
						pieces++
						if e.LastChunk {
							lasts++
						}
						patch.WriteString(content(t, e.Artifact.Parts))
					}
				}
			}
			collect(c.SendStreamingMessage(t.Context(), say(command)))
			want := product1(t, get(t, c, id), patchName)
			if patch.String() != want || pieces < 10 || lasts != 1 || len(want) < 300_000 {
				t.Errorf("%d bytes in %d pieces, %d of them the last; want %d bytes", patch.Len(), pieces, lasts, len(want))
			}
			collect(c.ResubscribeToTask(t.Context(), &a2a.TaskIDParams{ID: id}))
			if patch.String() != want || lasts != 1 {
				t.Errorf("later: %d bytes, %d last pieces; want %d bytes", patch.Len(), lasts, len(want))
			}
		})
	}
}

func TestAQuestionWaitsForItsAnswer(t *testing.T) {
	w := newWorld(t, settings{})
	c := w.client("")
	asked := send(t, c, say("ask Which one?"))
	expect(t, asked, a2a.TaskStateInputRequired, "Which one?")
	answered := send(t, c, to(say("say The left one."), asked.ID))
	if answered.ID != asked.ID || len(answered.History) != 4 {
		t.Errorf("the answer is task %s with %d messages, want %s with 4", answered.ID, len(answered.History), asked.ID)
	}
	if answered.Status.State != a2a.TaskStateCompleted {
		t.Errorf("the task is %s, want completed", answered.Status.State)
	}

	// A message that begins another task instead of answering ends the question.
	asked = send(t, c, say("ask And now?"))
	next := send(t, c, in(say("say something else"), asked.ContextID))
	if next.ID == asked.ID || next.Status.State != a2a.TaskStateCompleted {
		t.Errorf("the next task is %s, %s", next.ID, next.Status.State)
	}
	expect(t, get(t, c, asked.ID), a2a.TaskStateCanceled, "another message continued this context")
}

func TestATaskIsCanceled(t *testing.T) {
	model := holding()
	w := newWorld(t, settings{model: model, config: func(c *Config) { c.Width = 1 }})
	c := w.client("")
	running := send(t, c, atOnce(say("hang")))
	model.wait(t)
	waiting := send(t, c, atOnce(say("say hello")))
	if waiting.Status.State != a2a.TaskStateSubmitted {
		t.Errorf("the second context is %s while the only container is in use, want submitted", waiting.Status.State)
	}
	for _, id := range []a2a.TaskID{waiting.ID, running.ID} {
		task, err := c.CancelTask(t.Context(), &a2a.TaskIDParams{ID: id})
		if err != nil || task.Status.State != a2a.TaskStateCanceled {
			t.Fatalf("canceling: %+v, %v", task, err)
		}
		if _, err := c.CancelTask(t.Context(), &a2a.TaskIDParams{ID: id}); !isError(err, a2a.ErrTaskNotCancelable) {
			t.Errorf("canceling again: %v", err)
		}
	}
	// The context is still usable.
	expect(t, send(t, c, in(say("say again"), running.ContextID)), a2a.TaskStateCompleted, "again")
	expect(t, send(t, c, in(say("say again"), waiting.ContextID)), a2a.TaskStateCompleted, "again")

	asked := send(t, c, in(say("ask What?"), running.ContextID))
	if task, err := c.CancelTask(t.Context(), &a2a.TaskIDParams{ID: asked.ID}); err != nil || task.Status.State != a2a.TaskStateCanceled {
		t.Errorf("canceling a question: %+v, %v", task, err)
	}
}

func TestAListenerComesBack(t *testing.T) {
	model := holding()
	w := newWorld(t, settings{model: model})
	c := w.client("")
	task := send(t, c, atOnce(say("hold")))
	model.wait(t)
	got := make(chan []a2a.TaskState)
	for range 3 {
		go func() {
			var states []a2a.TaskState
			for e, err := range c.ResubscribeToTask(t.Context(), &a2a.TaskIDParams{ID: task.ID}) {
				switch e := e.(type) {
				case *a2a.Task:
					states = append(states, e.Status.State)
				case *a2a.TaskStatusUpdateEvent:
					states = append(states, e.Status.State)
				}
				if err != nil {
					t.Error(err)
				}
			}
			got <- states
		}()
	}
	close(model.release)
	for range 3 {
		if states := <-got; len(states) < 1 || states[len(states)-1] != a2a.TaskStateCompleted {
			t.Errorf("a listener saw %v, want completed at the end", states)
		}
	}
}

func isError(err, want error) bool {
	return err != nil && strings.Contains(err.Error(), want.Error())
}

func TestAMessageTwiceIsOneTurn(t *testing.T) {
	model := holding()
	w := newWorld(t, settings{model: model})
	c := w.client("")
	p := say("hold")
	first := send(t, c, atOnce(p))
	model.wait(t)
	second := send(t, c, p)
	if second.ID != first.ID {
		t.Errorf("the same message began the tasks %s and %s", first.ID, second.ID)
	}
	// Another message has to wait.
	for _, p := range []*a2a.MessageSendParams{in(say("say x"), first.ContextID), to(say("say x"), first.ID)} {
		if _, err := c.SendMessage(t.Context(), p); !isError(err, a2a.ErrUnsupportedOperation) {
			t.Errorf("a second message: %v, want %v", err, a2a.ErrUnsupportedOperation)
		}
	}
	close(model.release)
	until(t, c, first.ID)
	p.Config = nil
	expect(t, send(t, c, p), a2a.TaskStateCompleted, "released")
	q := in(say("say more"), first.ContextID)
	a, b := send(t, c, q), send(t, c, q)
	if a.ID != b.ID || model.count() != 2 {
		t.Errorf("tasks %s and %s after %d calls, want one, 2 calls", a.ID, b.ID, model.count())
	}
	if _, err := c.SendMessage(t.Context(), to(say("say x"), a.ID)); !isError(err, a2a.ErrInvalidParams) {
		t.Errorf("a message to a task that has ended: %v", err)
	}
}

func TestContextsSurviveARestart(t *testing.T) {
	s := settings{dir: t.TempDir(), model: holding()}
	w := newWorld(t, s)
	c := w.client("")
	p := say("run echo b >> f.txt; echo $$ >> ../ran; cat f.txt")
	done := send(t, c, p)
	asked := send(t, c, say("ask Which?"))
	held := send(t, c, atOnce(in(say("run echo c >> f.txt | hold"), done.ContextID)))
	s.model.wait(t)
	patch := product1(t, done, patchName)
	calls := s.model.count()
	w.stop()

	w = newWorld(t, s)
	c = w.client("")
	if n := w.server.Contexts(); n != 2 {
		t.Errorf("%d contexts, want 2", n)
	}
	s.model.wait(t) // the interrupted call is made again
	if got := get(t, c, held.ID); got.Status.State != a2a.TaskStateWorking {
		t.Errorf("the interrupted task is %s, want working", got.Status.State)
	}
	again := get(t, c, done.ID)
	expect(t, again, a2a.TaskStateCompleted, "done: 0 a\nb")
	if product1(t, again, patchName) != patch {
		t.Error("its patch is another one")
	}
	if task := send(t, c, p); task.ID != done.ID {
		t.Errorf("the message that was sent before is task %s, want %s", task.ID, done.ID)
	}
	close(s.model.release)
	expect(t, until(t, c, held.ID), a2a.TaskStateCompleted, "released")
	if got := product1(t, get(t, c, held.ID), patchName); !strings.Contains(got, "+b\n+c\n") {
		t.Errorf("the patch in the new container is %q", got)
	}
	if got := s.model.count() - calls; got != 1 {
		t.Errorf("%d calls after the restart, want 1", got)
	}
	expect(t, send(t, c, to(say("say The right one."), asked.ID)), a2a.TaskStateCompleted, "")
}

// A crash may cut off a context's log anywhere: accepted messages still end as they would have, and
// the model is asked nothing twice.
func TestACrashCutsTheLogOff(t *testing.T) {
	s := settings{dir: t.TempDir(), model: &parrot{}}
	w := newWorld(t, s)
	c := w.client("")
	first := send(t, c, say("run echo b >> f.txt"))
	journal := filepath.Join(s.dir, first.ContextID, "journal.jsonl")
	before, err := os.ReadFile(journal)
	if err != nil {
		t.Fatal(err)
	}
	second := send(t, c, in(say("ask Which?"), first.ContextID))
	after, err := os.ReadFile(journal)
	if err != nil {
		t.Fatal(err)
	}
	calls := s.model.count()
	w.stop()
	path := filepath.Join(s.dir, first.ContextID, logName)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(whole, []byte("\n"))
	lines = lines[:len(lines)-1]
	for n := range len(lines) + 1 {
		for _, torn := range []bool{false, true} {
			cut := bytes.Join(lines[:n], nil)
			if torn && n < len(lines) {
				cut = append(cut, lines[n][:len(lines[n])-1]...)
			}
			if err := os.WriteFile(path, cut, 0o600); err != nil {
				t.Fatal(err)
			}
			kept := strings.Count(string(bytes.Join(lines[:n], nil)), `"type":"message"`)
			events := before // a message is in the log before its turn is in the journal
			if kept > 1 {
				events = after
			}
			if err := os.WriteFile(journal, events, 0o600); err != nil {
				t.Fatal(err)
			}
			w := newWorld(t, s)
			c := w.client("")
			if kept > 0 {
				task := until(t, c, first.ID)
				expect(t, task, a2a.TaskStateCompleted, "done: 0")
				if !strings.Contains(product1(t, task, patchName), "+b") {
					t.Errorf("%d lines, torn %v: the work is not in the patch", n, torn)
				}
			}
			if kept > 1 {
				expect(t, until(t, c, second.ID), a2a.TaskStateInputRequired, "Which?")
			}
			if s.model.count() != calls {
				t.Errorf("%d lines, torn %v: %d calls, want none", n, torn, s.model.count()-calls)
			}
			calls = s.model.count()
			w.stop()
		}
	}
}

func TestAnIdleContextIsPaused(t *testing.T) {
	w := newWorld(t, settings{config: func(c *Config) { c.Idle = 50 * time.Millisecond }})
	c := w.client("")
	task := send(t, c, say("run echo b >> f.txt"))
	for w.boxes.count() > 0 {
		time.Sleep(time.Millisecond) // until the context was idle
	}
	expect(t, send(t, c, in(say("run cat f.txt"), task.ContextID)), a2a.TaskStateCompleted, "a\nb")
	if n := w.boxes.openings(); n < 2 {
		t.Errorf("%d containers, want a second one", n)
	}
}

func TestContextsShareContainers(t *testing.T) {
	tier.Rest(t)
	w := newWorld(t, settings{config: func(c *Config) { c.Width = 2 }})
	c := w.client("")
	var tasks []*a2a.Task
	for i := range 5 {
		tasks = append(tasks, send(t, c, say(fmt.Sprintf("run echo %d >> f.txt", i))))
	}
	for i, task := range tasks {
		expect(t, send(t, c, in(say("run cat f.txt"), task.ContextID)), a2a.TaskStateCompleted, fmt.Sprintf("a\n%d", i))
		if n := w.boxes.count(); n > 2 {
			t.Errorf("%d containers at once, want at most 2", n)
		}
	}
}

func TestAFailedTurnIsTriedAgain(t *testing.T) {
	w := newWorld(t, settings{})
	c := w.client("")
	task := send(t, c, say("run echo b >> f.txt | fail"))
	expect(t, task, a2a.TaskStateFailed, "the provider is away")
	if !strings.Contains(product1(t, task, patchName), "+b") {
		t.Error("the failed turn's work is not in the patch")
	}
	calls := w.model.count()
	again := in(say("again"), task.ContextID)
	again.Message.Metadata = map[string]any{retryKey: true}
	expect(t, send(t, c, again), a2a.TaskStateFailed, "the provider is away")
	if n := w.model.count() - calls; n != 1 || w.boxes.openings() != 1 {
		t.Errorf("%d calls, %d containers; want the failed call alone, in the same container", n, w.boxes.openings())
	}
	expect(t, send(t, c, in(say("say hello"), task.ContextID)), a2a.TaskStateCompleted, "hello")
	again = in(say("again"), task.ContextID)
	again.Message.Metadata = map[string]any{retryKey: true}
	expect(t, send(t, c, again), a2a.TaskStateRejected, "no turn that can be tried again")
}

func TestALimitEndsATurn(t *testing.T) {
	w := newWorld(t, settings{steps: 2})
	c := w.client("")
	task := send(t, c, say("run echo b >> f.txt | run true | say never"))
	expect(t, task, a2a.TaskStateFailed, "a limit was reached")
	if !strings.Contains(product1(t, task, patchName), "+b") {
		t.Error("the work is not in the patch")
	}
	expect(t, send(t, c, in(say("say on"), task.ContextID)), a2a.TaskStateCompleted, "on")
}

func TestAContainerThatFails(t *testing.T) {
	t.Run("when it is opened", func(t *testing.T) {
		w := newWorld(t, settings{})
		w.boxes.fail = fault.Newf(fault.Instance, "there is no such image")
		c := w.client("")
		task := send(t, c, say("say hello"))
		expect(t, task, a2a.TaskStateFailed, "there is no such image")
		w.boxes.mu.Lock()
		w.boxes.fail = nil
		w.boxes.mu.Unlock()
		expect(t, send(t, c, in(say("say hello"), task.ContextID)), a2a.TaskStateCompleted, "hello")
	})
	for name, retries := range map[string]runner.Retries{"while it is used": {}, "and the run tries again": {"transient": 1}} {
		t.Run(name, func(t *testing.T) {
			model := holding()
			w := newWorld(t, settings{model: model, retries: retries})
			c := w.client("")
			task := send(t, c, atOnce(say("run echo b >> f.txt | hold")))
			model.wait(t)
			for _, b := range w.boxes.open {
				b.mu.Lock()
				b.broken = fault.Newf(fault.Transient, "the engine is away")
				b.mu.Unlock()
			}
			close(model.release)
			until(t, c, task.ID)
			next := in(say("run cat f.txt"), task.ContextID)
			if len(retries) > 0 { // the patch is taken in another container
				got := get(t, c, task.ID)
				expect(t, got, a2a.TaskStateCompleted, "released")
				if !strings.Contains(product1(t, got, patchName), "+b") {
					t.Error("the work is not in the patch")
				}
			} else {
				expect(t, get(t, c, task.ID), a2a.TaskStateFailed, "the engine is away")
			}
			expect(t, send(t, c, next), a2a.TaskStateCompleted, "a\nb")
		})
	}
}

// A Usage fault of a job would end the whole run.
func TestAMisuseOfOneContextDoesNotStopOthers(t *testing.T) {
	var first sync.Once
	w := newWorld(t, settings{before: func(conv *attempt.Conversation) {
		first.Do(func() {
			if err := conv.Session.Shutdown(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}})
	c := w.client("")
	expect(t, send(t, c, say("say hello")), a2a.TaskStateFailed, "the session was shut down")
	expect(t, send(t, c, say("say hello")), a2a.TaskStateCompleted, "hello")
	w.stop()
	if w.sum.Host != nil {
		t.Errorf("the run was stopped: %v", w.sum.Host)
	}
}

func TestTheCard(t *testing.T) {
	w := newWorld(t, settings{config: withTokens(t)})
	card, err := agentcard.DefaultResolver.Resolve(t.Context(), w.http.URL)
	if err != nil {
		t.Fatal(err)
	}
	if card.Name != "test" || !card.Capabilities.Streaming || card.Capabilities.PushNotifications || len(card.Skills) != 1 ||
		card.ProtocolVersion != "0.3.0" || card.URL != "http://test.invalid/" || card.PreferredTransport != a2a.TransportProtocolJSONRPC {
		t.Errorf("the card is %+v", card)
	}
	if s, ok := card.SecuritySchemes["bearer"].(a2a.HTTPAuthSecurityScheme); !ok || s.Scheme != "Bearer" || len(card.Security) != 1 {
		t.Errorf("the card has the security %+v, %+v; want bearer", card.SecuritySchemes, card.Security)
	}
	card.URL = w.http.URL
	c, err := a2aclient.NewFromCard(t.Context(), card, a2aclient.WithJSONRPCTransport(&http.Client{Transport: bearer(aliceToken)}))
	if err != nil {
		t.Fatal(err)
	}
	expect(t, send(t, c, say("say hello")), a2a.TaskStateCompleted, "hello")
}

func TestARowChoosesTheContainer(t *testing.T) {
	w := newWorld(t, settings{})
	c := w.client("")
	p := say("say hello")
	p.Message.Metadata = map[string]any{rowKey: "row-1"}
	expect(t, send(t, c, p), a2a.TaskStateCompleted, "hello")
	for _, b := range w.boxes.open {
		if b.image != "imagerow-1" {
			t.Errorf("the container is of %s, want the row's image", b.image)
		}
	}
	p = say("say hello")
	p.Message.Metadata = map[string]any{rowKey: "row-2"}
	if _, err := c.SendMessage(t.Context(), p); !isError(err, a2a.ErrInvalidParams) || !strings.Contains(err.Error(), "there is no row row-2") {
		t.Errorf("a row that does not exist: %v", err)
	}
	if n := w.server.Contexts(); n != 1 {
		t.Errorf("%d contexts, want 1", n)
	}
}
