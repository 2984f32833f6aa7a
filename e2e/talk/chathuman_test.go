package talk

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"batch.example/batch/e2e"
	"batch.example/batch/internal/tier"
)

// A command of the person's own that they have interrupted is not offered to them again: they
// are asked for the next one.
func TestAnInterruptedOwnCommandIsNotOfferedAgain(t *testing.T) {
	tier.Rest(t, "attempt/chat", "attempt/session", "attempt/*.go", "agent/*.go", "journal", "cmd/batch/chat*.go")
	e2e.NeedDocker(t)
	t.Parallel()
	for _, comment := range []string{"", "try less"} {
		dir := t.TempDir()
		k := startTalk(t, dir, "--subset", "demo", "demo__slug-1", "-m", "noop", "--mode", "human", "-o", "talk")
		said, commands := []string{}, []string{`{"command":"touch began; sleep 300"}`, `{"command":"ls began"}`, `{"end":true}`}
		for k.lines.Scan() {
			var e struct{ Event, Asked, Command string }
			if err := json.Unmarshal(k.lines.Bytes(), &e); err != nil {
				t.Fatal(err)
			}
			said = append(said, k.lines.Text())
			answer := ""
			switch {
			case e.Asked == "command":
				answer, commands = commands[0], commands[1:]
			case e.Asked == "comment":
				answer = `{"say":""}`
			case e.Asked != "": // the command that was stopped
				answer = `{"end":true}`
			case e.Event == "tool_call" && strings.Contains(e.Command, "sleep"):
				answer = fmt.Sprintf(`{"interrupt":%q}`, comment)
			}
			if answer != "" {
				fmt.Fprintln(k.in, answer)
			}
		}
		if err := k.cmd.Wait(); err != nil {
			t.Errorf("%v\n%s", err, strings.Join(said, "\n"))
		}
		if all := strings.Join(said, "\n"); strings.Contains(all, `"asked":"approve"`) || len(commands) > 0 {
			t.Errorf("a comment of %q: the command that was stopped is offered again\n%s", comment, all)
		}
		text, err := os.ReadFile(filepath.Join(dir, "talk", "demo__slug-1", "demo__slug-1.traj.json"))
		if want := map[bool]string{true: "The user interrupted", false: comment}[comment == ""]; err != nil || !strings.Contains(string(text), want) {
			t.Errorf("the trajectory lacks %q (%v)", want, err)
		}
	}
}
