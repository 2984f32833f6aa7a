package main

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// accepts has batch read the arguments of a command, which it does not run.
func accepts(args []string, all bool) error {
	c, rest, err := (&app{getenv: func(string) string { return "" }}).root().Find(args)
	if err != nil {
		return err
	}
	c.InitDefaultHelpFlag()
	switch err := c.ParseFlags(rest); {
	case errors.Is(err, pflag.ErrHelp), !all && (err == nil || strings.HasPrefix(err.Error(), "flag needs an argument")):
		return nil
	case err != nil:
		return err
	}
	return c.ValidateArgs(c.Flags().Args())
}

// exampleLine is an example in a help text, with what is said of it behind two blanks.
var exampleLine = regexp.MustCompile(`(?m)^  (batch (?:[^\n\\]|\\\n *)*?)(?: {2,}\S[^\n]*)?$`)

// Each example of a help text names a command, flags and arguments that there are.
func TestBatchReadsEveryExampleOfItsHelp(t *testing.T) {
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("no bash, which splits the examples into words")
	}
	var script strings.Builder
	script.WriteString("batch() { printf '%s\\0' \"$@\" '' >&3; }; jq() { :; }; less() { :; }; git() { :; }\nexec 3>words\n")
	shown := 0
	for _, c := range commands(t) {
		for _, m := range exampleLine.FindAllStringSubmatch(c.Long, -1) {
			shown++
			line := strings.TrimSpace(m[1])
			script.WriteString(strings.TrimSuffix(line, "|") + "\n")
		}
	}
	cmd := exec.CommandContext(t.Context(), "bash", "-ec", script.String())
	cmd.Dir = t.TempDir()
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s\n%s", err, out, script.String())
	}
	words, err := os.ReadFile(filepath.Join(cmd.Dir, "words"))
	if err != nil {
		t.Fatal(err)
	}
	examples := strings.Split(strings.TrimSuffix(string(words), "\x00\x00"), "\x00\x00")
	if len(examples) < shown || shown < 70 {
		t.Errorf("%d commands in %d examples, want at least 70", len(examples), shown)
	}
	for _, example := range examples {
		if args := strings.Split(example, "\x00"); accepts(args, true) != nil {
			t.Errorf("batch %s: %v", strings.Join(args, " "), accepts(args, true))
		}
	}
}

// Each command that an error, its hint or a document mentions names a command and flags that
// there are.
func TestBatchReadsTheCommandsThatAreMentioned(t *testing.T) {
	mention := regexp.MustCompile("`batch ([a-z][^`\n]*)`")
	filler := strings.NewReplacer("%s", "x", "%q", "x", "%v", "1", "%d", "1", "...", "", "|", " ", "'", "")
	root, seen := filepath.Join("..", ".."), map[string]bool{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != root && (slices.Contains([]string{"scripts", "testdata", "e2e", "internal"}, d.Name()) || strings.HasPrefix(d.Name(), ".") && d.Name() != "..") {
			return filepath.SkipDir
		}
		if !slices.Contains([]string{".go", ".md", ".txt"}, filepath.Ext(path)) || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		source := strings.ReplaceAll(string(text), "` + \"`", "`")
		for _, m := range mention.FindAllStringSubmatch(source, -1) {
			if strings.ContainsAny(m[1], `"+`) { // it is put together
				continue
			}
			seen[m[1]] = true
			if err := accepts(strings.Fields(filler.Replace(m[1])), false); err != nil {
				t.Errorf("%s mentions `batch %s`: %v", path, m[1], err)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(seen) < 60 {
		t.Errorf("%d commands are mentioned, want at least 60", len(seen))
	}
}
