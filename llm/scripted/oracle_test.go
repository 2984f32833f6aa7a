package scripted_test

import (
	"bytes"
	"context"
	"encoding/json"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"batch.example/batch/fault"
	"batch.example/batch/llm"
	"batch.example/batch/llm/scripted"
)

const sentinel = "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT\n"

var fenceForm = regexp.MustCompile("(?s)```mswea_bash_command\\s*\n(.*?)\n```")

// command returns a reply's command, like an agent.
func command(t *testing.T, msg llm.Message, tools bool) string {
	t.Helper()
	if !tools {
		found := fenceForm.FindAllStringSubmatch(msg.Text(), -1)
		if len(found) != 1 {
			t.Fatalf("%d fenced commands in a reply, want one", len(found))
		}
		return strings.TrimSpace(found[0][1])
	}
	var args struct{ Command string }
	if len(msg.ToolCalls()) != 1 || json.Unmarshal([]byte(msg.ToolCalls()[0].Arguments), &args) != nil {
		t.Fatalf("tool calls %+v, want one with a command", msg.ToolCalls())
	}
	return args.Command
}

// agent runs a model's commands in dir until it submits or fails.
func agent(t *testing.T, m *scripted.Model, dir string, tools bool) ([]byte, error) {
	t.Helper()
	req := &llm.Request{}
	if tools {
		req = withTools
	}
	tmp := t.TempDir()
	for {
		resp, err := m.Generate(t.Context(), req)
		if err != nil {
			return nil, err
		}
		text := command(t, resp.Message, tools)
		if len(text) > 120<<10 {
			t.Fatalf("a command of %d bytes, want values at most %v", len(text), 120<<10)
		}
		out, ok := bash(t.Context(), dir, tmp, text)
		if rest, found := bytes.CutPrefix(out, []byte(sentinel)); found && ok {
			return rest, nil
		}
	}
}

// bash runs a command in dir. It replaces /tmp by tmp, because other tests on this machine write the same
// files to /tmp.
func bash(ctx context.Context, dir, tmp, text string) ([]byte, bool) {
	c := exec.CommandContext(ctx, "bash", "-c", strings.ReplaceAll(text, "/tmp/batch-gold-", tmp+"/batch-gold-"))
	c.Dir = dir
	out, err := c.CombinedOutput()
	return out, err == nil
}

func needTools(t *testing.T) {
	t.Helper()
	for _, name := range []string{"bash", "git"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skip("needs " + name)
		}
	}
}

// repo makes a git working tree that holds the files.
func repo(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	git(t, dir, "init", "-q")
	git(t, dir, "add", "-A")
	git(t, dir, "commit", "-q", "-m", "base")
	return dir
}

func git(t *testing.T, dir string, args ...string) []byte {
	t.Helper()
	config := []string{"-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "core.autocrlf=false"}
	c := exec.CommandContext(t.Context(), "git", append(config, args...)...)
	c.Dir = dir
	var errs bytes.Buffer
	c.Stderr = &errs
	out, err := c.Output()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, errs.Bytes())
	}
	return out
}

// goldPatch makes a repo with the old files, and a patch that turns them into the new ones.
func goldPatch(t *testing.T, before, after string) (dir string, patch []byte) {
	t.Helper()
	dir = repo(t, map[string]string{"f.txt": before})
	if err := os.WriteFile(filepath.Join(dir, "f.txt"), []byte(after), 0o600); err != nil {
		t.Fatal(err)
	}
	patch = git(t, dir, "diff", "--text")
	git(t, dir, "checkout", "-q", ".")
	return dir, patch
}

func TestOracleSolves(t *testing.T) {
	needTools(t)
	large := strings.Repeat("int main(void) { return '\\0' < 1 ? `x` : \"%s\\n\"; }\n", 2<<20/54)
	tests := []struct{ name, before, after string }{
		{"plain text", "a\nb\nc\n", "a\nB\nc\n"},
		{"quotes, escapes and fences", "x\n", "'\\''\n```\n```mswea_bash_command\nls\n```\n</mswea_bash_command>\n%b \\c \\0101 $HOME !x\n"},
		{"CRLF", "a\r\nb\r\nc\r\n", "a\r\nb2\r\nc\r\n"},
		{"latin-1", "caf\xe9\nb\n", "caf\xe9\n\xff\xfe\x80\nb\n"},
		{"no newline at the end", "a\nb", "a\nb2"},
		{"white space at both ends", "\n\n a\n", "\n\n \t a \t\n\n\n"},
		{"2 MB", "x\n", large},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, tools := range []bool{false, true} {
				if tools && len(tt.after) > 1<<20 {
					continue // only a fence could break
				}
				dir, patch := goldPatch(t, tt.before, tt.after)
				got, err := agent(t, scripted.Oracle(patch, scripted.Config{}), dir, tools)
				if err != nil || !bytes.Equal(got, patch) {
					t.Fatalf("tools %v: submitted %d bytes, want the %d of the patch; %v", tools, len(got), len(patch), err)
				}
				after, err := os.ReadFile(filepath.Join(dir, "f.txt"))
				if err != nil || string(after) != tt.after {
					t.Errorf("tools %v: the working tree differs from the patched one (error %v)", tools, err)
				}
			}
		})
	}
}

// The commands that write the patch must be exact for any bytes; only then is
// applying it left to git.
func TestOracleWritesAnyBytesExactly(t *testing.T) {
	needTools(t)
	random := make([]byte, 100<<10)
	r := rand.NewChaCha8([32]byte{1})
	_, _ = r.Read(random)
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	for name, data := range map[string][]byte{
		"random bytes": random, "every byte": every, "digits after escapes": []byte("\x001\x0177\\n7\n7\t0"),
		"only NUL": make([]byte, 5000), "one byte": {'x'}, "empty": {}, "newlines": []byte("\n\n\n"),
	} {
		t.Run(name, func(t *testing.T) {
			m := scripted.Oracle(data, scripted.Config{})
			tmp := t.TempDir()
			for m.Left() > 2 { // all commands before the two that apply and submit
				resp, err := m.Generate(t.Context(), &llm.Request{})
				if err != nil {
					t.Fatal(err)
				}
				text := command(t, resp.Message, false)
				if strings.ContainsAny(text, "`<") && name == "every byte" {
					t.Error("the command may contain a fence or a tag")
				}
				if out, ok := bash(t.Context(), t.TempDir(), tmp, text); !ok || len(out) > 0 {
					t.Fatalf("writing said %q, want ok true, no output", out)
				}
			}
			written, err := filepath.Glob(tmp + "/batch-gold-*.patch")
			if err != nil || len(written) != 1 {
				t.Fatalf("wrote %q, %v; want 1 written, no error", written, err)
			}
			if got, err := os.ReadFile(written[0]); err != nil || !bytes.Equal(got, data) {
				t.Errorf("wrote %d bytes, want these %d; %v", len(got), len(data), err)
			}
		})
	}
}

func TestOracleSaysWhenThePatchDoesNotApplyAndLeavesNoConflict(t *testing.T) {
	needTools(t)
	before := "1\n2\n3\n4\n5\n6\n"
	dir, patch := goldPatch(t, before, strings.Replace(before, "3", "three", 1))
	other := strings.Replace(before, "3", "other", 1)
	if err := os.WriteFile(filepath.Join(dir, "f.txt"), []byte(other), 0o600); err != nil {
		t.Fatal(err)
	}
	git(t, dir, "commit", "-qam", "other")
	for range 2 { // files of an earlier run must not count
		got, err := agent(t, scripted.Oracle(patch, scripted.Config{}), dir, true)
		if fault.KindOf(err) != fault.Instance || !strings.Contains(err.Error(), "gold patch does not apply") {
			t.Errorf("submitted %q, error %v; want an Instance fault with %q", got, err, "gold patch does not apply")
		}
		if after, err := os.ReadFile(filepath.Join(dir, "f.txt")); err != nil || string(after) != other {
			t.Errorf("the file holds %q, want %q; %v", after, other, err)
		}
	}
}

func TestOracleFallsBack(t *testing.T) {
	needTools(t)
	context := "1\n2\n3\n4\n5\n6\n7\n8\n9\n"
	t.Run("on the blobs where the context has moved on", func(t *testing.T) {
		dir, patch := goldPatch(t, context, strings.Replace(context, "5", "five", 1))
		moved := strings.Replace(context, "3", "three", 1)
		if err := os.WriteFile(filepath.Join(dir, "f.txt"), []byte(moved), 0o600); err != nil {
			t.Fatal(err)
		}
		git(t, dir, "commit", "-qam", "moved")
		checkFallback(t, dir, patch, strings.Replace(moved, "5", "five", 1))
	})
	t.Run("on patch outside of a repository", func(t *testing.T) {
		if _, err := exec.LookPath("patch"); err != nil {
			t.Skip("needs patch")
		}
		_, patch := goldPatch(t, context, strings.Replace(context, "5", "five", 1))
		dir := t.TempDir()
		fuzzy := strings.Replace(context, "2", "two", 1)
		if err := os.WriteFile(filepath.Join(dir, "f.txt"), []byte(fuzzy), 0o600); err != nil {
			t.Fatal(err)
		}
		checkFallback(t, dir, patch, strings.Replace(fuzzy, "5", "five", 1))
	})
}

func checkFallback(t *testing.T, dir string, patch []byte, want string) {
	t.Helper()
	got, err := agent(t, scripted.Oracle(patch, scripted.Config{}), dir, true)
	if err != nil || !bytes.Equal(got, patch) {
		t.Fatalf("submitted %q, error %v; want %q, no error", got, err, patch)
	}
	if after, err := os.ReadFile(filepath.Join(dir, "f.txt")); err != nil || string(after) != want {
		t.Errorf("the file holds %q, want %q; %v", after, want, err)
	}
}

func TestOracleAndNoopSubmitNothing(t *testing.T) {
	needTools(t)
	dir := repo(t, map[string]string{"f.txt": "a\n"})
	for _, tools := range []bool{true, false} {
		for name, m := range map[string]*scripted.Model{
			"no-op": scripted.Noop(scripted.Config{}), "empty patch": scripted.Oracle(nil, scripted.Config{}),
		} {
			if got, err := agent(t, m, dir, tools); err != nil || len(got) > 0 {
				t.Errorf("got %s, tools %v: submitted %q, %v; want nothing, no error", name, tools, got, err)
			}
		}
	}
}
