package talk

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"batch.example/batch/e2e"
)

// A command of the person's own that they have interrupted is not offered to them again: they
// are asked for the next one.
func TestAnInterruptedOwnCommandIsNotOfferedAgain(t *testing.T) {
	e2e.NeedDocker(t)
	t.Parallel()
	for _, comment := range []string{"", "try less"} {
		dir := t.TempDir()
		cmd := e2e.Batch(t, dir, "chat", "--subset", "demo", "demo__slug-1", "-m", "noop", "--mode", "human", "--no-tty", "-o", "talk")
		cmd.Stderr = os.Stderr
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		said, commands := []string{}, []string{`{"command":"touch began; sleep 300"}`, `{"command":"ls began"}`, `{"end":true}`}
		for lines.Scan() {
			var e struct{ Event, Asked, Command string }
			if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
				t.Fatal(err)
			}
			said = append(said, lines.Text())
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
				fmt.Fprintln(in, answer)
			}
		}
		if err := cmd.Wait(); err != nil {
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
