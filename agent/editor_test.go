package agent

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"batch.example/batch/llm"
	"batch.example/batch/vocab"
)

// use runs one call of the editor with the bash of this machine.
func use(t *testing.T, dir string, args map[string]any) (string, int) {
	t.Helper()
	form, err := newForm(ActionForm{Kind: Tools})
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	actions, err := form.parse(llm.Message{Parts: []llm.Part{llm.ToolCall{ID: "1", Name: "editor", Arguments: string(data)}}})
	if err != nil {
		return err.Error(), -1
	}
	out, err := host{dir}.Execute(t.Context(), actions[0].Command)
	if err != nil {
		t.Fatal(err)
	}
	return string(out.Bytes), out.ExitCode
}

func TestEditorReplaces(t *testing.T) {
	odd := "a'b\"c $HOME `x` \\n & * ? [z] %s é"
	for _, c := range []struct{ name, before, old, new, after, says string }{
		{"one occurrence", "a b c\n", "b", "x", "a x c\n", "was changed"},
		{"a file without a final newline", "a\nb", "b", "c", "a\nc", "was changed"},
		{"final newlines are kept", "a\n\n\n", "a", "b", "b\n\n\n", "was changed"},
		{"lines that end in CRLF", "one\r\ntwo\r\n", "one\ntwo", "1\n2\n3", "1\r\n2\r\n3\r\n", "was changed"},
		{"one line of a CRLF file by two", "one\r\ntwo\r\n", "one", "1\n2", "1\r\n2\r\ntwo\r\n", "was changed"},
		{"mixed line ends are left alone", "a\r\nb\nc\n", "b\nc", "x\ny", "a\r\nx\ny\n", "was changed"},
		{"bytes that are not UTF-8 are left alone", "caf\xe9 b\xff\n", "b", "x", "caf\xe9 x\xff\n", "was changed"},
		{"nothing in it means anything to the shell", odd + "\n", odd, odd + odd, odd + odd + "\n", "was changed"},
		{"an ampersand is not the match", "a\n", "a", "&&\\&", "&&\\&\n", "was changed"},
		{"patterns are not patterns", "a* ab\n", "a*", "x", "x ab\n", "was changed"},
		{"deletion", "a b\n", " b", "", "a\n", "was changed"},
		{"two occurrences", "a a\n", "a", "b", "a a\n", "occurs 2 times"},
		{"no occurrence", "a\n", "z", "b", "a\n", "does not occur"},
		{"white space counts", "a  b\n", "a b", "c", "a  b\n", "does not occur"},
		{"a binary file", "a\x00b", "a", "c", "a\x00b", "binary"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			file := filepath.Join(dir, "it's a file")
			if err := os.WriteFile(file, []byte(c.before), 0o755); err != nil {
				t.Fatal(err)
			}
			said, code := use(t, dir, map[string]any{"command": "str_replace", "path": "it's a file", "old_str": c.old, "new_str": c.new})
			got, _ := os.ReadFile(file)
			if string(got) != c.after || !strings.Contains(said, c.says) || (code == 0) != strings.Contains(c.says, "changed") {
				t.Errorf("file %q, want %q\nsaid %q (%d)", got, c.after, said, code)
			}
			if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o755 {
				t.Errorf("mode %v, %v; want mode %#o, no error", info.Mode(), err, 0o755)
			}
		})
	}
}

func TestEditorCreates(t *testing.T) {
	dir := t.TempDir()
	for _, content := range []string{"", "x", "-n %s\\n'\"\r\n$(boom)\n\n", strings.Repeat("0123456789abcde\n", 6000)} {
		said, code := use(t, dir, map[string]any{"command": "create", "path": "a/b c/-f", "file_text": content})
		got, err := os.ReadFile(filepath.Join(dir, "a/b c/-f"))
		if err != nil || code != 0 || string(got) != content {
			t.Errorf("%d bytes became %d, said %q, %v; want exit code 0, %v, no error",
				len(content), len(got), said, err, content)
		}
	}
	if said, code := use(t, dir, map[string]any{"command": "create", "path": "a", "file_text": ""}); code != 1 || !strings.Contains(said, "is a directory") {
		t.Errorf("said %q (%d); want exit code 1, %q in the output", said, code, "is a directory")
	}
}

func TestEditorViews(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{"f": "one\r\ntwo\nthree", "empty": "", "-v": vocab.Marker + "\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name, path string
		lines      any
		want       string
		code       int
	}{
		{"a file with line numbers", "f", nil, "     1\tone\r\n     2\ttwo\n     3\tthree", 0},
		{"a range", "f", []int{2, 2}, "     2\ttwo\n", 0},
		{"a range to the end", "f", []int{2, -1}, "     2\ttwo\n     3\tthree", 0},
		{"a range beyond the end stops there", "f", []int{3, 99}, "     3\tthree", 0},
		{"a range that starts beyond the end", "f", []int{4, 5}, "view_range starts at line 4, but f has 3 lines.\n", 1},
		{"an empty file", "empty", nil, "", 0},
		{"a name like an option", "-v", nil, "     1\t" + vocab.Marker + "\n", 0},
		{"a directory", ".", nil, "Entries of the directory .:\n-v\nempty\nf\n", 0},
		{"nothing there", "gone", nil, "gone does not exist.\n", 1},
		{"a range upside down", "f", []int{3, 1}, "Argument 'view_range' of the editor tool must be two line numbers, first and last, counted from 1.", -1},
		{"a range of text", "f", "1-2", "Argument 'view_range' of the editor tool must be two line numbers, first and last, counted from 1.", -1},
	} {
		t.Run(c.name, func(t *testing.T) {
			args := map[string]any{"command": "view", "path": c.path}
			if c.lines != nil {
				args["view_range"] = c.lines
			}
			if said, code := use(t, dir, args); said != c.want || code != c.code {
				t.Errorf("said %q (%d), want %q (%d)", said, code, c.want, c.code)
			}
		})
	}
}

func TestEditorArguments(t *testing.T) {
	for name, args := range map[string]map[string]any{
		"Missing 'path'":            {"command": "view"},
		"Unknown editor command":    {"command": "redo", "path": "a"},
		"Missing 'insert_text'":     {"command": "insert", "path": "a", "insert_line": 0},
		"'insert_line' of the":      {"command": "insert", "path": "a", "insert_text": "b"},
		"the line before the text":  {"command": "insert", "path": "a", "insert_text": "b", "insert_line": -1},
		"or 0.":                     {"command": "insert", "path": "a", "insert_text": "b", "insert_line": 1.5},
		"leave out 'new_str'":       {"command": "insert", "path": "a", "insert_text": "b", "insert_line": 1, "new_str": "c"},
		"leave out 'content'":       {"command": "create", "path": "a", "file_text": "b", "content": "c"},
		"Missing 'file_text'":       {"command": "create", "path": "a"},
		"'old_str' of the editor":   {"command": "str_replace", "path": "a", "old_str": "", "new_str": "b"},
		"are the same":              {"command": "str_replace", "path": "a", "old_str": "b", "new_str": "b"},
		"must be a string":          {"command": "create", "path": "a", "file_text": 1},
		"Missing 'command'":         {},
		"holds a NUL":               {"command": "view", "path": "a\x00"},
		"'path' of the editor tool": {"command": "view", "path": ""},
	} {
		t.Run(name, func(t *testing.T) {
			if said, code := use(t, t.TempDir(), args); code != -1 || !strings.Contains(said, name) {
				t.Errorf("said %q (%d); want exit code -1, %q in the output", said, code, name)
			}
		})
	}
}

func TestEditorViewRangeIsTwoLineNumbers(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "f"), []byte("a\nb\nc\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []any{
		[]any{}, []any{1}, []any{1, 2, 3}, "1,2", 1, map[string]any{}, []any{0, 2}, []any{-1, 2}, []any{3, 2}, []any{1, -2}, []any{1.5, 2}, []any{"1", "2"}, []any{1, 1e10},
	} {
		if said, code := use(t, dir, map[string]any{"command": "view", "path": "f", "view_range": bad}); code != -1 || !strings.Contains(said, "two line numbers") {
			t.Errorf("%v: said %q (%d); want exit code -1, %q in the output", bad, said, code, "two line numbers")
		}
	}
	for want, good := range map[string]any{"1 a 2 b": []any{1, 2}, "2 b": []any{2, 2}, "3 c": []any{3, -1}, "1 a 2 b 3 c": nil} {
		said, code := use(t, dir, map[string]any{"command": "view", "path": "f", "view_range": good})
		if got := strings.Join(strings.Fields(said), " "); code != 0 || got != want {
			t.Errorf("%v: %q (%d), want %q", good, got, code, want)
		}
	}
}

func FuzzEditorReplace(f *testing.F) {
	f.Add("a\r\nb\n", "b", "&c'")
	f.Add("x$(y)\\\n", "$(y)", "\\0")
	f.Fuzz(func(t *testing.T, content, old, replacement string) {
		for _, s := range []string{content, old, replacement} {
			if strings.ContainsAny(s, "\x00\r") {
				return
			}
		}
		old, replacement = strings.ToValidUTF8(old, ""), strings.ToValidUTF8(replacement, "")
		if old == "" || old == replacement {
			return
		}
		file := filepath.Join(t.TempDir(), "f")
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		want, ok := content, strings.Count(content, old) == 1
		if ok {
			want = strings.Replace(content, old, replacement, 1)
		}
		said, code := use(t, filepath.Dir(file), map[string]any{"command": "str_replace", "path": file, "old_str": old, "new_str": replacement})
		got, _ := os.ReadFile(file)
		if string(got) != want || (code == 0) != ok {
			t.Errorf("%q -> %q, want %q; said %q", content, got, want, said)
		}
	})
}
