package agent

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"batch.example/batch/fault"
	"batch.example/batch/llm"
	"batch.example/batch/vocab"
)

func TestSubmission(t *testing.T) {
	for _, c := range []struct {
		name, output, patch string
		ok                  bool
	}{
		{"the rest is exact", vocab.Marker + "\ndiff\r\n\n", "diff\r\n\n", true},
		{"nothing behind the marker is an empty submission", vocab.Marker, "", true},
		{"white space around the marker is dropped", "\n \t\x1f" + vocab.Marker + " \t\nx", "x", true},
		{"a carriage return belongs to the line end", vocab.Marker + "\r\nx", "x", true},
		{"a lone carriage return ends the line", vocab.Marker + "\rx\n", "x\n", true},
		{"a vertical tab ends the line", vocab.Marker + "\vx", "x", true},
		{"a file separator ends the line", vocab.Marker + "\x1cx", "x", true},
		{"NEL ends the line", vocab.Marker + "\u0085x", "x", true},
		{"a line separator ends the line", vocab.Marker + "\u2028x", "x", true},
		{"leading wide spaces are stripped", "\u3000\u00a0" + vocab.Marker + "\nx", "x", true},
		{"bytes that are not UTF-8 are kept", vocab.Marker + "\n\xff\x85\xe9", "\xff\x85\xe9", true},
		{"a lone 0x85 byte does not end the line", vocab.Marker + "\x85x", "", false},
		{"the old marker still counts", oldMarker + "\nx", "x", true},
		{"words before the marker", "ok " + vocab.Marker + "\nx", "", false},
		{"the marker on the second line", "a\n" + vocab.Marker + "\nx", "", false},
		{"no output", "", "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			patch, ok := submission(printed(c.output))
			if ok != c.ok || string(patch) != c.patch || ok && patch == nil {
				t.Errorf("got %q, %v; want %q, %v", patch, ok, c.patch, c.ok)
			}
		})
	}
}

func FuzzSubmission(f *testing.F) {
	f.Add([]byte(vocab.Marker + "\n\xff"))
	f.Add([]byte(" \u2029" + vocab.Marker + "\r\r\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		patch, ok := submission(vocab.Output{Bytes: b})
		if ok && !strings.HasSuffix(string(b), string(patch)) {
			t.Errorf("the submission %q is not the end of the output %q", patch, b)
		}
		whole := append([]byte(vocab.Marker+"\n"), b...)
		if patch, ok := submission(vocab.Output{Bytes: whole}); !ok || string(patch) != string(b) {
			t.Errorf("got the submission %q, want %q", patch, b)
		}
	})
}

func commands(t *testing.T, f ActionForm, m llm.Message) ([]string, error) {
	t.Helper()
	form, err := newForm(f)
	if err != nil {
		t.Fatal(err)
	}
	actions, err := form.parse(m)
	var commands []string
	for _, a := range actions {
		commands = append(commands, a.Command)
	}
	return commands, err
}

func TestToolCalls(t *testing.T) {
	for _, c := range []struct {
		name    string
		calls   []llm.ToolCall
		want    []string
		problem string
	}{
		{"three calls are three actions", []llm.ToolCall{call("1", `{"command":"a"}`), call("2", `{"command":"b"}`), call("3", `{"command":"c"}`)}, []string{"a", "b", "c"}, ""},
		{"no call", nil, nil, "No tool calls found"},
		{"an unknown tool", []llm.ToolCall{{Name: "x", Arguments: `{"command":"a"}`}}, nil, "Unknown tool 'x'"},
		{"the editor where it is not offered", []llm.ToolCall{{Name: "editor", Arguments: `{"command":"view","path":"a"}`}}, nil, "Unknown tool 'editor'"},
		{"bad JSON", []llm.ToolCall{call("1", `{"command":`)}, nil, "Error parsing tool call arguments"},
		{"no command", []llm.ToolCall{call("1", `{}`)}, nil, "Missing 'command' argument"},
		{"null arguments", []llm.ToolCall{call("1", `null`)}, nil, "Missing 'command' argument"},
		{"a command in the wrong case", []llm.ToolCall{call("1", `{"Command":"a"}`)}, nil, "Missing 'command' argument"},
		{"a command that is a list", []llm.ToolCall{call("1", `{"command":["ls"]}`)}, nil, "must be a string"},
		{"a command with NUL", []llm.ToolCall{call("1", `{"command":"a\u0000b"}`)}, nil, "NUL"},
		{"one bad call among good ones", []llm.ToolCall{call("1", `{"command":"a"}`), call("2", `{`)}, nil, "Error parsing"},
		{"arguments that are a list", []llm.ToolCall{call("1", `["ls"]`)}, nil, "Missing 'command' argument in bash tool call."},
		{"all mistakes are reported", []llm.ToolCall{{Name: "x", Arguments: `{`}}, nil, "Unknown tool 'x'. Missing 'command'"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := commands(t, ActionForm{}, llm.Message{Parts: llm.Say("", c.calls...)})
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("result (-want +got):\n%s", d)
			}
			if (c.problem == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), c.problem) {
				t.Errorf("error %v, want %q", err, c.problem)
			}
		})
	}
}

// Where there are several tools, the model may have meant any of them: nothing is said about
// the arguments of one.
func TestACallOfAnUnknownToolAmongSeveral(t *testing.T) {
	for arguments, want := range map[string]string{
		`{"a":1}`: "Unknown tool 'x'.",
		`{`:       "Error parsing tool call arguments: unexpected end of JSON input. Unknown tool 'x'.",
	} {
		reply := llm.Message{Parts: llm.Say("", llm.ToolCall{Name: "x", Arguments: arguments})}
		if _, err := commands(t, ActionForm{Kind: Tools}, reply); err == nil || err.Error() != want {
			t.Errorf("%s: error %v, want %q", arguments, err, want)
		}
	}
}

func TestTextActions(t *testing.T) {
	xml := `<mswea_bash_command>(.*?)</mswea_bash_command>`
	for _, c := range []struct {
		name, regex, reply string
		want               []string
		problem            string
	}{
		{"the default fence", "", "so\n```mswea_bash_command\n ls\n-la \n```\nend", []string{"ls\n-la"}, ""},
		{"a fence of another language is not an action", "", "```bash\nls\n```", nil, "found 0"},
		{"two fences", "", "```mswea_bash_command\na\n```\n```mswea_bash_command\nb\n```", nil, "found 2"},
		{"the older fence", OldRegex, "```bash  \n\nls\n```", []string{"ls"}, ""},
		{"an XML tag over lines", xml, "<mswea_bash_command>\ncat <<E\nx\nE\n</mswea_bash_command>", []string{"cat <<E\nx\nE"}, ""},
		{"a Python group name", "<a>(?P<cmd>.*?)</a>", "<a>ls</a>", []string{"ls"}, ""},
		{"no group takes the whole match", "run .*$", "run ls", []string{"run ls"}, ""},
		{"an empty reply", "", "", nil, "found 0"},
		{"a command that no shell can take", "", "```mswea_bash_command\necho \x00\n```", nil, "NUL character"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := commands(t, ActionForm{Kind: Text, Regex: c.regex}, llm.Message{Parts: llm.Say(c.reply)})
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("result (-want +got):\n%s", d)
			}
			if (c.problem == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), c.problem) {
				t.Errorf("error %v, want %q", err, c.problem)
			}
		})
	}
	for _, pattern := range []string{"(", "(a)(b)"} {
		t.Run("the regular expression "+pattern+" is refused", func(t *testing.T) {
			_, err := NewLoop(Config{SystemTemplate: "s", InstanceTemplate: "i", Actions: ActionForm{Kind: Text, Regex: pattern}})
			if fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), "action_regex") {
				t.Errorf("error %v, want a Usage fault with %q", err, "action_regex")
			}
		})
	}
	t.Run("the text form offers no tools and answers as the user", func(t *testing.T) {
		l := newLoop(t, func(c *Config) {
			c.Actions.Kind = Text
			c.FormatErrorTemplate = "{% if has_tool_calls %}x{% endif %}found {{ actions | length }} ({{ finish_reason }})"
		})
		m := &script{replies: []*llm.Response{say("```mswea_bash_command\na\n```\n```mswea_bash_command\nb\n```"), fence("ls"), fence(submit)}}
		end, err := l.Run(t.Context(), Turn{Model: m, Env: &env{outputs: submitting("p")}})
		if err != nil || end.Status != vocab.StatusSubmitted {
			t.Fatal(err)
		}
		if d := cmp.Diff([]string{"system", "user", "user", "assistant", "user", "assistant", "exit"}, roles(end.Messages)); d != "" {
			t.Errorf("roles of the messages (-want +got):\n%s", d)
		}
		if told := end.Messages[2]; told.Text() != "found 2 ()" || told.Extra["n_actions"] != 2 || told.Extra["model_response"] == "" {
			t.Errorf("the model received %+v, want text %q, n_actions 2, some model_response", told, "found 2 ()")
		}
	})
}

func TestAnEditIsRecordedWithItsArguments(t *testing.T) {
	l := newLoop(t, func(c *Config) { c.Actions.Kind = Tools })
	view := llm.ToolCall{ID: "1", Name: "editor", Arguments: `{"command":"view","path":"f"}`}
	end, err := l.Run(t.Context(), Turn{Model: &script{replies: []*llm.Response{say("", view, call("2", `{"command":"`+submit+`"}`))}}, Env: &env{outputs: submitting("p")}})
	if err != nil || !end.Submitted {
		t.Fatalf("got %+v, %v; want submitted true, no error", end, err)
	}
	actions := end.Messages[2].Extra["actions"].([]Action)
	if d := cmp.Diff(map[string]any{"command": "view", "path": "f"}, actions[0].Arguments); d != "" || actions[0].Tool != "editor" {
		t.Errorf("recorded %+v, want no difference, tool %q", actions[0], "editor")
	}
	if d := cmp.Diff(Action{Command: submit, CallID: "2"}, actions[1]); d != "" {
		t.Errorf("actions 1 (-want +got):\n%s", d)
	}
}

// A user's regular expression may backtrack without end.
func TestMatchingAnActionTimesOut(t *testing.T) {
	f, err := newForm(ActionForm{Kind: Text, Regex: "(?:a+a+)+c"})
	if err != nil {
		t.Fatal(err)
	}
	if limit := f.regex.MatchTimeout; limit <= 0 || limit > 10*time.Second {
		t.Errorf("it may take %v, want more than 0, at most %v", limit, 10*time.Second)
	}
	f.regex.MatchTimeout = 50 * time.Millisecond
	_, err = f.parse(llm.Message{Parts: llm.Say(strings.Repeat("a", 64) + "bc")})
	if bad, ok := errors.AsType[*badForm](err); !ok || !strings.Contains(bad.problem, "took too long") {
		t.Errorf("error %v, want a form error with %q", err, "took too long")
	}
}

// What a reply that was cut off asks for is not executed, even if it can be read.
func TestAReplyThatWasCutOffIsNotExecuted(t *testing.T) {
	for _, reason := range []string{"length", "max_tokens", "MAX_TOKENS", "incomplete", "model_context_window_exceeded"} {
		for name, c := range map[string]struct {
			change     func(*Config)
			cut, whole *llm.Response
		}{
			"a call":     {nil, ask("1", "rm -rf /testbed"), ask("2", submit)},
			"two calls":  {nil, say("", call("1", `{"command":"ls"}`), call("2", `{"command":"rm -rf /testbed"}`)), ask("3", submit)},
			"the editor": {func(c *Config) { c.Actions.Kind = Tools }, ask("1", "rm -rf /testbed"), ask("2", submit)},
			"text":       {func(c *Config) { c.Actions.Kind = Text }, fence("rm -rf /testbed"), fence(submit)},
		} {
			c.cut.FinishReason = reason
			m, e := &script{replies: []*llm.Response{c.cut, c.whole}}, &env{outputs: submitting("p")}
			end, err := newLoop(t, c.change).Run(t.Context(), Turn{Model: m, Env: e})
			if err != nil || end.Status != vocab.StatusSubmitted || !slices.Equal(e.ran, []string{submit}) {
				t.Fatalf("%s, %s: got %+v, %v, ran %q; want only the submission", name, reason, end, err, e.ran)
			}
			if said := m.asked[1][1].Text(); !strings.Contains(said, fmt.Sprintf("cut off (finish reason %q)", reason)) {
				t.Errorf("%s, %s: the model read %q, want the reason", name, reason, said)
			}
		}
	}
}

func TestElidedCharactersOfATruncatedOutputAreCounted(t *testing.T) {
	l := newLoop(t, func(c *Config) {
		c.Limits.Steps, c.ObservationTemplate = 1,
			"{{ output.output[:3] }} {{ output.output | length - 6 }} {{ output.output | count }} {{ output.output[-3:] }} {{ 'abé' | length }}"
	})
	bytes := []byte("éab" + strings.Repeat("é", 10) + "yz\xff")
	for total, want := range map[int64]string{
		int64(len(bytes)):        "éab 10 16 yz\ufffd 3",
		int64(len(bytes)) + 1000: "éab 1010 1016 yz\ufffd 3",
	} {
		e := &env{outputs: map[string]vocab.Output{"big": {Bytes: bytes, Total: total}}}
		end, err := l.Run(t.Context(), Turn{Model: &script{replies: []*llm.Response{ask("1", "big")}}, Env: e})
		if err != nil {
			t.Fatal(err)
		}
		if got := end.Messages[3].Text(); got != want {
			t.Errorf("of %d bytes the model saw %q, want %q", total, got, want)
		}
	}
}
