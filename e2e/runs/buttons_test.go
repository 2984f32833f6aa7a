package runs

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"batch.example/batch/e2e"
	"batch.example/batch/internal/chromium/browsertest"
	"batch.example/batch/internal/tier"
	"batch.example/batch/run/control"
	"batch.example/batch/vocab"
)

// buttons is a browser on `batch view --control`, beside a run that works.
type buttons struct {
	*browsertest.Tab
	out string // the run directory
}

func TestEveryVerbIsAButton(t *testing.T) {
	tier.Rest(t, "view", "run/control", "run/steering")
	t.Parallel()
	e2e.NeedDocker(t)
	browsertest.Run(t, map[string]func(*testing.T, *browsertest.Tab){"a run at work": everyVerb}, "127.0.0.1")
}

// everyVerb steers a run that works in containers by the buttons of batch view alone.
func everyVerb(t *testing.T, tab *browsertest.Tab) {
	dir := t.TempDir()
	var rows, replies strings.Builder
	for i := range 4 {
		fmt.Fprintf(&rows, `{"instance_id":"button__%d","problem_statement":"p","image_name":"batch-demo/demo__slug-1:latest"}`+"\n", i)
	}
	fmt.Fprintln(&replies, "'*':")
	for range 4000 {
		fmt.Fprintln(&replies, `- {bash: "true", delay: 150ms, cost: 0.0001}`)
	}
	e2e.WriteFiles(t, dir, map[string]string{"rows.jsonl": rows.String(), "replies.yaml": replies.String()})

	run := e2e.Batch(t, dir, "run", "--subset", "rows.jsonl", "-m", "scripted/replies.yaml", "-o", "out", "-q", "-w", "1", "--order", "given", "-c", "agent.step_limit=0", "-c", "agent.cost_limit=0")
	var said strings.Builder
	run.Stdout, run.Stderr = &said, &said
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	ended := false
	defer func() {
		if !ended {
			_ = run.Process.Kill()
			_ = run.Wait()
			t.Log(said.String())
		}
	}()
	b := &buttons{Tab: tab, out: filepath.Join(dir, "out")}
	b.await("the run works", func(s control.Status) bool { return s.Running == 1 })
	b.view(dir)

	b.press("/live", "pause", "", "")
	b.await("pause", func(s control.Status) bool { return s.State == control.Paused })
	b.press("/live", "resume", "", "")
	b.await("resume", func(s control.Status) bool { return s.State == control.Running })
	b.press("/live", "width", "value", "2")
	b.await("width", func(s control.Status) bool { return s.Width == 2 && s.Running == 2 })
	b.press("/live", "budget", "value", "5")
	b.press("/live", "budget", "value", "+2.5")
	b.await("budget", func(s control.Status) bool { return s.Budget == 7.5 })
	b.press("/live", "limit", "value", "step=3999 time=30m")
	b.press("/live", "cancel", "instance", "button__3")
	b.await("cancel", func(s control.Status) bool { return slices.Equal(s.Cancels, []string{"button__3"}) })
	b.press("/live", "requeue", "instance", "button__3")
	b.await("requeue", func(s control.Status) bool { return len(s.Cancels) == 0 })

	attempt := func(id string) string { // has no page before its first step
		b.await("a step of "+id, func(s control.Status) bool {
			return slices.ContainsFunc(s.Workers, func(w vocab.Worker) bool { return w.Instance == id && w.Step > 0 })
		})
		return "/run/out/" + id + "?step=last"
	}
	b.press(attempt("button__0"), "say", "text", "mind the header\n<b>and</b> the end")
	b.Until(`[...document.querySelectorAll(".step")].some(e => e.innerText.includes("<b>and</b> the end"))`)
	b.press(attempt("button__1"), "limit", "value", "step=3998")
	b.press(attempt("button__1"), "cancel", "", "")
	b.await("cancel of an attempt", func(s control.Status) bool { return slices.Equal(s.Cancels, []string{"button__1"}) })

	b.press("/live", "drain", "", "")
	b.await("drain", func(s control.Status) bool { return s.State == control.Draining })
	b.press("/live", "stop", "", "")
	_ = run.Wait()
	ended = true
	if code := run.ProcessState.ExitCode(); code != e2e.ExitInterrupted {
		t.Errorf("the run ended with %d, want %d\n%s", code, e2e.ExitInterrupted, &said)
	}
	b.logged("pause ", "resume ", "width ", "budget ", "budget ", "limit ", "cancel button__3", "requeue button__3", "say button__0", "limit button__1", "cancel button__1", "drain ", "stop ")
	if text, err := os.ReadFile(filepath.Join(b.out, "button__0", "button__0.traj.json")); err != nil || strings.Count(string(text), `"person":`) != 1 {
		t.Errorf("the trajectory has the message %d times, want once; error %v", strings.Count(string(text), `"person":`), err)
	}
}

// view starts batch view, and opens the link that it prints.
func (b *buttons) view(dir string) {
	b.Helper()
	view := e2e.BatchContext(b, context.Background(), dir, "view", "out", "--control") // until its own end
	pipe, err := view.StdoutPipe()
	if err == nil {
		err = view.Start()
	}
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = view.Process.Signal(os.Interrupt)
		if err := view.Wait(); err != nil {
			b.Errorf("batch view: %v", err)
		}
	})
	lines := bufio.NewScanner(pipe)
	lines.Scan()
	link, err := url.Parse(lines.Text())
	if err != nil || link.Host == "" {
		b.Fatalf("the first line of batch view is %q", lines.Text())
	}
	b.Base = link.Scheme + "://" + link.Host
	b.Open(link.String())
}

// press opens a page, fills a field of the form with the verb's button, and clicks on the button.
func (b *buttons) press(page, verb, field, value string) {
	b.Helper()
	form := fmt.Sprintf("form[action='/control']:has(button[value=%s])", verb)
	shown := fmt.Sprintf(`document.querySelector(%q) !== null`, form)
	for b.Open(b.Base + page); !browsertest.JS[bool](b.Tab, shown); b.Open(b.Base + page) {
		time.Sleep(200 * time.Millisecond) // batch view looks for the owner of a run once a second
	}
	if field != "" {
		name := fmt.Sprintf("%s [name=%s]:not([type=hidden])", form, field)
		browsertest.JS[bool](b.Tab, fmt.Sprintf(`(e => { e.value = ""; e.focus(); return true })(document.querySelector(%q))`, name))
		b.Press(value)
	}
	browsertest.JS[bool](b.Tab, `document.body.id = "before", true`)
	b.Click(fmt.Sprintf("%s button[value=%s]", form, verb))
	b.Until(`document.readyState === "complete" && document.body.id !== "before" && document.querySelector("h1") !== null`)
	if refused := browsertest.JS[string](b.Tab, `document.querySelector("[role=alert]")?.innerText ?? ""`); refused != "" {
		b.Fatalf("%s is refused: %s", verb, refused)
	}
}

// await waits for a state of the run, as the run itself reports it.
func (b *buttons) await(what string, so func(control.Status) bool) {
	b.Helper()
	var last control.Status
	err := errors.New("never asked")
	for end := time.Now().Add(e2e.Patience); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		var client *control.Client
		if client, err = control.Dial(b.out, ""); err != nil {
			continue
		}
		if last, err = client.Status(b.Context(), false); err == nil && so(last) {
			return
		}
	}
	b.Fatalf("%s: %+v, %v", what, last, err)
}

// logged checks that the run's log has these commands from batch view, each once and in this order.
func (b *buttons) logged(want ...string) {
	b.Helper()
	h, err := control.Read(b.out)
	if err != nil {
		b.Fatal(err)
	}
	var got []string
	for _, r := range h.Commands {
		got = append(got, string(r.Verb)+" "+r.Instance)
		if r.Program != "batch view" || r.UID != os.Getuid() {
			b.Errorf("%s was sent by %q of user %d", r.Verb, r.Program, r.UID)
		}
	}
	if !slices.Equal(got, want) {
		b.Errorf("control.jsonl has\n%q, want\n%q", got, want)
	}
}
