package runs

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"batch.example/batch/docs"
	"batch.example/batch/e2e"
)

// shownLines are the command lines of help, README.md, docs and the README of a new dataset that no
// other test runs. A test of cmd/batch parses the ones within sentences.
func shownLines(t *testing.T) []string {
	t.Helper()
	work := t.TempDir()
	if code, out := e2e.ExitCode(t, e2e.Batch(t, work, "dataset", "init")); code != e2e.ExitOK {
		t.Fatalf("batch dataset init: exit code %d\n%s", code, out)
	}
	root := filepath.Join("..", "..")
	lines := append(helpLines(t, nil), readmeLines(t, filepath.Join(root, "README.md"))...)
	lines = append(lines, readmeLines(t, filepath.Join(work, "my-dataset", "README.md"))...)
	for _, p := range docs.Pages {
		lines = append(lines, readmeLines(t, filepath.Join(root, "docs", p.Name+".md"))...)
	}
	slices.Sort(lines)
	return slices.Compact(lines)
}

var (
	exampleLine = regexp.MustCompile(`(?m)^(?: {2}| {4}|\t)((?:source <\()?batch [^\n]*?)(?: {2,}\S[^\n]*)?$`)
	listed      = regexp.MustCompile(`(?m)^  ([a-z-]+) +[A-Z]`)
)

// helpLines returns the lines of a page of help, and of the pages that it lists.
func helpLines(t *testing.T, page []string) (lines []string) {
	t.Helper()
	code, text := e2e.ExitCode(t, e2e.Batch(t, t.TempDir(), append([]string{"help"}, page...)...))
	if code != e2e.ExitOK {
		t.Fatalf("batch help %s: exit code %d\n%s", page, code, text)
	}
	text, usage, _ := strings.Cut(text, "\nUsage:\n")
	for _, m := range exampleLine.FindAllStringSubmatch(onOneLine(text), -1) {
		lines = append(lines, m[1])
	}
	for _, m := range listed.FindAllStringSubmatch(usage, -1) {
		if m[1] != "help" {
			lines = append(lines, helpLines(t, append(slices.Clone(page), m[1]))...)
		}
	}
	return lines
}

// onOneLine joins the lines of a command.
func onOneLine(text string) string {
	return regexp.MustCompile(`\|\n *`).ReplaceAllString(regexp.MustCompile(`\\\n *`).ReplaceAllString(text, ""), "| ")
}

// readmeLines are the lines in a Markdown file's blocks that no other test runs.
func readmeLines(t *testing.T, path string) (lines []string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?ms)^```([^\n]*)\n(.*?)^```$")
	command := regexp.MustCompile(`(?m)^(?:\$ )?(batch .*)$`)
	for _, block := range blocks.FindAllStringSubmatch(string(text), -1) {
		if strings.HasPrefix(block[1], "console") && !strings.Contains(block[1], "skip=") {
			continue
		}
		for _, m := range command.FindAllStringSubmatch(onOneLine(block[2]), -1) {
			lines = append(lines, m[1])
		}
	}
	return lines
}
