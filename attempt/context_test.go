package attempt_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"batch.example/batch/agent"
	"batch.example/batch/agent/compaction"
	"batch.example/batch/fault"
	"batch.example/batch/internal/sample"
	"batch.example/batch/internal/tier"
	"batch.example/batch/journal"
	"batch.example/batch/llm"
	"batch.example/batch/llm/scripted"
	"batch.example/batch/results"
	"batch.example/batch/runner"
	"batch.example/batch/vocab"
)

// reader is a model that reads so many tokens and no more. It submits after some commands.
type reader struct {
	window   int64
	steps    int // so far
	commands int
	counts   bool // it reports what a call used
	chat     bool // it answers as servers of chat completions do
	unclear  bool // it refuses in words that are not known
	refused  *int
}

func (m *reader) Generate(_ context.Context, req *llm.Request) (*llm.Response, error) {
	var tokens int64
	for _, message := range req.Messages {
		tokens += agent.EstimateTokens(message) * 5 / 4
	}
	if tokens > m.window {
		*m.refused++
		if m.unclear {
			return nil, &llm.Unpaid{Err: fault.New(fault.Instance, "asking", &llm.Unclear{Err: errors.New("422: no")})}
		}
		return nil, &llm.Unpaid{Err: fault.New(fault.Instance, "asking", fmt.Errorf("%w: %d tokens", llm.ErrContextLength, tokens))}
	}
	resp := &llm.Response{Cost: 0.5, Priced: true, Message: llm.Message{Role: llm.RoleAssistant}}
	if m.counts {
		resp.Usage = vocab.Usage{Input: tokens, Output: 20}
	}
	m.steps++
	call := bash(fmt.Sprintf("do %d", m.steps), "do more")
	if m.steps > m.commands {
		call = bash("submit")
	}
	for i := range call.ToolCalls {
		call.ToolCalls[i].ID = fmt.Sprintf("%d.%d", m.steps, i)
	}
	if m.chat {
		resp.Message.Parts = llm.Say("", call.ToolCalls...)
		text, err := json.Marshal(resp.Message)
		resp.Message.Chat = json.RawMessage(strings.Replace(string(text), "{", `{ "reasoning_content": "h\u006d", "refusal": null, `, 1)) // not as batch writes it
		return resp, err
	}
	resp.Message.Parts = append([]llm.Part{llm.Reasoning{Text: "hm", Opaque: llm.Opaque{Provider: "anthropic", Data: "c2ln"}}}, llm.Say("", call.ToolCalls...)...)
	return resp, nil
}

// reading makes attempts with a reader and a context policy. An observation has about 1000
// characters.
func reading(t *testing.T, c compaction.Config, m reader) *playing {
	t.Helper()
	loop, err := agent.NewLoop(agent.Config{
		SystemTemplate: "You are a shell.", InstanceTemplate: "{{task}}", Now: clock, Limits: vocab.Limits{Steps: 40},
		ObservationTemplate: strings.Repeat("é", 500) + "{{output.output}}" + strings.Repeat("ü", 500),
	})
	if err != nil {
		t.Fatal(err)
	}
	m.refused = new(int)
	p := &playing{t: t, loop: loop, play: []scripted.Reply{{}}, now: clock}
	p.model = func() llm.Model { m := m; return &m }
	if c.Policy != "" {
		policy, err := compaction.New(c)
		if err != nil {
			t.Fatal(err)
		}
		p.rewrite = policy.Rewrite
	}
	return p
}

// policies are context policies that act before a call, and when the provider refuses.
var policies = map[string]struct {
	config compaction.Config
	model  reader
}{
	"shorten":                     {compaction.Config{Policy: compaction.Shorten, Limit: 6000, Keep: 3}, reader{window: 8000, commands: 9, counts: true}},
	"drop":                        {compaction.Config{Policy: compaction.Drop, Limit: 6000, Keep: 3}, reader{window: 8000, commands: 9, counts: true}},
	"shorten after a refusal":     {compaction.Config{Policy: compaction.Shorten, Keep: 3}, reader{window: 6000, commands: 9, counts: true}},
	"drop after a refusal":        {compaction.Config{Policy: compaction.Drop, Limit: 50_000, Keep: 3}, reader{window: 6000, commands: 9, counts: true}},
	"drop, chat completions":      {compaction.Config{Policy: compaction.Drop, Limit: 5000, Keep: 3}, reader{window: 8000, commands: 9, counts: true, chat: true}},
	"shorten without counted use": {compaction.Config{Policy: compaction.Shorten, Limit: 4500, Keep: 3}, reader{window: 8000, commands: 9}},
}

func trajectoryIn(t *testing.T, dir string) (tr results.Trajectory) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "a", "a.traj.json"))
	if err == nil {
		err = json.Unmarshal(data, &tr)
	}
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// sentWith returns the messages of each step's request according to the trajectory, as
// [results.Rewrite] describes.
func sentWith(t *testing.T, tr results.Trajectory) (requests [][]llm.Message) {
	t.Helper()
	var list []llm.Message
	rewrites := tr.Info.Rewrites
	for i, raw := range tr.Messages {
		for len(rewrites) > 0 && rewrites[0].At == i {
			var next []llm.Message
			at := 0
			for _, e := range rewrites[0].Edits {
				next = append(next, list[at:e.From]...)
				for _, m := range e.Messages {
					next = append(next, read(t, m))
				}
				at = e.To
			}
			list, rewrites = append(next, list[at:]...), rewrites[1:]
		}
		m := read(t, raw)
		if m.Role == llm.RoleAssistant {
			requests = append(requests, slices.Clone(list))
		}
		if m.Role != llm.RoleExit {
			list = append(list, m)
		}
	}
	for i, list := range requests { // messages of the user in a row are sent as one
		requests[i] = nil
		for n, m := range list {
			if last := len(requests[i]) - 1; n > 0 && m.Role == llm.RoleUser && requests[i][last].Role == llm.RoleUser {
				requests[i][last].Parts = llm.Say(requests[i][last].Text() + llm.Between + m.Text())
				continue
			}
			requests[i] = append(requests[i], m)
		}
	}
	return requests
}

func read(t *testing.T, raw json.RawMessage) (m llm.Message) {
	t.Helper()
	if err := json.Unmarshal(raw, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

func TestAConversationThatOutgrowsItsModel(t *testing.T) {
	tier.Rest(t)
	t.Run("without a policy", func(t *testing.T) {
		p := reading(t, compaction.Config{}, reader{window: 6000, commands: 9, counts: true})
		if r := p.solve(t.TempDir()); r.Record.Status != vocab.StatusContextWindowExceeded || r.Record.Outcome != vocab.OutcomeLimit {
			t.Errorf("got %+v, want status %v, outcome %v", r.Record, vocab.StatusContextWindowExceeded, vocab.OutcomeLimit)
		}
	})
	t.Run("with a policy that cannot help", func(t *testing.T) {
		p := reading(t, compaction.Config{Policy: compaction.Drop, Keep: 50}, reader{window: 6000, commands: 9, counts: true})
		if r := p.solve(t.TempDir()); r.Record.Status != vocab.StatusContextWindowExceeded {
			t.Errorf("got %+v, want status %v", r.Record, vocab.StatusContextWindowExceeded)
		}
	})
	for name, c := range policies {
		t.Run(name, func(t *testing.T) {
			p := reading(t, c.config, c.model)
			dir := t.TempDir()
			r := p.solve(dir)
			if r.Record.Status != vocab.StatusSubmitted || r.Record.Steps != 10 {
				t.Fatalf("got %+v, want status %v after 10 steps", r.Record, vocab.StatusSubmitted)
			}
			tr := trajectoryIn(t, dir)
			for _, w := range tr.Info.Rewrites {
				if w.Policy != c.config.Policy || w.After >= w.Before || w.Refused != strings.Contains(name, "refusal") || w.Summary != nil {
					t.Errorf("rewrite %+v, want policy %v, fewer tokens", w, c.config.Policy)
				}
			}
			if len(tr.Info.Rewrites) == 0 || r.Record.Cost != 5 {
				t.Errorf("%d rewrites, $%v; want at least one, $5", len(tr.Info.Rewrites), r.Record.Cost)
			}
			if all := strings.Join(messages(t, dir), ""); strings.Contains(all, "left out") || len(tr.Messages) != 2+3*9+2 {
				t.Errorf("the trajectory's messages were rewritten, or are not all there: %d", len(tr.Messages))
			}
			var asked [][]llm.Message // of the steps, without calls that were refused
			for i, req := range p.requests {
				if refused := i+1 < len(p.requests) && tokensOf(req) > c.model.window; !refused {
					asked = append(asked, req)
				}
			}
			requests := sentWith(t, tr)
			if len(requests) != len(asked) {
				t.Fatalf("the trajectory has %d requests, want %d", len(requests), len(asked))
			}
			for i := range asked {
				if d := cmp.Diff(sent(t, asked[i]), sent(t, requests[i])); d != "" {
					t.Errorf("what was sent with step %d (-sent +by the trajectory):\n%s", i+1, d)
				}
			}
		})
	}
}

func tokensOf(messages []llm.Message) (tokens int64) {
	for _, m := range messages {
		tokens += agent.EstimateTokens(m) * 5 / 4
	}
	return tokens
}

// An attempt with rewrites of its conversation is killed after some of its records, mostly
// around a rewrite, and once more while it is resumed.
func TestARewrittenAttemptInterruptedAtAnyPointEndsTheSame(t *testing.T) {
	t.Parallel()
	for _, name := range sample.Some(t, 2, slices.Sorted(maps.Keys(policies))) {
		c := policies[name]
		t.Run(name, func(t *testing.T) {
			t.Parallel() // it waits for the disk
			p := reading(t, c.config, c.model)
			whole := t.TempDir()
			want := rewrittenInvariant(t, whole, p.solve(whole))
			asked := sent(t, p.requests[len(p.requests)-1])
			lines := p.lines(whole)
			check := func(dir, when string) {
				t.Helper()
				h, err := journal.ReadHistory(filepath.Join(dir, "a", "journal.jsonl"))
				if err != nil {
					t.Fatal(err)
				}
				known := c.model
				known.refused = new(int)
				for _, s := range h.Steps {
					if s.Reply != nil {
						known.steps++
					}
				}
				p.model = func() llm.Model { return &known }
				if d := cmp.Diff(want, rewrittenInvariant(t, dir, p.solve(dir))); d != "" {
					t.Fatalf("%s: %s", when, d)
				}
				if d := cmp.Diff(asked, sent(t, p.requests[len(p.requests)-1])); d != "" && known.steps > c.model.commands {
					t.Errorf("%s: the last request: %s", when, d)
				}
				if paid := replies(p.lines(dir)); paid != replies(lines) {
					t.Errorf("%s: %d answers were paid for, want %d", when, paid, replies(lines))
				}
			}
			var near, far []int                 // records around the records of the policy, and others
			for k := 1; k < len(lines)-1; k++ { // the last two close the attempt
				if slices.ContainsFunc(lines[max(0, k-2):min(len(lines), k+2)], func(l []byte) bool {
					return strings.Contains(string(l), `"type":"rewrite"`)
				}) {
					near = append(near, k)
				} else if k%5 == 0 {
					far = append(far, k)
				}
			}
			for _, k := range slices.Concat(sample.Some(t, 3, near), sample.Some(t, 1, far)) {
				dir := p.crashed(lines[:k], k%5 != 0)
				check(dir, fmt.Sprintf("cut behind record %d", k))
				if slices.Contains(near, k) {
					again := p.lines(dir)
					check(p.crashed(again[:min(k+3, len(again)-2)], true), fmt.Sprintf("cut behind record %d, and again", k))
				}
			}
		})
	}
}

// replies counts the answers that were paid for.
func replies(lines [][]byte) (n int) {
	for _, l := range lines {
		if strings.Contains(string(l), `"type":"reply"`) || strings.Contains(string(l), `"type":"summary"`) {
			n++
		}
	}
	return n
}

// rewrittenInvariant is everything that must not depend on crashes.
func rewrittenInvariant(t *testing.T, dir string, r *results.Result) string {
	t.Helper()
	rewrites, err := json.MarshalIndent(trajectoryIn(t, dir).Info.Rewrites, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	rec := r.Record
	return fmt.Sprintf("%s %s %d steps, $%v, %+v\n%q\n%s\n%s",
		rec.Status, rec.Outcome, rec.Steps, rec.Cost, rec.Usage, r.Submission, rewrites, strings.Join(messages(t, dir), "\n"))
}

// A refusal that is not clear costs a call that is no step. A budget that allows one call at a time must
// not wait for itself, and counts it; so does a resume, which makes the refused call again.
func TestAProbeIsBilled(t *testing.T) {
	p := reading(t, compaction.Config{}, reader{window: 6000, commands: 9, counts: true, unclear: true})
	p.window, p.budget = 6000, runner.NewBudget(100, 0, 60)
	dir := t.TempDir()
	r := p.solve(dir)
	if rec := r.Record; rec.Status != vocab.StatusContextWindowExceeded || rec.Cost != 0.5*float64(rec.Steps+1) || p.budget.Spent() != rec.Cost {
		t.Errorf("%+v, spent %v; want status %v, and the cost of one call more than steps", rec, p.budget.Spent(), vocab.StatusContextWindowExceeded)
	}
	lines := p.lines(dir)
	probed := slices.IndexFunc(lines, func(l []byte) bool { return strings.Contains(string(l), `"type":"summary"`) })
	if probed < 0 {
		t.Fatal("the journal has no record of the probe")
	}
	m := reader{window: 6000, commands: 9, counts: true, unclear: true, refused: new(int), steps: r.Record.Steps}
	p.model, p.budget = func() llm.Model { return &m }, nil
	again := p.solve(p.crashed(lines[:probed+1], true)).Record
	if again.Status != r.Record.Status || again.Steps != r.Record.Steps || again.Cost != r.Record.Cost+0.5 {
		t.Errorf("resumed behind the probe: %+v; want $%v, with a second one", again, r.Record.Cost+0.5)
	}
}

func TestANearlyFullContextIsReportedOnceAndEachStepSaysHowFull(t *testing.T) {
	p := reading(t, compaction.Config{}, reader{window: 100_000, commands: 9, counts: true})
	var log bytes.Buffer
	p.window, p.log = 4000, slog.New(slog.NewTextHandler(&log, nil))
	dir := t.TempDir()
	p.solve(dir)
	own, err := os.ReadFile(filepath.Join(dir, "a", "agent.log"))
	if err != nil {
		t.Fatal(err)
	}
	const warning = "the model's context is nearly full"
	if n, m := strings.Count(string(own), warning), strings.Count(log.String(), warning); n != 1 || m != 1 || !strings.Contains(log.String(), "instance=a") {
		t.Errorf("warned %d times in agent.log and %d times in the run's log, want once in each:\n%s", n, m, log.String())
	}
	if n := strings.Count(string(own), "% full)"); n != 9 { // in the first one, less than 1 %
		t.Errorf("%d steps say how full the context is, want 9:\n%s", n, own)
	}
}
