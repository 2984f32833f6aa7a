package selecting

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"batch.example/batch/agent/template"
	"batch.example/batch/dataset"
	"batch.example/batch/fault"
	"batch.example/batch/grade/selection"
	"batch.example/batch/internal/mask"
	"batch.example/batch/llm"
	"batch.example/batch/results/selections"
	"batch.example/batch/run"
	"batch.example/batch/run/rundir"
	"batch.example/batch/runner"
	"batch.example/batch/solver"
	"batch.example/batch/vocab"
)

// DefaultPrompt is the Jinja template of the judge's prompt, unless another one is given.
//
// Its variables are problem_statement; candidates, a list with number and patch of each; n,
// the number of candidates; and boundary, a text that no candidate can know. The answer is
// the reply's last line of the form "SELECTED: 2".
//
//go:embed judge.txt
var DefaultPrompt string

// Judge is a model that chooses. Make it with [NewJudge].
type Judge struct {
	model     run.Model
	name      string // as the user gave it
	prompt    *template.Template
	source    string
	seed      uint64
	costLimit float64
}

// JudgeConfig says which model judges, and with which prompt.
type JudgeConfig struct {
	Model     run.Model
	Name      string  // model_name_or_path
	Prompt    string  // text of the template; empty: DefaultPrompt
	File      string  // the template's file, for errors
	Seed      uint64  // of the order in which candidates are shown
	CostLimit float64 // US dollars of all calls into the directory together; 0: none
}

// NewJudge checks the template: one that cannot be rendered is a Usage fault.
func NewJudge(c JudgeConfig) (*Judge, error) {
	j := &Judge{model: c.Model, name: c.Name, source: c.Prompt, seed: c.Seed, costLimit: c.CostLimit}
	file := c.File
	if j.source == "" {
		j.source, file = DefaultPrompt, "the judge's prompt"
	}
	var err error
	if j.prompt, err = template.Parse(file, j.source, nil); err != nil {
		return nil, err
	}
	sample := selection.NewBallot("sample", selection.Groups([]selection.Candidate{{Attempt: 1, Patch: []byte("a")}, {Attempt: 2, Patch: []byte("b")}}), 1)
	_, err = j.ask(dataset.Instance{ProblemStatement: "sample"}, sample)
	return j, err
}

// key returns a digest of everything that a reply depends on, except the candidates.
func (j *Judge) key() string {
	return fmt.Sprintf("%s\x00%d\x00%s", j.name, j.seed, digest(j.source))
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// ask returns the text of the first request.
func (j *Judge) ask(in dataset.Instance, b selection.Ballot) (string, error) {
	var candidates []map[string]any
	for i, g := range b.Groups {
		patch := strings.ToValidUTF8(string(g.Patch), "\uFFFD")
		candidates = append(candidates, map[string]any{"number": i + 1, "patch": patch})
	}
	return j.prompt.Render(map[string]any{
		"problem_statement": in.ProblemStatement, "candidates": candidates, "n": len(candidates), "boundary": b.Boundary,
	})
}

// again is added to the prompt if a reply names no candidate.
func again(n int) string {
	return fmt.Sprintf("\n\nAn earlier reply did not end with a line of that form. End with SELECTED: and a number from 1 to %d.", n)
}

// guessed is the assumed usage of a call, until a call has reported its cost.
var guessed = vocab.Usage{Input: 20_000, Output: 2_000}

// budget returns the budget of the cost limit, with the costs of earlier calls.
func (j *Judge) budget(earlier selections.Records) *runner.Budget {
	most := 0.0
	for _, r := range earlier.Replies {
		most = max(most, r.Cost)
	}
	return rundir.Limit{USD: j.costLimit}.Budget(rundir.Costs{
		Spent: earlier.Cost() + earlier.Held(), Highest: most, Guess: j.model.Guess(guessed),
	})
}

func (j *Judge) open(m *mask.Masker, log *slog.Logger) (solver.Models, error) {
	return j.model.Compose(llm.Calls{Mask: m, Log: log}, false)
}

// tries is how often a judge is asked about an instance.
const tries = 2

// byJudge asks the judge.
func (w *worker) byJudge(ctx context.Context, a runner.Attempt[*choice], d deciding) error {
	ballot := selection.NewBallot(d.InstanceID, d.groups, w.Judge.seed)
	for i, g := range ballot.Groups {
		for _, attempt := range g.Attempts {
			d.Candidates[attempt-1].Number = i + 1
		}
	}
	prompt, err := w.Judge.ask(d.choice.in, ballot)
	if err != nil {
		return err
	}
	for try := 1; try <= tries; try++ {
		if try > 1 {
			prompt += again(len(ballot.Groups))
		}
		reply, err := w.reply(ctx, a, prompt, ballot, try)
		if errors.Is(err, llm.ErrContextLength) || errors.Is(err, llm.ErrContentPolicy) {
			d.majority("the judge refused the question (" + err.Error() + ")")
			return nil
		}
		if err != nil {
			return err
		}
		d.Calls++
		d.SelectionCost += reply.Cost
		if reply.Chosen > 0 {
			g := ballot.Groups[reply.Chosen-1]
			d.choose(g, ByJudge, fmt.Sprintf("the judge chose candidate %d of %d", reply.Chosen, len(ballot.Groups)))
			return nil
		}
		d.Unreadable++
	}
	d.majority(fmt.Sprintf("%d replies of the judge name no candidate", tries))
	return nil
}

// reply returns the recorded reply to a prompt. If there is none, it asks for one and
// records it.
func (w *worker) reply(ctx context.Context, a runner.Attempt[*choice], prompt string, b selection.Ballot, try int) (selections.Reply, error) {
	r := selections.Reply{InstanceID: a.Job.id, Prompt: digest(prompt), Model: w.Judge.name, Try: try}
	heard := 0
	for _, old := range w.Selecting.log.All().Replies {
		if old.InstanceID != r.InstanceID || old.Model != r.Model {
			continue
		}
		if heard++; old.Prompt == r.Prompt && old.Try == try {
			return old, nil
		}
	}
	model, err := w.models(a.Job.in, heard)
	if err != nil {
		return r, err
	}
	call := asking{
		log: w.Selecting.log, asked: selections.Asked{InstanceID: r.InstanceID, Prompt: r.Prompt, Model: r.Model},
		reserve: func() (*runner.Reservation, error) { return a.Reserve(ctx) },
	}
	if err := call.begin(); err != nil {
		return r, err
	}
	defer func() { call.reserved.Release() }() // also after a panic
	a.Report(runner.Progress{Phase: "model", Step: try})
	began := time.Now()
	resp, err := model.Generate(ctx, &llm.Request{
		Messages:  []llm.Message{{Role: llm.RoleUser, Parts: llm.Say(prompt)}},
		Repeating: func(next llm.Repeat) { _ = call.failed(next.Unpaid) },
		Trying:    call.begin,
	})
	if err != nil {
		return r, errors.Join(err, call.failed(llm.Lost(err) == call.lost))
	}
	if r.Unpriced = !resp.Priced; r.Unpriced {
		call.reserved.Lose(1)
		call.reserved.Release()
	} else {
		call.reserved.Settle(resp.Cost)
	}
	r.ModelID, r.Text, r.Cost, r.Usage, r.Seconds = resp.Model, resp.Message.Text(), resp.Cost, resp.Usage, time.Since(began).Seconds()
	if g, ok := b.Answer(r.Text); ok {
		for i := range b.Groups {
			if b.Groups[i].Attempt == g.Attempt {
				r.Chosen = i + 1
			}
		}
	}
	if err := w.Selecting.log.AddReply(r); err != nil {
		return r, err
	}
	if !resp.Priced && call.reserved.Limited() {
		return r, fault.Newf(fault.Host, "the provider did not say what a reply of model %s costs: the cost limit cannot be enforced", w.Judge.name).
			WithHint("give its price with -c model.litellm_model_registry=prices.json, or leave out --cost-limit-total")
	}
	return r, nil
}
