package talk

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"batch.example/batch/e2e"
	"batch.example/batch/internal/tier"
	"batch.example/batch/vocab"
)

// filesAgent is the configuration of a program with files, and arguments of docker run.
const filesAgent = `agent:
  program:
    command: ["{{ files }}/%s", "{{ url }}", "{{ key }}", "{{ model }}"]
    files: %s
    stdin: "{{ task }}"
    wire: messages
environment:
  run_args: [%s]
`

func (p *programs) use(t *testing.T, program, files, args string) {
	t.Helper()
	e2e.WriteFiles(t, p.dir, map[string]string{"own.yaml": fmt.Sprintf(filesAgent, program, files, args)})
}

// removeFiles removes the volumes with files that no container uses at the end of the test.
func removeFiles(t *testing.T) {
	e := e2e.Connect(t)
	t.Cleanup(func() {
		if _, err := e.RemoveFiles(context.Background()); err != nil {
			t.Error(err)
		}
	})
}

// A folder or an image brings the program into any container: whose user is not root, whose image is read-only,
// and where nothing in /tmp, its home, may be executed.
func TestTheFilesOfAProgram(t *testing.T) {
	tier.Rest(t, "sandbox/engine/files", "docker/containers/files.go", "run/agentfiles.go", "attempt/program.go")
	removeFiles(t)
	own := newPrograms(t, "", works)
	image := "batch-e2e-agent:" + strings.ToLower(rand.Text())
	pack := exec.CommandContext(t.Context(), "bash", "-c", "tar -C bin -c agent | docker import - "+image)
	pack.Dir = own.dir
	if out, err := pack.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Cleanup(func() { e2e.RemoveImage(t, image) })
	for name, tt := range map[string]struct {
		files, args string
		readOnly    bool // the repository is, for the program
	}{
		"folder":       {files: "./bin"},
		"image":        {files: image},
		"noexec":       {files: "./bin", args: `--tmpfs, "/tmp:noexec,mode=1777"`},
		"read-only":    {files: "./bin", args: "--read-only, --tmpfs, /tmp", readOnly: true},
		"another user": {files: "./bin", args: `-u, "1000", -e, GIT_CONFIG_COUNT=1, -e, GIT_CONFIG_KEY_0=safe.directory, -e, GIT_CONFIG_VALUE_0=*`, readOnly: true},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPrograms(t, "", works)
			p.use(t, "agent", tt.files, tt.args)
			var more []string
			if tt.readOnly {
				more = []string{"--keep-git-history"}
			}
			if code, out := p.run(t, more...); code != 0 {
				t.Fatalf("exit code %d\n%s", code, out)
			}
			rec := e2e.Record(t, p.dir)
			patch := e2e.Predictions(t, filepath.Join(p.dir, "out"))["demo__slug-1"]
			if rec.Status != vocab.StatusSubmitted || rec.Steps != 2 || strings.Contains(patch, "+hello") == tt.readOnly {
				t.Errorf("%s, %d steps, %s, patch\n%s", rec.Status, rec.Steps, rec.Error, patch)
			}
		})
	}
}

// A program that is there and whose loader or interpreter is not: a shell says only that something was not found.
func TestAProgramForAnotherLibrary(t *testing.T) {
	tier.Rest(t, "attempt/program.go")
	removeFiles(t)
	elf, err := os.ReadFile("/bin/true")
	if err != nil {
		t.Fatal(err)
	}
	other := bytes.Replace(elf, []byte("/ld-linux"), []byte("/ld-other"), 1)
	if bytes.Equal(elf, other) {
		t.Skip("/bin/true of this machine is not for ld-linux")
	}
	for name, tt := range map[string]struct{ program, lacks string }{
		"elf":    {string(other), "/ld-other-"},
		"script": {"#!/no/such/node\n", "/no/such/node"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPrograms(t, "", works)
			if err := os.WriteFile(filepath.Join(p.dir, "bin", "other"), []byte(tt.program), 0o755); err != nil {
				t.Fatal(err)
			}
			p.use(t, "other", "./bin", "")
			_, out := p.run(t, "--retry", "transient=0")
			rec := e2e.Record(t, p.dir)
			if rec.Status != vocab.StatusTransientFault || !strings.Contains(rec.Error, "/other exists, but the image has no ") || !strings.Contains(rec.Error, tt.lacks) {
				t.Errorf("%s: %s\n%s", rec.Status, rec.Error, out)
			}
		})
	}
}

// Files with which the program cannot work are refused before anything begins.
func TestFilesThatAreRefused(t *testing.T) {
	tier.Rest(t, "sandbox/mounts.go", "run/agentfiles.go", "agent/config/program.go")
	for name, tt := range map[string]struct{ program, files, want string }{
		"no folder":        {"agent", "./absent", "agent.program.files: reading the files in ./absent"},
		"no program":       {"agnet", "./bin", "/bin has no agnet, which agent.program.command starts"},
		"no executable":    {"data", "./bin", "data in "},
		"the run":          {"agent", ".", "to the containers"},
		"a home":           {"agent", "~/bin", "expected a folder that begins with / or ./"},
		"files, but none":  {"agent", `""`, "files"},
		"the whole system": {"agent", "/proc", "agent.program.files"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPrograms(t, "", works)
			err := errors.Join(os.WriteFile(filepath.Join(p.dir, "bin", "data"), nil, 0o600), os.Link(filepath.Join(p.dir, "bin", "agent"), filepath.Join(p.dir, "agent")))
			if err != nil {
				t.Fatal(err)
			}
			p.use(t, tt.program, tt.files, "")
			code, out := p.run(t)
			if code != e2e.ExitUsage || !strings.Contains(out, tt.want) {
				t.Errorf("exit code %d, want %d and %q\n%s", code, e2e.ExitUsage, tt.want, out)
			}
			if n := len(p.stub.Requests()); n > 0 {
				t.Errorf("%d requests", n)
			}
		})
	}
}
