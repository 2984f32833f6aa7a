package sandbox

import (
	"fmt"
	"strings"
	"testing"

	"batch.example/batch/dataset"
	"batch.example/batch/fault"
	"batch.example/batch/internal/bash"
	"batch.example/batch/internal/tier"
)

// A command's output begins with the command's own text, without the text that the shell
// prints before it. If that is impossible, CheckShell fails.
func TestWhatTheShellPrintsIsNotACommandsOutput(t *testing.T) {
	tier.Rest(t)
	const startFile = "BASH_ENV=/tmp/start"
	for name, c := range map[string]struct {
		env         []string
		user        string
		interpreter []string
		start       string // content of /tmp/start
		preamble    string // contained in it
		refused     string // contained in the error
	}{
		"nothing":                   {},
		"a start file of root":      {env: []string{"BASH_ENV=/root/.bashrc"}, user: "65534:65534"},
		"no such start file":        {env: []string{"BASH_ENV=/none"}},
		"a locale of another image": {env: []string{"LC_ALL=xx_YY.UTF-8"}, preamble: "cannot change locale (xx_YY.UTF-8)"},
		"a start file that prints":  {env: []string{startFile}, start: "echo Welcome; echo to you", preamble: "Welcome\nto you\n"},
		"without an end of line":    {env: []string{startFile}, start: "printf 'Welcome '", preamble: "Welcome "},
		"another text each time":    {env: []string{startFile}, start: "echo $RANDOM$RANDOM$RANDOM", refused: ", then \""},
		"a text at the end":         {env: []string{startFile}, start: "trap 'echo bye' EXIT", refused: `bye\n"`},
		"a start file that ends":    {env: []string{startFile}, start: "echo no; exit 3", refused: `exit code 3, output "no\n"`},
		"a missing library":         {env: []string{"LD_PRELOAD=/none.so"}, refused: "object '/none.so' from LD_PRELOAD cannot be preloaded"},
		"a trace":                   {env: []string{"SHELLOPTS=xtrace"}, refused: "+ echo batch-shell"},
		"sh":                        {interpreter: []string{"sh", "-c"}},
		"another interpreter":       {interpreter: []string{"python3", "-c"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, fresh := range []bool{false, true} {
				s := testHost(t, func(o *Config) {
					o.Env, o.Interpreter, o.Fresh, o.Container.User = c.env, c.interpreter, fresh, c.user
				})
				in := demoInstances(t)[0]
				in.ID = fmt.Sprintf("%s %v", strings.ReplaceAll(name, " ", "-"), fresh)
				b := s.open(t, Opening{Instance: dataset.Instance{ID: in.ID, Image: in.ImageName("")}})
				if c.start != "" {
					if out, err := b.Execute(t.Context(), "", "echo "+bash.Quote(c.start)+" > /tmp/start"); err != nil || out.ExitCode != 0 {
						t.Fatal(out, err)
					}
				}
				preamble, err := b.CheckShell(t.Context())
				if c.refused != "" {
					if fault.KindOf(err) != fault.Instance || !strings.Contains(err.Error(), c.refused) {
						t.Errorf("got %v; want an Instance fault with %q", err, c.refused)
					}
					continue
				}
				if err != nil || !strings.Contains(string(preamble), c.preamble) || (len(preamble) > 0) != (c.preamble != "") {
					t.Fatalf("got %q, %v; want %q, no error", preamble, err, c.preamble)
				}
				if len(c.interpreter) > 0 {
					continue
				}
				out, err := b.Execute(t.Context(), "", "printf 'mine\\xff\n'; bash -pc :")
				if err != nil || string(out.Bytes[:6]) != "mine\xff\n" || out.Total != int64(len(out.Bytes)) {
					t.Errorf("got %+v, %v; want the command's own output", out, err)
				}
			}
		})
	}
}
