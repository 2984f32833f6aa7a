package agent

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"batch.example/batch/llm"
)

func TestEditorInserts(t *testing.T) {
	odd := "a'b\"c $HOME `x` \\n & * ? [z] %s é"
	for _, c := range []struct {
		name, before string
		line         int
		text, after  string
		says         string
	}{
		{"at the beginning", "a\nb\n", 0, "x", "x\na\nb\n", "at the beginning"},
		{"in the middle", "a\nb\n", 1, "x\ny\n", "a\nx\ny\nb\n", "after line 1"},
		{"at the end", "a\nb\n", 2, "x", "a\nb\nx\n", "after line 2"},
		{"after a line without an end", "a\nb", 2, "x", "a\nb\nx", "after line 2"},
		{"before a line without an end", "a\nb", 1, "x", "a\nx\nb", "after line 1"},
		{"in an empty file", "", 0, "x", "x\n", "at the beginning"},
		{"an empty line", "a\nb\n", 1, "", "a\n\nb\n", "after line 1"},
		{"in a file with CRLF", "a\r\nb\r\n", 1, "x\ny", "a\r\nx\r\ny\r\nb\r\n", "after line 1"},
		{"at the end of a file with CRLF", "a\r\nb", 2, "x", "a\r\nb\r\nx", "after line 2"},
		{"own line ends", "a\r\nb\r\n", 1, "x\r\ny\r\n", "a\r\nx\r\ny\r\nb\r\n", "after line 1"},
		{"mixed line ends are left alone", "a\r\nb\n", 1, "x", "a\r\nx\nb\n", "after line 1"},
		{"bytes that are not UTF-8 are left alone", "\xff\n\xe9\n", 1, "é", "\xff\né\n\xe9\n", "after line 1"},
		{"nothing in it means anything to the shell", "a\n", 1, odd, "a\n" + odd + "\n", "after line 1"},
		{"empty lines are kept", "\n\n\n", 2, "x", "\n\nx\n\n", "after line 2"},
		{"beyond the end", "a\nb", 3, "x", "a\nb", "insert_line is 3, but the file has 2 lines."},
		{"a binary file", "a\x00b\n", 0, "x", "a\x00b\n", "is a binary file"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			file := filepath.Join(dir, "the file")
			if err := os.WriteFile(file, []byte(c.before), 0o755); err != nil {
				t.Fatal(err)
			}
			said, code := use(t, dir, map[string]any{"command": "insert", "path": "the file", "insert_line": c.line, "insert_text": c.text})
			got, _ := os.ReadFile(file)
			if string(got) != c.after || !strings.Contains(said, c.says) || (code == 0) != (c.after != c.before) {
				t.Errorf("file %q, want %q\nsaid %q (%d), want %q", got, c.after, said, code, c.says)
			}
			if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o755 {
				t.Errorf("mode %v, %v; want mode %#o, no error", info.Mode(), err, 0o755)
			}
		})
	}
	if said, code := use(t, t.TempDir(), map[string]any{"command": "insert", "path": "gone", "insert_line": 0, "insert_text": "x"}); code != 1 || said != "gone does not exist.\n" {
		t.Errorf("said %q (%d), want exit code 1, that it does not exist", said, code)
	}
}

// A model that knows another editor uses its names.
func TestEditorTakesTheNamesOfOtherEditors(t *testing.T) {
	dir := t.TempDir()
	for _, args := range []map[string]any{
		{"command": "create", "path": "f", "content": "a\n"},
		{"command": "insert", "path": "f", "insert_line": 1, "new_str": "b"},
		{"command": "insert", "path": "f", "insert_line": 2, "new_str": "", "insert_text": "c"},
		{"command": "insert", "path": "f", "insert_line": 2, "new_str": "lost"},
		{"command": "undo_edit", "path": "f"},
	} {
		if said, code := use(t, dir, args); code != 0 {
			t.Fatalf("%v: said %q (%d), want exit code 0", args, said, code)
		}
	}
	if got, err := os.ReadFile(filepath.Join(dir, "f")); err != nil || string(got) != "a\nb\nc\n" {
		t.Errorf("the file is %q, %v; want %q", got, err, "a\nb\nc\n")
	}
}

// edits are calls of the editor in one directory that succeed.
type edits struct {
	t   *testing.T
	dir string
}

func (e edits) do(args map[string]any) string {
	e.t.Helper()
	said, code := use(e.t, e.dir, args)
	if code != 0 {
		e.t.Fatalf("%v: said %q (%d), want exit code 0", args, said, code)
	}
	return said
}

func (e edits) create(path, text string) {
	e.t.Helper()
	e.do(map[string]any{"command": "create", "path": path, "file_text": text})
}

func (e edits) undo(path, want string) {
	e.t.Helper()
	if said := e.do(map[string]any{"command": "undo", "path": path}); !strings.Contains(said, want) {
		e.t.Errorf("said %q, want %q", said, want)
	}
}

// refusesUndo tests that nothing is left to undo.
func (e edits) refusesUndo(path string) {
	e.t.Helper()
	prefix := ""
	if strings.HasPrefix(path, "-") {
		prefix = "./"
	}
	if said, code := use(e.t, e.dir, map[string]any{"command": "undo", "path": path}); code != 1 || !strings.Contains(said, "There is nothing to undo in "+prefix+path) {
		e.t.Errorf("said %q (%d), want exit code 1, that there is nothing to undo", said, code)
	}
}

func (e edits) holds(path, want string) {
	e.t.Helper()
	if got, err := os.ReadFile(filepath.Join(e.dir, path)); err != nil || string(got) != want {
		e.t.Errorf("%s is %q, %v; want %q", path, got, err, want)
	}
}

func (e edits) gone(path string) {
	e.t.Helper()
	if _, err := os.Lstat(filepath.Join(e.dir, path)); !os.IsNotExist(err) {
		e.t.Errorf("%s is there (%v), want no such file", path, err)
	}
}

func TestEditorUndoesLevelByLevel(t *testing.T) {
	e := edits{t, t.TempDir()}
	e.refusesUndo("f")
	e.create("f", "one\n")
	e.do(map[string]any{"command": "str_replace", "path": "f", "old_str": "one", "new_str": "two"})
	e.do(map[string]any{"command": "insert", "path": "f", "insert_line": 1, "insert_text": "three"})
	e.create("f", "four\n")
	if said, code := use(t, e.dir, map[string]any{"command": "str_replace", "path": "f", "old_str": "none", "new_str": "x"}); code != 1 {
		t.Errorf("said %q (%d), want exit code 1", said, code) // no level is kept of what fails
	}
	e.undo("f", "f was restored: it is as it was before its last create.")
	e.holds("f", "two\nthree\n")
	e.undo("f", "before its last insert.")
	e.holds("f", "two\n")
	e.do(map[string]any{"command": "insert", "path": "f", "insert_line": 0, "insert_text": "again"})
	e.undo("f", "before its last insert.")
	e.undo("f", "before its last str_replace.")
	e.holds("f", "one\n")
	e.undo("f", "f was removed: it is as it was before its last create.")
	e.gone("f")
	e.refusesUndo("f")
}

func TestEditorUndoTellsFilesApart(t *testing.T) {
	e := edits{t, t.TempDir()}
	names := []string{"a/f", "b/f", "f", "-f", "f\n", " f '\"$x`", "*", "a\\nf", "000001.create"}
	for _, name := range names {
		e.create(name, "of "+name)
		e.create(name, "changed")
	}
	for _, name := range names {
		e.undo(name, "restored")
		e.holds(name, "of "+name)
	}
	for _, name := range slices.Backward(names) {
		e.undo(name, "removed")
		e.gone(name)
		e.refusesUndo(name)
	}
}

func TestEditorUndoFollowsTheFile(t *testing.T) {
	e := edits{t, t.TempDir()}
	e.create("dir/f", "one")
	if err := os.Symlink("dir/f", filepath.Join(e.dir, "link")); err != nil {
		t.Fatal(err)
	}
	e.create("link", "two")
	e.create(filepath.Join(e.dir, "dir/../link"), "three")
	e.undo("dir/f", "restored")
	e.holds("link", "two")
	e.undo("./link", "restored")
	e.holds("dir/f", "one")
	e.undo("link", "removed")
	e.gone("dir/f")
	if info, err := os.Lstat(filepath.Join(e.dir, "link")); err != nil || info.Mode().Type() != os.ModeSymlink {
		t.Errorf("the link is %v, %v; want a symbolic link", info, err)
	}
}

func TestEditorUndoRestoresAnyContent(t *testing.T) {
	e := edits{t, t.TempDir()}
	binary := "\x00\xff\r\n\n" + strings.Repeat("x", 100000) + "\x00"
	file := filepath.Join(e.dir, "f")
	if err := os.WriteFile(file, []byte(binary), 0o751); err != nil {
		t.Fatal(err)
	}
	e.create("f", "text")
	e.undo("f", "restored")
	e.holds("f", binary)
	e.create("f", "text")
	if err := os.Remove(file); err != nil { // as the model may with a command
		t.Fatal(err)
	}
	e.undo("f", "restored")
	e.holds("f", binary)
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o751 {
		t.Errorf("mode %v, %v; want %#o", info.Mode(), err, 0o751)
	}
	e.refusesUndo("f")
	e.create("f", "text")
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(file, 0o755); err != nil {
		t.Fatal(err)
	}
	if said, code := use(t, e.dir, map[string]any{"command": "undo", "path": "f"}); code != 1 || !strings.Contains(said, "f could not be written.") {
		t.Errorf("said %q (%d), want exit code 1, that it could not be written", said, code)
	}
}

func TestEditorKeepsABoundedNumberOfLevels(t *testing.T) {
	e := edits{t, t.TempDir()}
	for range 53 {
		e.create("f", "x")
	}
	for range 50 {
		e.undo("f", "restored")
	}
	e.refusesUndo("f")
}

// A change takes place even if the earlier content cannot be kept. Undo then does not
// restore an older one.
func TestEditorChangesWithoutHistory(t *testing.T) {
	e := edits{t, t.TempDir()}
	e.create("f", "one")
	e.create("f", "two")
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "cp"), []byte("#!/bin/sh\nexit 1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	if said := e.do(map[string]any{"command": "create", "path": "f", "file_text": "three"}); !strings.Contains(said, "This cannot be undone") {
		t.Errorf("said %q, want that it cannot be undone", said)
	}
	e.holds("f", "three")
	e.refusesUndo("f")
	if said, code := use(t, e.dir, map[string]any{"command": "create", "path": "/dev/full", "file_text": "x"}); code != 1 || !strings.Contains(said, "/dev/full could not be written.") {
		t.Errorf("said %q (%d), want exit code 1, that it could not be written", said, code)
	}
}

// After a write that fails in the middle, as on a full disk, the file is as before.
func TestEditorRestoresAfterAFailedWrite(t *testing.T) {
	e := edits{t, t.TempDir()}
	long := strings.Repeat("x", 5000)
	e.create("f", "one\n")
	for path, script := range map[string]string{
		"f": edit{command: "insert", path: "f", line: 1, text: long}.script(),
		"g": edit{command: "create", path: "g", text: long}.script(),
	} {
		out, err := host{e.dir}.Execute(t.Context(), "trap '' XFSZ; ulimit -f 1\n"+script)
		if err != nil || out.ExitCode != 1 || !strings.Contains(string(out.Bytes), path+" could not be written.") {
			t.Errorf("said %q (%d), %v; want exit code 1, that %s could not be written", out.Bytes, out.ExitCode, err, path)
		}
	}
	e.holds("f", "one\n")
	e.gone("g")
	e.refusesUndo("g")
	e.undo("f", "removed")
}

// What the editor keeps is outside of the repository: no patch and no git status has it.
func TestEditorLeavesNothingInTheRepository(t *testing.T) {
	e := edits{t, t.TempDir()}
	if out, err := exec.Command("git", "init", "-q", e.dir).CombinedOutput(); err != nil {
		t.Skipf("git: %v: %s", err, out)
	}
	e.create("dir/f", "one\n")
	e.do(map[string]any{"command": "insert", "path": "dir/f", "insert_line": 1, "insert_text": "two"})
	e.undo("dir/f", "restored")
	e.undo("dir/f", "removed")
	cmd := exec.Command("git", "status", "--porcelain", "--ignored")
	cmd.Dir = e.dir
	if out, err := cmd.Output(); err != nil || len(out) > 0 {
		t.Errorf("git status: %q, %v; want nothing", out, err)
	}
}

// The recorded commands of the editor do the same in a new container, and undo works there
// after them as it would have before.
func TestEditorUndoesAfterAReplay(t *testing.T) {
	form, err := newForm(ActionForm{Kind: Tools})
	if err != nil {
		t.Fatal(err)
	}
	var recorded []string
	for _, arguments := range []string{
		`{"command":"create","path":"a/f","file_text":"one\n"}`,
		`{"command":"insert","path":"a/f","insert_line":1,"insert_text":"two"}`,
		`{"command":"undo","path":"a/f"}`,
		`{"command":"str_replace","path":"a/f","old_str":"one","new_str":"three"}`,
		`{"command":"create","path":"g","file_text":"x"}`,
		`{"command":"undo","path":"g"}`,
		`{"command":"undo","path":"g"}`, // refused
		`{"command":"view","path":"a/f"}`,
	} {
		a, err := form.parseCall(llm.ToolCall{ID: "1", Name: "editor", Arguments: arguments})
		if err != nil {
			t.Fatal(err)
		}
		recorded = append(recorded, a.Command)
	}
	run := func(dir string) (outputs []string) {
		for _, command := range recorded {
			out, err := host{dir}.Execute(t.Context(), command)
			if err != nil {
				t.Fatal(err)
			}
			outputs = append(outputs, fmt.Sprintf("%d %s", out.ExitCode, out.Bytes))
		}
		return outputs
	}
	first, second := edits{t, t.TempDir()}, edits{t, filepath.Join(t.TempDir(), "fresh")}
	if err := os.Mkdir(second.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(run(first.dir), run(second.dir)); d != "" {
		t.Errorf("outputs of the replay (-want +got):\n%s", d)
	}
	for _, e := range []edits{first, second} {
		e.holds("a/f", "three\n")
		e.gone("g")
		e.undo("a/f", "before its last str_replace")
		e.holds("a/f", "one\n")
		e.undo("a/f", "removed")
		e.refusesUndo("a/f")
	}
}

func FuzzEditorInsert(f *testing.F) {
	f.Add("a\nb\n", 1, "x")
	f.Add("a\nb", 2, "$(y)\\\n")
	f.Add("", 0, "")
	f.Add("\xff\n\n", 2, "&'\n\n")
	f.Fuzz(func(t *testing.T, content string, line int, text string) {
		text = strings.ToValidUTF8(text, "")
		if strings.ContainsAny(content+text, "\x00\r") || line < 0 || line > 1<<30 {
			return
		}
		file := filepath.Join(t.TempDir(), "f")
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		lines := strings.SplitAfter(content, "\n")
		if lines[len(lines)-1] == "" {
			lines = lines[:len(lines)-1]
		}
		want, ok := content, line <= len(lines)
		if ok {
			before, after := strings.Join(lines[:line], ""), strings.Join(lines[line:], "")
			if before != "" && !strings.HasSuffix(before, "\n") {
				before += "\n" // the text is the end of the file, as it is
			} else if !strings.HasSuffix(text, "\n") {
				text += "\n"
			}
			want = before + text + after
		}
		said, code := use(t, filepath.Dir(file), map[string]any{"command": "insert", "path": file, "insert_line": line, "insert_text": text})
		if got, _ := os.ReadFile(file); string(got) != want || (code == 0) != ok {
			t.Fatalf("%q, line %d, %q -> %q, want %q; said %q", content, line, text, got, want, said)
		}
		if said, code := use(t, filepath.Dir(file), map[string]any{"command": "undo", "path": file}); (code == 0) != ok {
			t.Fatalf("undo: said %q (%d), want it to succeed: %v", said, code, ok)
		}
		if got, _ := os.ReadFile(file); string(got) != content {
			t.Errorf("after undo %q, want %q", got, content)
		}
	})
}
