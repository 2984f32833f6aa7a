package trajectory

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"batch.example/batch/fault"
	"batch.example/batch/internal/lazy"
	"batch.example/batch/journal"
	"batch.example/batch/results"
	"batch.example/batch/vocab"
)

// Parse reads the text of a trajectory: an object like results.Trajectory, the bare list of
// messages that early versions of mini-swe-agent wrote, a trajectory of SWE-agent, or one in
// ATIF.
func Parse(text []byte) (*View, error) {
	v, err := parse(text)
	if err != nil {
		return nil, err
	}
	switch {
	case v.Info.Submission != "" && !(v.Record != nil && v.Record.Salvaged):
		v.Patch = &Patch{[]byte(v.Info.Submission), false}
	case v.Info.Salvage != "":
		v.Patch = &Patch{[]byte(v.Info.Salvage), true}
	}
	return v, nil
}

func parse(text []byte) (*View, error) {
	if read := readerFor(text); read != nil {
		if !gjson.ValidBytes(text) {
			return nil, fault.Newf(fault.Usage, "it is not a trajectory: it is not JSON")
		}
		return read(text)
	}
	var t results.Trajectory
	if bytes.HasPrefix(bytes.TrimLeft(text, " \t\r\n"), []byte("[")) {
		if err := json.Unmarshal(text, &t.Messages); err != nil {
			return nil, fault.Newf(fault.Usage, "it is not a trajectory: %w", err)
		}
	} else if err := json.Unmarshal(text, &t); err != nil {
		return nil, fault.Newf(fault.Usage, "it is not a trajectory: %w", err)
	} else if t.Messages == nil && t.Format == "" {
		return nil, fault.Newf(fault.Usage, "it is not a trajectory: it has no member \"messages\"")
	}
	return viewOf(&t), nil
}

// viewOf splits a trajectory into steps.
func viewOf(t *results.Trajectory) *View {
	v := &View{Instance: t.InstanceID, Info: t.Info, Record: t.Info.Record, Messages: t.Messages}
	if v.Record != nil {
		v.Model, v.Attempt, v.Attempts = v.Record.Model, v.Record.Attempt, v.Record.Attempt
	}
	if model, ok := t.Info.Config["model"].(map[string]any); ok && v.Model == "" {
		v.Model, _ = model["model_name"].(string)
	}
	if v.Form = "batch"; t.Info.BatchVersion == "" && v.Record == nil {
		v.Form = "mini-swe-agent"
	}
	v.split()
	for _, w := range t.Info.Rewrites {
		if w.Step >= 1 && w.Step <= len(v.Steps) {
			s := &v.Steps[w.Step-1]
			s.Rewrites = append(s.Rewrites, Rewrite{
				Policy: w.Policy, Refused: w.Refused, Before: w.Before, After: w.After, Messages: w.Messages, Summary: w.Summary, edits: w.Edits,
			})
		}
	}
	return v
}

// readPart reads some messages of a conversation in a row: a View with only Messages, Prompts,
// Steps and Exit. Where raw_output refers to a record of a journal, the action's Output is
// the message's text.
func readPart(messages []json.RawMessage) *View {
	v := &View{Messages: messages}
	v.split()
	return v
}

// split splits the messages into steps.
func (v *View) split() {
	p := parser{view: v}
	for i, m := range v.Messages {
		p.index = i
		p.add(gjson.ParseBytes(m))
	}
}

// parser splits a conversation into steps.
type parser struct {
	view  *View
	index int     // of the message
	at    float64 // time of the message before, in seconds; 0: not known
	next  int     // first action of the last step without an output
}

func (p *parser) add(m gjson.Result) {
	extra := m.Get("extra")
	at := extra.Get("timestamp").Float()
	defer func() { p.at = at }()
	role := roleOf(m)
	refused := extra.Get("interrupt_type").String() == string(vocab.StatusFormatError)
	switch {
	case role == "assistant", refused, extra.Get("response").Exists(): // of a reply that is not in the conversation
		p.step(m, extra, at, refused)
		switch {
		case role == "exit":
			p.exit(m, extra)
		case role != "assistant" && !refused: // a person's words, after a reply that was filtered
			p.answer(m, extra, at)
		}
	case role == "exit":
		p.exit(m, extra)
	case len(p.view.Steps) == 0:
		p.view.Prompts = append(p.view.Prompts, Message{role, textOf(m), imagesOf(m)})
	default:
		p.answer(m, extra, at)
	}
}

// roleOf also reads messages of OpenAI's Responses API.
func roleOf(m gjson.Result) string {
	switch {
	case m.Get("object").String() == "response":
		return "assistant"
	case m.Get("type").String() == "function_call_output":
		return "tool"
	}
	return m.Get("role").String()
}

// step begins a step with the model's reply.
func (p *parser) step(m, extra gjson.Result, at float64, refused bool) {
	s := Step{Mark: journal.Mark{Number: len(p.view.Steps) + 1}, Reply: p.index, Refused: roleOf(m) != "assistant"}
	if cost := extra.Get("cost"); cost.Exists() {
		s.Cost, s.Priced = cost.Float(), true
	}
	response := extra.Get("response")
	s.used(usageIn(response))
	if at > p.at && p.at > 0 {
		s.Seconds = at - p.at
	}
	reply := m
	if s.Refused {
		reply = replyIn(response) // it is not in the conversation
	}
	s.Thought, s.Reasoning = textOf(reply), reasoningOf(reply)
	if given := extra.Get("model_response"); given.Exists() {
		s.Thought = given.String()
	}
	if refused {
		for _, c := range callsIn(reply) {
			s.Thought = strings.TrimSpace(s.Thought + "\n" + c)
		}
		s.Notes = append(s.Notes, Message{Role: string(vocab.StatusFormatError), Text: textOf(m)})
	} else {
		s.Actions = actionsOf(reply, extra, s.Thought)
		for _, a := range s.Actions {
			s.Thought = WithoutCommand(s.Thought, a.Command)
		}
	}
	p.view.Steps = append(p.view.Steps, s)
	p.next = 0
}

// oldObservation is the form in which mini-swe-agent shows the model an output. Early
// versions stored the output only in this form.
var oldObservation = lazy.Regexp(`(?s)^<returncode>(-?\d+)</returncode>\s*<output>\n?(.*?)\n?</output>\s*$`)

// answer reads a message that follows a reply: an output, or another text.
func (p *parser) answer(m, extra gjson.Result, at float64) {
	s := &p.view.Steps[len(p.view.Steps)-1]
	n := p.actionFor(s, m)
	code, text := extra.Get("returncode"), textOf(m)
	var old []string
	if !code.Exists() {
		old = oldObservation().FindStringSubmatch(text)
	}
	submits := n >= 0 && strings.Contains(s.Actions[n].Command, vocab.Marker)
	if n < 0 || !code.Exists() && old == nil && !submits && roleOf(m) != "tool" || extra.Get("interrupt_type").Exists() {
		name := extra.Get("interrupt_type").String()
		if name == "" {
			name = roleOf(m)
		}
		s.Notes = append(s.Notes, Message{name, text, imagesOf(m)})
		return
	}
	a := &s.Actions[n]
	p.next = n + 1
	a.Answer = p.index
	a.Images = imagesOf(m)
	a.State, a.Note = Done, extra.Get("exception_info").String()
	a.printed(text, 0)
	if at > p.at && p.at > 0 && len(s.Actions) == 1 {
		a.Seconds = at - p.at
	}
	switch {
	case code.Exists():
		exit := int(code.Int())
		a.Exit = &exit
	case old != nil:
		exit, _ := strconv.Atoi(old[1])
		a.Exit = &exit
		a.printed(old[2], 0)
	case submits:
		p.view.Info.Submission, a.State = a.Output, Submitted
		a.printed("", 0)
	}
	if raw := extra.Get("raw_output"); raw.Type == gjson.String {
		a.printed(raw.String(), max(0, extra.Get("output_bytes").Int()-int64(len(raw.String()))))
	}
}

// actionFor returns the index of the action that m answers, or -1.
func (p *parser) actionFor(s *Step, m gjson.Result) int {
	id := m.Get("tool_call_id").String() + m.Get("call_id").String()
	for i, a := range s.Actions {
		if id != "" && a.id == id {
			return i
		}
	}
	if p.next < len(s.Actions) {
		return p.next
	}
	return -1
}

func (p *parser) exit(m, extra gjson.Result) {
	e := &Exit{Status: vocab.Status(extra.Get("exit_status").String()), Hint: extra.Get("hint").String()}
	if e.Status != vocab.StatusSubmitted {
		e.Reason = extra.Get("exception_str").String()
		if e.Reason == "" {
			e.Reason = textOf(m)
		}
	}
	if e.Reason == string(e.Status) {
		e.Reason = ""
	}
	p.view.Exit = e
	if n := len(p.view.Steps); n > 0 && e.Status == vocab.StatusSubmitted {
		if s := &p.view.Steps[n-1]; p.next < len(s.Actions) {
			s.Actions[p.next].State = Submitted
		}
	}
}

// used sets the usage of a step's call; nil: it is not known.
func (s *Step) used(u *vocab.Usage) {
	if s.Usage = u; u == nil {
		return
	}
	s.Input, s.Cached, s.Mark.Output = u.Input, u.Cached, u.Output
	if u.Input > 0 {
		share := float64(u.Cached) / float64(u.Input)
		s.CacheShare = &share
	}
}

// usageIn reads the usage of a call, under the providers' names and batch's own.
func usageIn(response gjson.Result) *vocab.Usage {
	u, g := response.Get("usage"), response.Get("usageMetadata") // Gemini's
	first := func(names ...string) int64 {
		for _, name := range names {
			if n := u.Get(name); n.Type == gjson.Number {
				return n.Int()
			}
		}
		return 0
	}
	usage := vocab.Usage{
		Input:     first("prompt_tokens", "input_tokens") + g.Get("promptTokenCount").Int() + g.Get("toolUsePromptTokenCount").Int(),
		Output:    first("completion_tokens", "output_tokens") + g.Get("candidatesTokenCount").Int() + g.Get("thoughtsTokenCount").Int(),
		Cached:    first("prompt_tokens_details.cached_tokens", "input_tokens_details.cached_tokens", "cached_tokens") + g.Get("cachedContentTokenCount").Int(),
		Reasoning: first("completion_tokens_details.reasoning_tokens", "output_tokens_details.reasoning_tokens", "reasoning_tokens") + g.Get("thoughtsTokenCount").Int(),
	}
	if !u.Get("prompt_tokens").Exists() { // Anthropic's own, which LiteLLM adds to its sum
		read := first("cache_read_input_tokens")
		usage.Input, usage.Cached = usage.Input+read+first("cache_creation_input_tokens"), usage.Cached+read
	}
	if usage == (vocab.Usage{}) {
		return nil
	}
	return &usage
}
