package agent

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"

	"batch.example/batch/fault"
	"batch.example/batch/llm"
	"batch.example/batch/vocab"
)

// picky refuses, in words that are not known, what has more than most tokens or a word in it.
type picky struct {
	*script
	most   int64
	poison string
	kind   error
}

func (p *picky) Generate(ctx context.Context, req *llm.Request) (*llm.Response, error) {
	tokens, text := int64(0), ""
	for _, m := range req.Messages {
		tokens += EstimateTokens(m)
		text += m.Text()
	}
	if tokens > p.most || p.poison != "" && strings.Contains(text, p.poison) {
		p.asked = append(p.asked, req.Messages)
		return nil, &llm.Unpaid{Err: fault.New(fault.Instance, "asking", p.kind)}
	}
	resp, err := p.script.Generate(ctx, req)
	if resp != nil {
		resp.Usage.Input = tokens
	}
	return resp, err
}

// A refusal in unknown words counts as one for the length only where the window is nearly full and
// the same conversation is accepted without its older steps.
func TestARefusalThatIsNotClearIsAboutTheLengthIfLessIsAccepted(t *testing.T) {
	no := &llm.Unclear{Err: errors.New("422: no")}
	room := &llm.Unclear{Err: no.Err, Answer: 1000}
	for name, tt := range map[string]struct {
		window, most int64
		poison       string
		kind         error
		status       vocab.Status
		asked        int // calls in all, refused ones included
		steps        int
		task, last   int // their lengths, in bytes, the latter of the last output
	}{
		"too long":             {1000, 950, "", no, vocab.StatusContextWindowExceeded, 6, 4, 0, 1100},
		"another reason":       {1000, 5000, "output 4", no, vocab.StatusInstanceFault, 6, 4, 0, 1100},
		"a window that is not": {5000, 950, "", no, vocab.StatusInstanceFault, 5, 4, 0, 1100},
		"room for the answer":  {1900, 950, "", room, vocab.StatusContextWindowExceeded, 6, 4, 0, 1100},
		"no older step":        {1000, 950, "", no, vocab.StatusInstanceFault, 2, 1, 2800, 1100},
		"a long last step":     {1000, 950, "", no, vocab.StatusInstanceFault, 5, 4, 0, 2200},
		"an unknown window":    {0, 950, "", no, vocab.StatusInstanceFault, 5, 4, 0, 1100},
		"another status":       {1000, 950, "", errors.New("404: no"), vocab.StatusInstanceFault, 5, 4, 0, 1100},
	} {
		m, e, j := &picky{&script{}, tt.most, tt.poison, tt.kind}, &env{outputs: map[string]vocab.Output{}}, &journal{}
		for i := range tt.steps {
			n := strconv.Itoa(i + 1)
			m.replies = append(m.replies, ask(n, n))
			e.outputs[n] = printed("output " + n + strings.Repeat(" x", 450))
			if i == tt.steps-1 {
				e.outputs[n] = printed("output " + n + strings.Repeat(" x", tt.last/2))
			}
		}
		m.replies = append(m.replies, ask("5", "the probe's"))
		end, err := newLoop(t, nil).Run(t.Context(), Turn{Task: strings.Repeat(" t", tt.task/2), Model: m, Env: e, Recorder: j, ModelFacts: ModelFacts{Window: tt.window}})
		if end.Status != tt.status || len(m.asked) != tt.asked || (err == nil) != (tt.status == vocab.StatusContextWindowExceeded) || end.Calls != tt.steps {
			t.Errorf("%s: %v after %d calls and %d steps, %v; want %v after %d and %d", name, end.Status, len(m.asked), end.Calls, err, tt.status, tt.asked, tt.steps)
		}
		if types := strings.Join(j.types(), " "); tt.asked > 5 && (end.Cost != 4+float64(strings.Count(types, " probed ")) || !strings.Contains(types, "request refused probe")) {
			t.Errorf("%s: $%v, recorded %s; want the refusal and the probe", name, end.Cost, types)
		}
		if tt.asked > 5 && err != nil && !strings.HasSuffix(strings.Join(j.types(), " "), "probe refused messages end") {
			t.Errorf("%s: recorded %s; want that the probe was refused", name, j.types())
		}
		if probe := m.asked[len(m.asked)-1]; tt.asked > 5 && (probe[2].Role != llm.RoleAssistant || !paired(probe) || !strings.Contains(probe[len(probe)-1].Text(), "output 4")) {
			t.Errorf("%s: asked with %+v, want the last step whole", name, probe)
		}
	}
}
