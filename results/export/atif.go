package export

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"batch.example/batch/internal/atomicfile"
	"batch.example/batch/results/trajectory"
)

// atifVersion is the version of the format that is written.
const atifVersion = "ATIF-v1.7"

type atifTrajectory struct {
	Version   string     `json:"schema_version"`
	SessionID string     `json:"session_id"`
	Agent     atifAgent  `json:"agent"`
	Steps     []atifStep `json:"steps"`
	Final     atifFinal  `json:"final_metrics"`
	Extra     About      `json:"extra"`
}

type atifAgent struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Model   string `json:"model_name,omitempty"`
	Tools   []Tool `json:"tool_definitions,omitempty"`
}

type atifStep struct {
	ID          int              `json:"step_id"`
	Time        string           `json:"timestamp,omitempty"`
	Source      string           `json:"source"`  // system, user or agent
	Message     any              `json:"message"` // a text, or with images a list of atifPart
	Reasoning   string           `json:"reasoning_content,omitempty"`
	Calls       []atifCall       `json:"tool_calls,omitempty"`
	Observation *atifObservation `json:"observation,omitempty"`
	Metrics     *atifMetrics     `json:"metrics,omitempty"`
	ModelCalls  *int             `json:"llm_call_count,omitempty"`
	Extra       *atifStepExtra   `json:"extra,omitempty"`
}

type atifCall struct {
	ID        string          `json:"tool_call_id"`
	Name      string          `json:"function_name"`
	Arguments json.RawMessage `json:"arguments"` // an object
}

type atifObservation struct {
	Results []atifResult `json:"results"`
}

type atifResult struct {
	CallID  string           `json:"source_call_id"`
	Content any              `json:"content"` // as a message
	Extra   *atifResultExtra `json:"extra,omitempty"`
}

// atifPart is a text or an image.
type atifPart struct {
	Type   string      `json:"type"`
	Text   *string     `json:"text,omitempty"`
	Source *atifSource `json:"source,omitempty"`
}

type atifSource struct {
	Type string `json:"media_type"`
	Path string `json:"path"` // relative to the file
}

type atifResultExtra struct {
	ExitCode *int     `json:"exit_code,omitempty"`
	Seconds  *float64 `json:"seconds,omitempty"`
}

type atifMetrics struct {
	Prompt     *int64       `json:"prompt_tokens,omitempty"`
	Completion *int64       `json:"completion_tokens,omitempty"`
	Cached     *int64       `json:"cached_tokens,omitempty"`
	Cost       *float64     `json:"cost_usd,omitempty"`
	Extra      *atifDetails `json:"extra,omitempty"`
}

type atifDetails struct {
	Reasoning  int64 `json:"reasoning_tokens"`
	CacheWrite int64 `json:"cache_write_tokens"`
}

type atifStepExtra struct {
	Refused  bool      `json:"refused,omitempty"`
	Seconds  float64   `json:"seconds,omitempty"`
	Waited   float64   `json:"waited,omitempty"`
	Rewrites []Rewrite `json:"rewrites,omitempty"`
}

type atifFinal struct {
	Prompt     *int64   `json:"total_prompt_tokens,omitempty"`
	Completion *int64   `json:"total_completion_tokens,omitempty"`
	Cached     *int64   `json:"total_cached_tokens,omitempty"`
	Cost       *float64 `json:"total_cost_usd,omitempty"`
	Steps      int      `json:"total_steps"`
}

// ATIF makes a folder with one ATIF file for each attempt: INSTANCE.json, in a folder for
// each run if there are several. A folder that exists is a Usage fault, unless it is empty.
func ATIF(folder string, several bool) Output {
	return func(fill func(add func(*attempt) error) error) error {
		return atomicfile.Files{}.NewFolder(folder, func(tmp string) error {
			return fill(func(a *attempt) error {
				dir := tmp
				if several {
					dir = filepath.Join(tmp, a.about.Run)
				}
				return a.writeATIF(dir)
			})
		})
	}
}

func (a *attempt) writeATIF(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // to be published
		return err
	}
	f, err := os.OpenFile(filepath.Join(dir, a.about.Instance+".json"), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644) //nolint:gosec // to be published
	if err != nil {
		return err
	}
	images, err := a.encodeATIF(f)
	for _, i := range images {
		err = cmp.Or(err, i.write(dir))
	}
	return cmp.Or(err, f.Close())
}

// encodeATIF writes the attempt, and returns the images that it refers to.
func (a *attempt) encodeATIF(w io.Writer) ([]atifImage, error) {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	t, images := a.atif()
	return images, e.Encode(t)
}

// atifImage is an image with its place in the folder.
type atifImage struct {
	path string
	trajectory.Image
}

func (i atifImage) write(dir string) error {
	data, err := base64.StdEncoding.DecodeString(i.Data)
	if err == nil {
		err = os.MkdirAll(filepath.Join(dir, filepath.Dir(i.path)), 0o755) //nolint:gosec // to be published
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, i.path), data, 0o644) //nolint:gosec // to be published
	}
	return err
}

// atif is the attempt as an ATIF trajectory, and the images that it refers to.
func (a *attempt) atif() (atifTrajectory, []atifImage) {
	v := a.view
	t := atifTrajectory{
		Version: atifVersion, SessionID: a.about.Run + "/" + a.about.Instance + "/" + strconv.Itoa(a.about.Attempt),
		Agent: atifAgent{"batch", v.Info.BatchVersion, v.Model, a.tools},
		Extra: a.about,
	}
	if v.Info.BatchVersion == "" {
		t.Agent.Name, t.Agent.Version = "mini-swe-agent", cmp.Or(v.Info.MiniVersion, "unknown")
	}
	w := atifWriter{about: &a.about, view: v}
	for i, m := range v.Messages {
		w.message(i, timeOf(m), a.chats[i])
	}
	t.Steps = w.steps
	t.Final = a.finalMetrics()
	t.Final.Steps = len(t.Steps)
	return t, w.images
}

// finalMetrics returns the metrics of the attempt's record, which counts all calls. Without
// a record, it sums up the steps, if all their values are known.
func (a *attempt) finalMetrics() atifFinal {
	if r := a.view.Record; r != nil && r.Attempt > 0 {
		return atifFinal{Prompt: &r.Usage.Input, Completion: &r.Usage.Output, Cached: &r.Usage.Cached, Cost: &r.Cost}
	}
	var f atifFinal
	var prompt, completion, cached int64
	for _, s := range a.view.Steps {
		if s.Usage == nil {
			return atifFinal{Cost: a.about.Cost}
		}
		prompt, completion, cached = prompt+s.Usage.Input, completion+s.Usage.Output, cached+s.Usage.Cached
	}
	f.Prompt, f.Completion, f.Cached, f.Cost = &prompt, &completion, &cached, a.about.Cost
	return f
}

// atifWriter makes steps of messages.
type atifWriter struct {
	about  *About
	view   *trajectory.View
	steps  []atifStep
	images []atifImage
	next   int              // of view.Steps
	now    *trajectory.Step // the step with the last reply
}

// message adds the message with an index: a reply, the result of a reply's call, or another
// author's text.
func (w *atifWriter) message(index int, at string, chats []trajectory.Chat) {
	if w.next < len(w.view.Steps) && w.view.Steps[w.next].Reply == index {
		w.now = &w.view.Steps[w.next]
		w.next++
		w.reply(chats, at)
		if !w.now.Refused {
			return
		}
	}
	for _, c := range chats {
		if c.Role == "exit" || w.observe(index, c) {
			continue
		}
		source := "user"
		if c.Role == "system" || c.Role == "developer" {
			source = "system"
		}
		w.add(atifStep{Time: at, Source: source, Message: w.content(c)})
	}
}

// content returns a message's text, or with images its parts.
func (w *atifWriter) content(c trajectory.Chat) any {
	if len(c.Images) == 0 {
		return c.Text
	}
	parts := []atifPart{{Type: "text", Text: &c.Text}}
	for _, i := range c.Images {
		path := fmt.Sprintf("%s.images/%d.%s", w.about.Instance, len(w.images)+1, strings.TrimPrefix(i.Type, "image/"))
		w.images = append(w.images, atifImage{path, i})
		parts = append(parts, atifPart{Type: "image", Source: &atifSource{i.Type, path}})
	}
	return parts
}

func (w *atifWriter) add(s atifStep) {
	s.ID = len(w.steps) + 1
	w.steps = append(w.steps, s)
}

// reply adds a reply of the model. A refused reply is not a message of the conversation; its
// calls were not executed, and are only in its text.
func (w *atifWriter) reply(chats []trajectory.Chat, at string) {
	s, one := w.now, 1
	step := atifStep{Time: at, Source: "agent", Message: s.Thought, Reasoning: s.Reasoning, ModelCalls: &one}
	if !s.Refused {
		step.Message = chats[0].Text
		step.Calls = callsOf(s, chats[0].Calls)
	}
	if u := s.Usage; u != nil {
		step.Metrics = &atifMetrics{Prompt: &u.Input, Completion: &u.Output, Cached: &u.Cached, Extra: &atifDetails{u.Reasoning, u.CacheWrite}}
	}
	if s.Priced {
		if step.Metrics == nil {
			step.Metrics = &atifMetrics{}
		}
		step.Metrics.Cost = &s.Cost
	}
	extra := atifStepExtra{Refused: s.Refused, Seconds: s.Seconds, Waited: s.Waited, Rewrites: rewritesOf(*s)}
	if s.Refused || s.Seconds > 0 || len(extra.Rewrites) > 0 {
		step.Extra = &extra
	}
	w.add(step)
}

// callsOf returns the calls of a reply. Commands in its text are calls of the shell.
func callsOf(s *trajectory.Step, calls []trajectory.ToolCall) (list []atifCall) {
	for _, c := range calls {
		list = append(list, atifCall{c.ID, c.Name, object(c.Arguments)})
	}
	if list != nil {
		return list
	}
	for i, a := range s.Actions {
		id := "call_" + strconv.Itoa(s.Number) + "_" + strconv.Itoa(i+1)
		list = append(list, atifCall{id, cmp.Or(a.Tool, shell), encode(map[string]string{"command": a.Command})})
	}
	return list
}

// object returns arguments as an object, as ATIF requires.
func object(arguments string) json.RawMessage {
	arguments = text(arguments)
	if trimmed := strings.TrimSpace(arguments); strings.HasPrefix(trimmed, "{") && json.Valid([]byte(trimmed)) {
		return json.RawMessage(trimmed)
	}
	return encode(map[string]string{"arguments": arguments})
}

// encode returns the JSON of texts.
func encode(v map[string]string) json.RawMessage {
	data, _ := json.Marshal(v) //nolint:errchkjson // texts
	return data
}

// observe adds a message to the last reply's observation, if it answers one of the reply's
// calls.
func (w *atifWriter) observe(index int, c trajectory.Chat) bool {
	if w.now == nil || w.now.Refused || len(w.steps) == 0 {
		return false
	}
	step := &w.steps[w.lastReply()]
	action := -1
	for i, a := range w.now.Actions {
		if a.Answer == index && i < len(step.Calls) {
			action = i
		}
	}
	r := atifResult{Content: w.content(c)}
	for i, call := range step.Calls {
		if call.ID == c.CallID && c.CallID != "" || c.CallID == "" && i == action {
			r.CallID = call.ID
		}
	}
	if r.CallID == "" {
		return false
	}
	if action >= 0 && step.Calls[action].ID == r.CallID {
		r.Extra = resultOf(w.now.Actions[action])
	}
	if step.Observation == nil {
		step.Observation = &atifObservation{}
	}
	step.Observation.Results = append(step.Observation.Results, r)
	return true
}

// lastReply returns the index of the last step of the agent.
func (w *atifWriter) lastReply() int {
	i := len(w.steps) - 1
	for w.steps[i].Source != "agent" {
		i--
	}
	return i
}

func resultOf(a trajectory.Action) *atifResultExtra {
	e := atifResultExtra{ExitCode: a.Exit}
	if a.Seconds > 0 {
		e.Seconds = &a.Seconds
	}
	if e == (atifResultExtra{}) {
		return nil
	}
	return &e
}

// timeOf returns the time at which a message was written; empty if unknown.
func timeOf(message json.RawMessage) string {
	at := gjson.GetBytes(message, "extra.timestamp").Float()
	if at <= 0 || at > math.MaxUint32 { // no time of a run
		return ""
	}
	return time.UnixMicro(int64(at * 1e6)).UTC().Format("2006-01-02T15:04:05.000000Z")
}
