package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"batch.example/batch/llm/catalogue"
)

// commands are all commands that help lists, by path.
func commands(t *testing.T) map[string]*cobra.Command {
	t.Helper()
	found := map[string]*cobra.Command{}
	root := (&app{getenv: func(string) string { return "" }}).root()
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		if c.Hidden || c.Name() == "man" {
			return
		}
		found[c.CommandPath()] = withText(c)
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(root)
	return found
}

func TestEveryCommandIsInAGroup(t *testing.T) {
	for path, c := range commands(t) {
		if c.HasParent() && !c.Parent().HasParent() && !c.IsAdditionalHelpTopicCommand() && c.GroupID == "" {
			t.Errorf("%s is not in a group of `batch help`", path)
		}
	}
}

// A terminal has 80 columns, and shows Markdown as it is. Only an example may be longer, the schema
// of events, and what cobra says of its own command.
func TestHelpIsForATerminal(t *testing.T) {
	markdown := regexp.MustCompile("<!--|\\]\\(|```|(?m:^[#|])")
	for path, c := range commands(t) {
		if strings.HasPrefix(path, "batch completion ") {
			continue
		}
		_, isPage := pageOf(c)
		text, _, _ := strings.Cut(c.Long, "Every line satisfies this JSON Schema")
		for line := range strings.Lines(text + "\n" + c.UsageString()) {
			line = strings.TrimSuffix(line, "\n")
			table := isPage && strings.HasPrefix(line, "    ")
			if len(line) > helpWidth && !strings.HasPrefix(line, "  batch ") && !table {
				t.Errorf("a line in the help of %s is %d columns wide: %s", path, len(line), line)
			}
		}
		if isPage && markdown.MatchString(c.Long) {
			t.Errorf("`batch help %s` has Markdown that a terminal shows:\n%s", strings.TrimPrefix(path, "batch "), c.Long)
		}
	}
}

func TestEveryFlagIsInASection(t *testing.T) {
	for path, c := range commands(t) {
		if c.Flags().SortFlags {
			continue // a command without sections
		}
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Annotations[sectionAnnotation] == nil && f.Name != "help" {
				t.Errorf("--%s of %s is not in a section of its help", f.Name, path)
			}
		})
		if strings.Contains(c.UsageString(), "\nFlags:\n") {
			t.Errorf("%s shows its flags without sections", path)
		}
	}
}

func TestTheHelpNamesEveryVariableThatIsRead(t *testing.T) {
	page, read := commands(t)["batch environment"].Long, map[string]string{}
	for _, p := range catalogue.Providers() {
		read[p.Key], read[p.Base], read[p.Version] = "a provider", "a provider", "a provider"
	}
	call, root := regexp.MustCompile(`[gG]etenv\("([A-Z_]+)"\)`), filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (slices.Contains([]string{"scripts", "testdata", "e2e", "sample", "tier"}, d.Name()) || strings.HasPrefix(d.Name(), ".") && path != root):
			return filepath.SkipDir
		case filepath.Ext(path) != ".go" || d.Name() == "man.go" || strings.Contains(path, "test"):
			return nil
		}
		text, err := os.ReadFile(path)
		for _, m := range call.FindAllStringSubmatch(string(text), -1) {
			read[m[1]] = path
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	delete(read, "")
	if len(read) < 50 {
		t.Errorf("only %d variables were found", len(read))
	}
	for name, where := range read {
		if !regexp.MustCompile(`\b` + name + `\b`).MatchString(page) {
			t.Errorf("`batch help environment` lacks %s, which %s reads", name, where)
		}
	}
}
