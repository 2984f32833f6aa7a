//go:build man

package main

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestManPagesOfEveryCommandAndTopic(t *testing.T) {
	var want []string
	for path, c := range commands(t) {
		number := "1"
		if c.Run == nil && c.RunE == nil && !c.HasSubCommands() {
			number = "7" // a help topic
		}
		want = append(want, "man"+number+"/"+strings.ReplaceAll(path, " ", "-")+"."+number)
	}
	slices.Sort(want)

	dir := t.TempDir()
	a := &app{getenv: func(string) string { return "" }}
	if err := a.writePages(a.root(), dir); err != nil {
		t.Fatal(err)
	}
	got, err := filepath.Glob(filepath.Join(dir, "*", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range got {
		got[i] = strings.TrimPrefix(got[i], dir+"/")
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("pages:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	withoutWarnings(t, dir, got)
}

func TestManPagesWriteFlagsAsTheyCanBeGiven(t *testing.T) {
	var b bytes.Buffer
	options(&b, "OPTIONS", (&app{}).runCommand().Flags())
	for _, want := range []string{
		`\fB\-\-accept\-changes\fR[=\fINAMES\fR]`, `\fB\-\-retry\fR \fIKIND=N\fR`, `\fB\-q\fR, \fB\-\-quiet\fR`,
	} {
		if !strings.Contains(b.String(), ".TP\n"+want+"\n") {
			t.Errorf("no %s in:\n%s", want, b.String())
		}
	}
}

// withoutWarnings fails where groff, if it is installed, warns about a page.
func withoutWarnings(t *testing.T, dir string, pages []string) {
	t.Helper()
	groff, err := exec.LookPath("groff")
	if err != nil {
		t.Log("groff is not installed: the pages are not formatted")
		return
	}
	for _, name := range pages {
		// -z: format, but print nothing except warnings.
		out, err := exec.Command(groff, "-man", "-ww", "-z", "-Tutf8", filepath.Join(dir, name)).CombinedOutput()
		if err != nil || len(out) > 0 {
			t.Errorf("%s: got %v, want no output, no error\n%s", name, err, out)
		}
	}
}
