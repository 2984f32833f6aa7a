package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// accepts has batch read the flags of a command, which it does not run.
func accepts(args []string) error {
	c, rest, err := (&app{getenv: func(string) string { return "" }}).root().Find(args)
	if err != nil {
		return err
	}
	c.InitDefaultHelpFlag()
	err = c.ParseFlags(rest)
	if errors.Is(err, pflag.ErrHelp) || err != nil && strings.HasPrefix(err.Error(), "flag needs an argument") {
		return nil
	}
	return err
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
			if err := accepts(strings.Fields(filler.Replace(m[1]))); err != nil {
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
