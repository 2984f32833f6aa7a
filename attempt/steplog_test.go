package attempt

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"batch.example/batch/agent"
	"batch.example/batch/internal/mask"
	"batch.example/batch/llm"
	"batch.example/batch/vocab"
)

func TestTheStepLogIsReadable(t *testing.T) {
	var b strings.Builder
	l := stepLog{&b, func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }, nil}
	var many strings.Builder
	for i := range 30 {
		fmt.Fprintf(&many, "line %d\n", i+1)
	}
	says := llm.Message{Role: llm.RoleAssistant, Parts: llm.Say("I look.\n\n```bash\nls\n```")}
	l.reply(agent.Event{Step: 1, Latency: 4123 * time.Millisecond, Response: &llm.Response{
		Message: says, Cost: 0.0022, Usage: vocab.Usage{Input: 1488, Output: 49}, Waited: 2 * time.Second,
	}})
	l.command(agent.Event{Step: 1, Command: "ls\nls -l"})
	l.output(agent.Event{Step: 1, Output: &vocab.Output{Bytes: []byte(many.String()), Total: 231, ExitCode: 1, Duration: 12 * time.Millisecond}})
	l.output(agent.Event{Step: 2, Output: &vocab.Output{ExitCode: -1, TimedOut: true, Duration: time.Minute}})
	l.output(agent.Event{Step: 3, Output: &vocab.Output{Bytes: []byte(vocab.Marker + "\npatch"), Total: 43}})
	l.output(agent.Event{Step: 4, Output: &vocab.Output{Bytes: []byte(strings.Repeat("x", 310)), Total: 310}})
	l.command(agent.Event{Step: 5, Tool: "notes__add", Arguments: map[string]any{"text": "a\nb"}})
	want := `03:04:05 step 1: the model answered in 4.1s, 2s of it waiting ($0.0022, 1488 tokens in, 49 out)
    I look.
03:04:05 step 1: command
    $ ls
    ls -l
03:04:05 step 1: exit 1 after 12ms, 231 bytes of output
    | line 1
    | line 2
    | line 3
    | line 4
    | line 5
    | line 6
    | ... 20 lines hidden ...
    | line 27
    | line 28
    | line 29
    | line 30
03:04:05 step 2: timed out after 1m0s, 0 bytes of output
03:04:05 step 3: exit 0 after 0s, 43 bytes of output
03:04:05 step 4: exit 0 after 0s, 310 bytes of output
    | ` + strings.Repeat("x", 300) + ` ... 10 characters hidden
03:04:05 step 5: calling notes__add
    {"text":"a\nb"}
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("result (-want +got):\n%s", diff)
	}
}

func TestTheStepLogHidesSecretsThatAreTruncated(t *testing.T) {
	const secret = "sk-proj-4tR9wQ2zK7mX5vB8"
	var b strings.Builder
	m := mask.New(mask.Secret{Name: "KEY", Value: secret}, mask.Secret{Name: "PEM", Value: "first half\nsecond half"})
	log := m.Writer(&b) // as in a run
	l := stepLog{log, time.Now, m}
	long := strings.Repeat("x", loggedLine-9) + " " + secret + " and more"
	many := strings.Repeat("line\n", loggedHead-1) + "first half\nsecond half\n" + strings.Repeat("line\n", 20)
	l.reply(agent.Event{Step: 1, Response: &llm.Response{Message: llm.Message{Role: llm.RoleAssistant, Parts: llm.Say(long)}}})
	l.command(agent.Event{Step: 1, Command: "echo " + long[5:]})
	l.output(agent.Event{Step: 1, Output: &vocab.Output{Bytes: []byte(long)}})
	l.output(agent.Event{Step: 2, Output: &vocab.Output{Bytes: []byte(many)}})
	if err := log.Flush(); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{secret[:4], "first half"} {
		if strings.Contains(b.String(), part) {
			t.Errorf("%q is in the log:\n%s", part, b.String())
		}
	}
	if n := strings.Count(b.String(), mask.Hidden); n != 4 {
		t.Errorf("%d secrets are hidden in the log, want 4:\n%s", n, b.String())
	}
}

func TestAFailureThatRepeatsIsReportedOnce(t *testing.T) {
	full := errors.New("writing a journal: no space left on device")
	late := fmt.Errorf("model call 2: %w", full)
	for want, err := range map[string]error{
		full.Error():                       joined(full, full),
		late.Error():                       joined(late, full),
		full.Error() + "\nb":               joined(full, errors.New("b")),
		full.Error() + "\n" + full.Error(): joined(full, errors.New(full.Error())),
		"b":                                joined(nil, errors.New("b")),
	} {
		if err.Error() != want {
			t.Errorf("%q, want %q", err, want)
		}
	}
}
