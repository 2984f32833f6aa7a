package chat

import (
	"strings"
	"testing"

	"batch.example/batch/agent"
	"batch.example/batch/attempt/session"
	"batch.example/batch/journal"
	"batch.example/batch/llm"
	"batch.example/batch/vocab"
)

func onTerminal(show func(Face)) string {
	var out strings.Builder
	show(NewTerminal(TerminalConfig{Out: &out}))
	return out.String()
}

// Text from a model or a command cannot control the terminal.
func TestNothingControlsTheTerminal(t *testing.T) {
	evil := "\x1b]0;title\x07\x1b[2Jx\rrun it?\u202e"
	got := onTerminal(func(f Face) {
		f.Opened(Opened{Instance: evil, Image: evil, Model: evil, Resumed: true, Differences: []Difference{{1, evil, 0, evil}}})
		f.Event(agent.Event{Type: agent.EventReply, Response: &llm.Response{Message: llm.Message{Parts: llm.Say(evil)}}})
		f.Event(agent.Event{Type: agent.EventAction, Tool: evil, Command: evil})
		f.Event(agent.Event{Type: agent.EventOutput, Output: &vocab.Output{Bytes: []byte(evil)}})
		f.Event(agent.Event{Type: agent.EventRepeat, Repeat: &llm.Repeat{Reason: evil}})
		f.Ended(&session.Result{End: journal.TurnInputRequired, Question: evil})
		f.Ended(&session.Result{End: journal.TurnFailed, Error: evil})
		f.Ask(Question{Asked: AskApprove, Tool: evil, Arguments: map[string]any{evil: evil}})
		f.Diff([]byte(evil))
		f.Note(evil)
		var m session.Message
		m.Role, m.Parts = evil, llm.Say(evil)
		f.History([]session.Message{m})
	})
	if i := strings.IndexAny(got, "\x1b\x07\r\u202e"); i >= 0 {
		t.Errorf("%q is printed in %q", got[i], got)
	}
}

// A call without a command is shown with its arguments, once.
func TestACallIsShownWithItsArguments(t *testing.T) {
	arguments := map[string]any{"path": "a b", "deep": map[string]any{"n": 1}}
	got := onTerminal(func(f Face) {
		f.Ask(Question{Asked: AskApprove, Tool: "mcp_files_read", Arguments: arguments})
		f.Event(agent.Event{Type: agent.EventAction, Tool: "mcp_files_read", Arguments: arguments})
		f.Event(agent.Event{Type: agent.EventAction, Tool: "other", Arguments: arguments})
	})
	if strings.Count(got, `"path": "a b"`) != 2 || strings.Count(got, "mcp_files_read> {") != 1 || !strings.Contains(got, "other> {") {
		t.Errorf("got %s; want each of two calls once, with arguments", got)
	}
}

func TestALongOutputIsShortened(t *testing.T) {
	lines := strings.Repeat("line\n", 1000)
	if got := shorten(lines); strings.Count(got, "\n") != outputLines+1 || !strings.Contains(got, "... 900 lines not shown ...") {
		t.Errorf("got %d lines; want %d", strings.Count(got, "\n"), outputLines+1)
	}
	if got := shorten(strings.Repeat("é", outputBytes)); len(got) > outputBytes+100 || !strings.Contains(got, "bytes not shown") || strings.Contains(got, "\ufffd") {
		t.Errorf("got %d bytes; want about %d, whole characters", len(got), outputBytes)
	}
	if shorten("\n") != "" || shorten("a") != "a\n" {
		t.Errorf("got %q, %q; want nothing, a line", shorten("\n"), shorten("a"))
	}
}

// The screen says what will happen to an interrupted action, and exactly this happens.
func TestWhatWasCutOffIsSaidAndDone(t *testing.T) {
	const (
		stays  = "It does not start again; it continues in the container, or has ended there: its result comes first."
		repeat = "In mode yolo it starts again when you continue, since its container is gone."
		lost   = " it does not start again; what it did is not known."
	)
	command, tool := Cut{Command: "make"}, Cut{Tool: "mcp_files_read", Lost: true}
	gone := Cut{Command: "make", Lost: true}
	for _, c := range []struct {
		cut     Cut
		mode    Mode
		said    string
		unknown bool
	}{
		{command, Confirm, stays, false},
		{command, Yolo, stays, false},
		{gone, Yolo, repeat, false},
		{gone, Confirm, "In mode confirm" + lost, true},
		{gone, Human, "In mode human" + lost, true},
		{tool, Yolo, "In mode yolo" + lost, true},
		{tool, Confirm, "In mode confirm" + lost, true},
	} {
		got := onTerminal(func(f Face) { f.Opened(Opened{Resumed: true, Mode: c.mode, Cut: &c.cut}) })
		if want := "batch was ended while this ran. " + c.said + "\n  " + c.cut.Command + c.cut.Tool + "\n"; !strings.Contains(got, want) {
			t.Errorf("%+v in mode %s: got %s; want %s", c.cut, c.mode, got, want)
		}
		chat := Chat{mode: c.mode, cut: &c.cut}
		if err := chat.begun(agent.Call{Command: c.cut.Command}, ""); (err != nil) != c.unknown {
			t.Errorf("%+v in mode %s: got %v; want unknown %t", c.cut, c.mode, err, c.unknown)
		}
	}
}

// A backslash continues a line. It is removed from words, but kept in a command for bash.
func TestALineThatContinues(t *testing.T) {
	f := NewTerminal(TerminalConfig{})
	if _, more, _ := f.Parse(`a \`, Question{Asked: AskWords}); !more {
		t.Error("a line with a backslash at its end is taken as whole")
	}
	for asked, want := range map[Asked]string{AskWords: "a \nb", AskCommand: "a \\\nb"} {
		if in, more, err := f.Parse("a \\\nb", Question{Asked: asked}); in.Text != want || more || err != nil {
			t.Errorf("%s: %q, %v, %v; want %q", asked, in.Text, more, err, want)
		}
	}
}

func TestTheHistoryIsWhatWasSent(t *testing.T) {
	message := func(role, text string) (m session.Message) {
		m.Role, m.Parts = role, llm.Say(text)
		return m
	}
	list := []session.Message{message(llm.RoleUser, "a"), message(llm.RoleExit, "Answered"), message(llm.RoleUser, "b"), message(llm.RoleAssistant, "c")}
	if got := last(2, list); len(got) != 2 || got[0].Text() != "b" {
		t.Errorf("got %v; want b, c", got)
	}
	if got := last(9, nil); len(got) != 0 {
		t.Errorf("got %v; want nothing", got)
	}
}
