package chat

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestATypedLine(t *testing.T) {
	for _, c := range []struct {
		line  string
		asked Asked
		want  Input
		err   string
	}{
		{"", AskApprove, Input{Kind: Approve}, ""},
		{"  ", AskApprove, Input{Kind: Approve}, ""},
		{" too much ", AskApprove, Input{Kind: Reject, Text: "too much"}, ""},
		{"y", AskApprove, Input{Kind: Reject, Text: "y"}, ""},
		{"/y", AskApprove, Input{Kind: SetMode, Mode: Yolo}, ""},
		{"hello", AskWords, Input{Kind: Say, Text: "hello"}, ""},
		{"", AskWords, Input{Kind: Say}, ""},
		{"", AskComment, Input{Kind: Say}, ""},
		{"/m", AskWords, Input{Kind: History, N: 10}, ""},
		{"/m 3", AskWords, Input{Kind: History, N: 3}, ""},
		{"/m -3", AskWords, Input{}, "expected a number of messages"},
		{"/m all", AskCommand, Input{}, "expected a number of messages"},
		{"/k now", AskWords, Input{}, "/k takes nothing after it"},
		{"/x", AskWords, Input{}, "/x: no such command"},
		// In mode human, a line that begins with a slash may be a program.
		{"/usr/bin/env ls", AskCommand, Input{Kind: Command, Text: "/usr/bin/env ls"}, ""},
		{"/x", AskCommand, Input{Kind: Command, Text: "/x"}, ""},
		{"/c", AskCommand, Input{Kind: SetMode, Mode: Confirm}, ""},
		{"/etc/hosts is wrong", AskWords, Input{Kind: Say, Text: "/etc/hosts is wrong"}, ""},
	} {
		got, err := lineInput(c.line, Question{Asked: c.asked})
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%q at %s: %+v, %v; want an error with %q", c.line, c.asked, got, err, c.err)
			}
			continue
		}
		if err != nil || got != c.want {
			t.Errorf("%q at %s: %+v, %v; want %+v", c.line, c.asked, got, err, c.want)
		}
	}
}

func TestALineOfAProgram(t *testing.T) {
	for line, want := range map[string]Input{
		`{"say":" hello "}`:          {Kind: Say, Text: "hello"},
		`{"say":""}`:                 {Kind: Say},
		`{"approve":true}`:           {Kind: Approve},
		`{"reject":"no"}`:            {Kind: Reject, Text: "no"},
		`{"command":"ls"}`:           {Kind: Command, Text: "ls"},
		`{"interrupt":""}`:           {Kind: Interrupt},
		`{"mode":"human"}`:           {Kind: SetMode, Mode: Human},
		`{"history":5}`:              {Kind: History, N: 5},
		` {"diff":true} `:            {Kind: Diff},
		`{"save":true}`:              {Kind: Save},
		`{"end":true}`:               {Kind: End},
		`{"leave":true}`:             {Kind: Leave},
		`{"say":"\u001b[31m\u0000"}`: {Kind: Say, Text: "\x1b[31m\x00"},
	} {
		got, err := jsonInput([]byte(line))
		if err != nil || got != want {
			t.Errorf("%s: %+v, %v; want %+v", line, got, err, want)
		}
	}
	for line, want := range map[string]string{
		`hello`:                         "not a JSON object",
		`["say"]`:                       "not a JSON object",
		`null`:                          "0 members",
		`{}`:                            "0 members",
		`{"say":"a","end":true}`:        "2 members",
		`{"say":"a"}{"end":true}`:       "more than one JSON object",
		`{"say":"a"} x`:                 "more than one JSON object",
		`{"say":1}`:                     `"say": expected a text`,
		`{"command":" "}`:               `"command": expected a text`,
		`{"approve":false}`:             `"approve": expected true`,
		`{"approve":"yes"}`:             `"approve": expected true`,
		`{"mode":"often"}`:              "expected confirm, yolo or human",
		`{"mode":1}`:                    "expected confirm, yolo or human",
		`{"history":0}`:                 "1 or more",
		`{"history":1.5}`:               "1 or more",
		`{"history":99999999999999999}`: "",
		`{"help":true}`:                 "expected one of",
		`{"frob":true}`:                 "expected one of",
	} {
		got, err := jsonInput([]byte(line))
		if want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %+v, %v; want an error with %q", line, got, err, want)
		}
	}
}

// A program may send only the lines that the error lists as expected.
func FuzzALineOfAProgram(f *testing.F) {
	for _, line := range []string{`{"say":"a"}`, `{"mode":"yolo"}`, `{"history":3}`, `{"approve":true}`, "{}", "", `{"say":"a"}{}`} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		in, err := jsonInput(line)
		if err != nil {
			return
		}
		var members map[string]json.RawMessage
		if json.Unmarshal(line, &members) != nil || len(members) != 1 || members[string(in.Kind)] == nil {
			t.Errorf("%q is accepted as %+v", line, in)
		}
		if !strings.Contains(expected, `{"`+string(in.Kind)+`":`) {
			t.Errorf("%q is a kind that the error messages do not list", in.Kind)
		}
	})
}

// Whatever the person types, only an empty line lets an action run.
func FuzzATypedLine(f *testing.F) {
	for _, line := range []string{"", " ", "no", "/y", "/m 3", "/m", "/x", "/usr/bin/env", "\\"} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		in, err := lineInput(line, Question{Asked: AskApprove})
		if err == nil && in.Kind == Approve && strings.TrimSpace(line) != "" {
			t.Errorf("%q approves", line)
		}
		if in, err := lineInput(line, Question{Asked: AskCommand}); err == nil && in.Kind == Say {
			t.Errorf("%q is said, where a command is expected", line)
		}
	})
}
