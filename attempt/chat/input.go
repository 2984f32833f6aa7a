package chat

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Mode decides who approves or chooses actions.
type Mode string

// The modes, as in mini-swe-agent.
const (
	Confirm Mode = "confirm" // each action waits for the person
	Yolo    Mode = "yolo"    // actions run at once
	Human   Mode = "human"   // the person writes the commands
)

// ParseMode reads the name of a mode.
func ParseMode(name string) (Mode, error) {
	switch m := Mode(name); m {
	case Confirm, Yolo, Human:
		return m, nil
	}
	return "", fmt.Errorf("%q: expected confirm, yolo or human", name)
}

// Asked names a kind of question.
type Asked string

// The kinds of questions.
const (
	AskWords   Asked = "words"   // what the agent should do next
	AskApprove Asked = "approve" // whether an action may run
	AskCommand Asked = "command" // a command, in mode human
	AskComment Asked = "comment" // something about an interruption
)

// Question is a question to the person.
type Question struct {
	Asked Asked
	Retry bool // for AskWords: an empty answer tries the last turn again

	// For AskApprove: the action. Arguments has the call's arguments if Command does not.
	Tool      string
	Command   string
	Arguments map[string]any
}

// Kind names the meaning of an [Input].
type Kind string

// The kinds of inputs. Inputs after Leave are handled at once, and the question is asked again.
const (
	Say       Kind = "say"       // Text is a message; an empty one continues
	Approve   Kind = "approve"   // the action runs
	Reject    Kind = "reject"    // the action does not run; Text says why
	Command   Kind = "command"   // Text runs as a command, in mode human
	Interrupt Kind = "interrupt" // the agent stops and reads Text
	SetMode   Kind = "mode"      // the mode becomes Mode
	End       Kind = "end"       // the conversation ends with a result
	Leave     Kind = "leave"     // it may be continued later
	Save      Kind = "save"      // the diff becomes the prediction when the conversation ends
	Diff      Kind = "diff"
	History   Kind = "history" // the last N messages
	Help      Kind = "help"
)

// Input is an input from the person.
type Input struct {
	Kind Kind
	Text string
	Mode Mode
	N    int
}

// history is the default number of messages that are shown.
const history = 10

// lineInput reads a line that a person typed as the answer to q.
func lineInput(line string, q Question) (Input, error) {
	text := strings.TrimSpace(line)
	if word, rest, _ := strings.Cut(text, " "); strings.HasPrefix(word, "/") && !strings.Contains(word[1:], "/") {
		if in, known, err := slash(word, strings.TrimSpace(rest)); known || q.Asked != AskCommand {
			return in, err
		}
	}
	switch q.Asked {
	case AskApprove:
		if text == "" {
			return Input{Kind: Approve}, nil
		}
		return Input{Kind: Reject, Text: text}, nil
	case AskCommand:
		return Input{Kind: Command, Text: text}, nil
	default:
		return Input{Kind: Say, Text: text}, nil
	}
}

// slashes are the commands that begin with a slash.
var slashes = map[string]Input{
	"/c": {Kind: SetMode, Mode: Confirm}, "/y": {Kind: SetMode, Mode: Yolo}, "/u": {Kind: SetMode, Mode: Human},
	"/h": {Kind: Help}, "/d": {Kind: Diff}, "/m": {Kind: History, N: history}, "/s": {Kind: Save}, "/k": {Kind: End}, "/q": {Kind: Leave},
}

func slash(word, rest string) (in Input, known bool, err error) {
	in, known = slashes[word]
	switch {
	case !known:
		return in, false, fmt.Errorf("%s: no such command; /h lists them", word)
	case rest == "":
		return in, true, nil
	case in.Kind != History:
		return in, true, fmt.Errorf("%s takes nothing after it", word)
	}
	if in.N, err = strconv.Atoi(rest); err != nil || in.N < 1 {
		return in, true, fmt.Errorf("/m %s: expected a number of messages", rest)
	}
	return in, true, nil
}

// expected describes the lines that a program may send.
const expected = `expected one of {"say":"..."}, {"approve":true}, {"reject":"why"}, {"command":"..."}, {"interrupt":"comment"}, ` +
	`{"mode":"confirm|yolo|human"}, {"diff":true}, {"history":5}, {"save":true}, {"end":true}, {"leave":true}`

// jsonInput reads a line of a program.
func jsonInput(line []byte) (Input, error) {
	d := json.NewDecoder(bytes.NewReader(line))
	var members map[string]any
	d.UseNumber()
	if err := d.Decode(&members); err != nil {
		return Input{}, fmt.Errorf("not a JSON object: %s", expected)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return Input{}, fmt.Errorf("more than one JSON object in a line: %s", expected)
	}
	if len(members) != 1 {
		return Input{}, fmt.Errorf("%d members: %s", len(members), expected)
	}
	for name, value := range members {
		in, err := member(Kind(name), value)
		if err != nil {
			return Input{}, fmt.Errorf("%q: %w", name, err)
		}
		return in, nil
	}
	return Input{}, errors.New(expected)
}

func member(name Kind, value any) (in Input, err error) {
	in.Kind = name
	switch name {
	case Say, Reject, Command, Interrupt:
		text, ok := value.(string)
		if !ok || strings.TrimSpace(text) == "" && name == Command {
			return in, errors.New("expected a text")
		}
		in.Text = strings.TrimSpace(text)
	case SetMode:
		text, _ := value.(string)
		in.Mode, err = ParseMode(text)
	case History:
		n, _ := value.(json.Number)
		if in.N, err = strconv.Atoi(n.String()); err != nil || in.N < 1 {
			return in, errors.New("expected a number of messages, 1 or more")
		}
	case Approve, End, Leave, Save, Diff:
		if value != true {
			return in, errors.New("expected true")
		}
	default:
		return in, errors.New(expected)
	}
	return in, err
}
