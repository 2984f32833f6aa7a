package export_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"

	"batch.example/batch/agent"
	"batch.example/batch/internal/mask"
	"batch.example/batch/journal"
	"batch.example/batch/llm"
	"batch.example/batch/results"
	"batch.example/batch/results/export"
	"batch.example/batch/results/manifest"
	"batch.example/batch/results/sweeps"
	"batch.example/batch/results/trajectory"
	"batch.example/batch/vocab"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), string(got)); d != "" {
		t.Errorf("%s differs (run with -update if that is meant):\n%s", name, d)
	}
}

func tools() (list []export.Tool) {
	for _, tool := range []agent.Tool{agent.BashTool(), agent.EditorTool(), agent.AskTool()} {
		list = append(list, export.Tool{
			Type: "function", Function: export.Function{Name: tool.Name, Description: tool.Description, Parameters: tool.Parameters},
		})
	}
	return list
}

// exported has the files that Write made.
type exported struct {
	summary export.Summary
	chat    []byte
	atif    map[string][]byte // by path in the folder
	steps   []step
}

// step is a row of the file of steps, by its specification.
type step struct {
	Run            string     `parquet:"run" json:"run"`
	InstanceID     string     `parquet:"instance_id" json:"instance_id"`
	Repo           *string    `parquet:"repo,optional" json:"repo"`
	License        *string    `parquet:"license,optional" json:"license"`
	Attempt        int        `parquet:"attempt" json:"attempt"`
	Model          *string    `parquet:"model,optional" json:"model"`
	Step           int        `parquet:"step" json:"step"`
	Last           bool       `parquet:"last" json:"last"`
	Asked          *int64     `parquet:"asked,optional,timestamp(microsecond)" json:"asked"`
	Thought        string     `parquet:"thought" json:"thought"`
	Reasoning      *string    `parquet:"reasoning,optional" json:"reasoning"`
	Refused        bool       `parquet:"refused" json:"refused"`
	Rewrites       int        `parquet:"rewrites" json:"rewrites"`
	Tools          []string   `parquet:"tools,list" json:"tools"`
	Commands       []string   `parquet:"commands,list" json:"commands"`
	ExitCodes      []*int64   `parquet:"exit_codes,list" json:"exit_codes"`
	OutputBytes    []*int64   `parquet:"output_bytes,list" json:"output_bytes"`
	CommandSeconds []*float64 `parquet:"command_seconds,list" json:"command_seconds"`
	Seconds        *float64   `parquet:"seconds,optional" json:"seconds"`
	Waited         *float64   `parquet:"waited,optional" json:"waited"`
	Cost           *float64   `parquet:"cost,optional" json:"cost"`
	InputTokens    *int64     `parquet:"input_tokens,optional" json:"input_tokens"`
	CachedTokens   *int64     `parquet:"cached_tokens,optional" json:"cached_tokens"`
	OutputTokens   *int64     `parquet:"output_tokens,optional" json:"output_tokens"`
	Reasoned       *int64     `parquet:"reasoning_tokens,optional" json:"reasoning_tokens"`
	ExitStatus     string     `parquet:"exit_status" json:"exit_status"`
	Outcome        string     `parquet:"outcome" json:"outcome"`
	Resolved       *bool      `parquet:"resolved,optional" json:"resolved"`
}

// write exports the directories in all forms, and checks the rules for all files.
func write(t testing.TB, o export.Options, dirs ...string) (got exported) {
	t.Helper()
	runs, err := export.Open(dirs)
	if err != nil {
		t.Fatal(err)
	}
	o.Tools = tools()
	dir := t.TempDir()
	chat, atif, parquetFile := filepath.Join(dir, "chat.jsonl"), filepath.Join(dir, "atif"), filepath.Join(dir, "steps.parquet")
	got.summary, err = export.Write(runs, o, export.Chat(chat), export.ATIF(atif, len(runs) > 1), export.Steps(parquetFile))
	if err != nil {
		t.Fatal(err)
	}
	if got.chat, err = os.ReadFile(chat); err != nil {
		t.Fatal(err)
	}
	if got.steps, err = parquet.ReadFile[step](parquetFile); err != nil {
		t.Fatal(err)
	}
	got.atif = map[string][]byte{}
	err = filepath.WalkDir(atif, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		name, _ := filepath.Rel(atif, path)
		got.atif[name] = text
		for _, why := range invalidATIF(text) {
			t.Errorf("%s is not ATIF: %s", name, why)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.Count(got.chat, []byte("\n"))
	if n := got.summary; len(got.atif) != n.Attempts || len(got.steps) != n.Steps || lines != n.Attempts-n.Unheard {
		t.Errorf("%d files, %d rows, %d lines; want as in %+v", len(got.atif), len(got.steps), lines, n)
	}
	for _, l := range got.lines(t) {
		for _, why := range l.invalid() {
			t.Errorf("line of %s: %s", l.Metadata.Instance, why)
		}
	}
	return got
}

// line is a line of chat JSON Lines as a trainer reads it.
type line struct {
	Messages []chatMessage `json:"messages"`
	Tools    []export.Tool `json:"tools"`
	LossMask []int         `json:"loss_mask"`
	Metadata export.About  `json:"metadata"`
}

type chatMessage struct {
	Role       string  `json:"role"`
	Content    *string `json:"content"`
	Reasoning  string  `json:"reasoning_content"`
	ToolCallID string  `json:"tool_call_id"`
	Name       string  `json:"name"`
	Weight     *int    `json:"weight"`
	ToolCalls  []struct {
		ID       string `json:"id"`
		Type     string `json:"type"`
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
}

func (e exported) lines(t testing.TB) (list []line) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(e.chat))
	d.DisallowUnknownFields()
	for {
		var l line
		if err := d.Decode(&l); err == io.EOF {
			return list
		} else if err != nil {
			t.Fatal(err)
		}
		list = append(list, l)
	}
}

// invalid lists the rules of trainers that a line breaks.
func (l line) invalid() (why []string) {
	if len(l.LossMask) != len(l.Messages) {
		why = append(why, "the mask has another length than the messages")
	}
	if n := len(l.Messages); n == 0 || l.Messages[n-1].Role != "assistant" {
		return append(why, "the last message is not an assistant's")
	}
	called := map[string]bool{}
	for i, m := range l.Messages {
		assistant := m.Role == "assistant"
		if assistant != (m.Weight != nil) || assistant != (l.LossMask[i] == 1) || assistant && *m.Weight != 1 {
			why = append(why, "an assistant's message, and no other, has a weight")
		}
		if m.Content == nil {
			why = append(why, "a message has no content")
		}
		if !slices.Contains([]string{"system", "developer", "user", "assistant", "tool"}, m.Role) {
			why = append(why, "a role is "+m.Role)
		}
		if m.Role == "tool" && !called[m.ToolCallID] {
			why = append(why, "a tool answers a call that was not made: "+m.ToolCallID)
		}
		for _, c := range m.ToolCalls {
			called[c.ID] = true
		}
	}
	return why
}

func TestGoldenFilesOfTheDemo(t *testing.T) {
	dirs := []string{"testdata/toolcall", "testdata/text", "testdata/tools"}
	got := write(t, export.Options{Reasoning: true}, dirs...)
	golden(t, "chat.golden.jsonl", got.chat)
	golden(t, "tools.golden.json", got.atif["tools/demo__roman-8.json"])
	golden(t, "text.golden.json", got.atif["text/demo__roman-8.json"])
	var rows bytes.Buffer
	e := json.NewEncoder(&rows)
	e.SetEscapeHTML(false)
	for _, s := range got.steps {
		if err := e.Encode(s); err != nil {
			t.Fatal(err)
		}
	}
	golden(t, "steps.golden.jsonl", rows.Bytes())
	for i, want := range []int{1, 0, 2} {
		if n := len(got.lines(t)[i].Tools); n != want {
			t.Errorf("%s: %d tools, want %d", dirs[i], n, want)
		}
	}
}

// A line has the same content as the trajectory has for the reader that replays
// trajectories.
func TestALineIsTheConversationOfTheTrajectory(t *testing.T) {
	for _, form := range []string{"toolcall", "text", "tools"} {
		dir := filepath.Join("testdata", form)
		got := write(t, export.Options{Reasoning: true}, dir)
		v, err := trajectory.Source{Dir: dir, Instance: "demo__roman-8", Attempt: -1}.Read(nil)
		if err != nil {
			t.Fatal(err)
		}
		var lines struct {
			Messages []llm.Message `json:"messages"`
		}
		if err := json.Unmarshal(got.chat, &lines); err != nil {
			t.Fatal(err)
		}
		if len(lines.Messages) != len(v.Messages)-1 { // the last has role exit
			t.Errorf("%s: %d messages, want %d", form, len(lines.Messages), len(v.Messages)-1)
		}
		for i, m := range lines.Messages {
			var want llm.Message
			if err := json.Unmarshal(v.Messages[i], &want); err != nil {
				t.Fatal(err)
			}
			if m.Role != want.Role || m.Text() != want.Text() || m.ToolCallID() != want.ToolCallID() || !cmp.Equal(m.ToolCalls(), want.ToolCalls()) {
				t.Errorf("%s: message %d is %+v, want %+v", form, i, m, want)
			}
		}
	}
}

func put(t testing.TB, path string, text []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// solved makes an attempt with one step in a run directory, and how it ends.
func solved(t testing.TB, dir, id string, r results.Record, said llm.Message, output, patch string, rewrites ...journal.RewriteData) {
	t.Helper()
	s, err := results.Open(dir, results.Options{})
	if err != nil {
		t.Fatal(err)
	}
	a, err := s.Begin(id, manifest.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	message, err := json.Marshal(said)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := json.Marshal(map[string]any{"role": "tool", "tool_call_id": "c1", "content": output})
	if err != nil {
		t.Fatal(err)
	}
	prompt := json.RawMessage(`{"role":"user","content":"Fix it."}`)
	type record struct {
		typ  string
		data any
	}
	records := []record{{journal.TypeMessages, journal.MessagesData{Messages: []json.RawMessage{prompt}}}}
	for _, w := range rewrites {
		records = append(records, record{journal.TypeRewrite, w})
	}
	for _, record := range append(records, []record{
		{journal.TypeRequest, journal.RequestData{Step: 1}},
		{journal.TypeReply, journal.ReplyData{Step: 1, Cost: 0.5, Priced: true, Message: message}},
		{journal.TypeMessages, journal.MessagesData{Messages: []json.RawMessage{message}}},
		{journal.TypeAction, journal.ActionData{Step: 1, Command: "cat f"}},
		{journal.TypeOutput, journal.OutputData{Step: 1, Kept: []byte(output), Output: vocab.Output{ExitCode: 3}}},
		{journal.TypeMessages, journal.MessagesData{Messages: []json.RawMessage{answer}}},
		{journal.TypeSubmission, journal.SubmissionData{Submission: []byte(patch)}},
	}...) {
		if err := a.Journal().Append(record.typ, record.data); err != nil {
			t.Fatal(err)
		}
	}
	r.InstanceID, r.Steps = id, max(1, r.Steps)
	result := &results.Result{Record: r, Submission: []byte(patch), Prediction: strings.ToValidUTF8(patch, "?")}
	if _, err := s.Put(t.Context(), result); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

var (
	submitted = results.Record{Status: vocab.StatusSubmitted, Outcome: vocab.OutcomeSubmitted, License: "mit", Repo: "a/b"}
	calls     = llm.Message{Role: llm.RoleAssistant, Parts: llm.Say("I look.", llm.ToolCall{ID: "c1", Name: "bash", Arguments: `{"command":"cat f"}`})}
)

func TestSecretsAreHiddenAndPatchesExact(t *testing.T) {
	const secret = "sk-planted-0123456789"
	dir, patch := t.TempDir(), "+key = sk-planted-0123456789 caf\xe9\n"
	solved(t, dir, "a__b-1", submitted, calls, "KEY="+secret, patch) // not hidden yet
	got := write(t, export.Options{Mask: mask.New(mask.Secret{Name: "KEY", Value: secret})}, dir)
	l := got.lines(t)[0]
	if bytes.Contains(got.chat, []byte(secret)) || bytes.Contains(got.atif["a__b-1.json"], []byte(secret)) {
		t.Error("the secret is in the chat line or the ATIF file")
	}
	if l.Metadata.Patch != nil || l.Metadata.PatchBase64 == nil {
		t.Fatalf("patch %v, want it in base64, as it is not UTF-8", l.Metadata.Patch)
	}
	var exact []byte
	if err := json.Unmarshal([]byte(`"`+*l.Metadata.PatchBase64+`"`), &exact); err != nil || string(exact) != patch {
		t.Errorf("patch %q, %v; want %q", exact, err, patch)
	}
	if want := []string{"a__b-1"}; !slices.Equal(got.summary.Exposed, want) {
		t.Errorf("exposed %v, want %v", got.summary.Exposed, want)
	}
	if *l.Metadata.License != "mit" || *l.Metadata.Repo != "a/b" || *got.steps[0].License != "mit" {
		t.Errorf("license or repository is missing in %+v", l.Metadata)
	}
}

func TestWhatIsLeftOut(t *testing.T) {
	dir := t.TempDir()
	long := submitted
	long.Steps = 9
	limit := results.Record{Status: vocab.StatusLimitsExceeded, Outcome: vocab.OutcomeLimit}
	broken := results.Record{Status: "HostFault", Outcome: vocab.OutcomeInfrastructure}
	pending := results.Record{Status: "Interrupted", Outcome: vocab.OutcomePending}
	for id, r := range map[string]results.Record{"done": submitted, "long": long, "limit": limit, "broken": broken, "pending": pending} {
		solved(t, dir, id, r, calls, "x", "")
	}
	for _, c := range []struct {
		o    export.Options
		want map[export.Reason]int
		n    int
	}{
		{export.Options{}, map[export.Reason]int{export.Infrastructure: 1, export.NoResult: 1}, 3},
		{export.Options{MaxSteps: 1}, map[export.Reason]int{export.Infrastructure: 1, export.NoResult: 1, export.TooLong: 1}, 2},
		{export.Options{Resolved: true}, map[export.Reason]int{export.Infrastructure: 1, export.NoResult: 1, export.NoVerdict: 3}, 0},
	} {
		got := write(t, c.o, dir)
		if d := cmp.Diff(c.want, got.summary.Left); d != "" || got.summary.Attempts != c.n {
			t.Errorf("%+v: %d attempts, want %d; left out (-want +got):\n%s", c.o, got.summary.Attempts, c.n, d)
		}
	}
}

// Whatever a trajectory contains, the files can be read.
func TestHostileContent(t *testing.T) {
	hostile := "\u2028\u2029\x00</script>\x1b[2J" + strings.Repeat("é", 1<<16) + "\xff\xfe\ud7ff"
	said := llm.Message{Role: llm.RoleAssistant, Parts: llm.Say(hostile, llm.ToolCall{ID: "c1", Name: "\x00", Arguments: "{broken"})}
	dir := t.TempDir()
	solved(t, dir, "a", submitted, said, hostile, "")
	got := write(t, export.Options{Reasoning: true}, dir)
	l := got.lines(t)[0]
	if want := strings.ToValidUTF8(hostile, "\uFFFD"); !strings.HasPrefix(*l.Messages[1].Content, want[:100]) || len(*l.Messages[1].Content) < 2<<16 {
		t.Errorf("the text is %.60q", *l.Messages[1].Content)
	}
	if bytes.ContainsAny(got.chat, "\u2028\u2029\x00\x1b") {
		t.Error("a line has a raw control character")
	}
}

func TestAnIDThatIsNoFolderIsLeftOut(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "run", "preds.json"), []byte(`{"../x":{"model_name_or_path":"m","instance_id":"../x","model_patch":"p"}}`))
	put(t, filepath.Join(dir, "x", "x.traj.json"), []byte(`{"messages":[{"role":"assistant","content":"outside"}]}`))
	got := write(t, export.Options{}, filepath.Join(dir, "run"))
	if got.summary.Left[export.NoTrajectory] != 1 || got.summary.Attempts != 0 {
		t.Errorf("got %+v", got.summary)
	}
}

func TestASweepsCellsHaveNamesOfTheirOwn(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "sweep")
	for _, cell := range []string{"m-1", "m-2"} {
		solved(t, filepath.Join(dir, cell), "a", submitted, calls, "x", "")
		put(t, filepath.Join(dir, cell, manifest.File), []byte("{}"))
	}
	x := sweeps.Index{Cells: []sweeps.Cell{{Folder: "m-1"}, {Folder: "m-2"}, {Folder: "m-3"}}}
	if err := x.Write(dir); err != nil {
		t.Fatal(err)
	}
	got := write(t, export.Options{}, dir, filepath.Join(dir, "m-1"), filepath.Join(dir, "m-1"))
	var names []string
	for _, l := range got.lines(t) {
		names = append(names, l.Metadata.Run)
	}
	if want := []string{"sweep/m-1", "sweep/m-2", "m-1", "m-1-2"}; !slices.Equal(names, want) {
		t.Errorf("runs %v, want %v", names, want)
	}
}

// Files that cannot be written completely are not written.
func TestAFailureLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	solved(t, filepath.Join(dir, "run"), "a", submitted, calls, "x", "")
	runs, err := export.Open([]string{filepath.Join(dir, "run")})
	if err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(dir, "taken", "f"), nil)
	chat := filepath.Join(dir, "chat.jsonl")
	if _, err := export.Write(runs, export.Options{}, export.Chat(chat), export.ATIF(filepath.Join(dir, "taken"), false)); err == nil {
		t.Error("no error of the folder that exists")
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 2 {
		t.Errorf("%v, %v; want run and taken alone", entries, err)
	}
}

// A provider's readable reasoning is exported on request, signed reasoning never. A rewrite
// is reported, and the messages stay the original ones.
func TestReasoningAndRewrites(t *testing.T) {
	said := llm.Message{Role: llm.RoleAssistant, Parts: append([]llm.Part{llm.Reasoning{
		Text: "Hm.", Opaque: llm.Opaque{Provider: "anthropic", Data: "c2lnbmF0dXJl"},
	}}, calls.Parts...)}
	dir := t.TempDir()
	shorter := []json.RawMessage{json.RawMessage(`{"role":"user","content":"Fix."}`)}
	solved(t, dir, "a", submitted, said, "x", "", journal.RewriteData{Step: 1, Policy: "shorten", Before: 9, After: 3, Edits: []journal.Edit{{From: 0, To: 1, Messages: shorter}}})
	for _, reasoning := range []bool{true, false} {
		got := write(t, export.Options{Reasoning: reasoning}, dir)
		l := got.lines(t)[0]
		if (l.Messages[1].Reasoning == "Hm.") != reasoning || *l.Messages[1].Content != "I look." {
			t.Errorf("reasoning %t: message %+v", reasoning, l.Messages[1])
		}
		if has := bytes.Contains(got.atif["a.json"], []byte(`"reasoning_content": "Hm."`)); has != reasoning {
			t.Errorf("reasoning %t: in the ATIF file %t", reasoning, has)
		}
		if has := got.steps[0].Reasoning != nil; has != reasoning {
			t.Errorf("reasoning %t: in the steps %t", reasoning, has)
		}
		if bytes.Contains(got.chat, []byte("c2lnbmF0dXJl")) {
			t.Error("the signature is exported")
		}
		if want := []export.Rewrite{{Step: 1, Policy: "shorten", Messages: 1, Before: 9, After: 3}}; !slices.Equal(l.Metadata.Rewrites, want) {
			t.Errorf("rewrites %+v, want %+v", l.Metadata.Rewrites, want)
		}
	}
}

// foreign makes a run directory of another tool with one trajectory.
func foreign(t testing.TB, trajectory string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	put(t, filepath.Join(dir, "preds.json"), []byte(`{"a":{"model_name_or_path":"m","instance_id":"a","model_patch":"p"}}`))
	put(t, filepath.Join(dir, "a", "a.traj.json"), []byte(trajectory))
	return dir
}

func TestADamagedTrajectoryIsLeftOut(t *testing.T) {
	for text, why := range map[string]export.Reason{
		`{"messages": 7}`: export.Damaged, `{"messages": [`: export.Damaged, ``: export.Damaged, `{"messages": []}`: export.NoTrajectory,
	} {
		got := write(t, export.Options{}, foreign(t, text))
		if got.summary.Attempts != 0 || got.summary.Left[why] != 1 {
			t.Errorf("%q: got %+v, want one %s", text, got.summary, why)
		}
	}
}

func TestAnAttemptOfRefusedRepliesHasNoLine(t *testing.T) {
	got := write(t, export.Options{}, foreign(t, `{"messages":[{"role":"user","content":"t"},
		{"role":"user","content":"No.","extra":{"interrupt_type":"FormatError","response":{"choices":[{"message":{"content":"Hi"}}]}}}]}`))
	if got.summary.Attempts != 1 || got.summary.Unheard != 1 || len(got.chat) != 0 || len(got.steps) != 1 || !got.steps[0].Refused {
		t.Errorf("got %+v, %s, %+v", got.summary, got.chat, got.steps)
	}
}

func FuzzTrajectory(f *testing.F) {
	for _, seed := range []string{
		"{\"messages\":[{\"role\":\"assistant\",\"content\":\"a\\n```bash\\nls\\n```\"},{\"role\":\"user\",\"content\":\"<returncode>0</returncode>\\n<output>\\nx\\n</output>\"}]}",
		`{"messages":[{"role":"system","content":"s"},{"role":"assistant","content":"a\n<bash>ls</bash>"},{"role":"user","content":"<returncode>0</returncode>\n<output>\nx\n</output>"}]}`,
		`{"messages":[{"object":"response","output":[{"type":"function_call","call_id":"1","name":"bash","arguments":"{}"}]},{"type":"function_call_output","call_id":"1","output":"x"}]}`,
		`{"messages":[{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"bash","input":{"command":"ls"}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":"x"}]}]}`,
		`{"messages":[{"role":"user","content":"e","extra":{"interrupt_type":"FormatError","response":{}}},{"role":"exit","extra":{"response":{},"timestamp":1e99}}]}`,
		`[{"role":"assistant","tool_calls":[{"id":7,"function":{"name":[],"arguments":{"a":1}}}]},7,null]`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		chat, atif, err := export.Render(text)
		if err != nil {
			t.Fatal(err)
		}
		if atif == nil {
			return
		}
		for _, why := range invalidATIF(atif) {
			t.Errorf("not ATIF: %s", why)
		}
		for _, l := range (exported{chat: chat}).lines(t) {
			for _, why := range l.invalid() {
				t.Error(why)
			}
		}
	})
}

func TestRolesThatTrainersDoNotKnow(t *testing.T) {
	chat, atif, err := export.Render([]byte(`{"trajectory_format": "mini-swe-agent-1.1", "info": {}, "messages": [
		{"role": "developer", "content": "rules"}, {"role": "user", "content": "task"},
		{"role": "assistant", "content": "", "tool_calls": [{"type": "function", "function": {"name": "bash", "arguments": "{}"}}]},
		{"role": "user", "content": "more"}, {"role": "assistant", "content": "done"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(chat, []byte(`{"role":"system","content":"rules"}`)) || !bytes.Contains(atif, []byte(`"source": "system"`)) {
		t.Errorf("developer is not system: %s, %s", chat, atif)
	}
	if !bytes.Contains(chat, []byte(`{"role":"user","content":"more"}`)) {
		t.Errorf("what answers no call has the name of a tool: %s", chat)
	}
}
