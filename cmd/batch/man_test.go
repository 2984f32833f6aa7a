//go:build man

package main

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cpuguy83/go-md2man/v2/md2man"
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
	page := string(md2man.Render(b.Bytes()))
	for _, want := range []string{
		`\fB--accept-changes\fP[=\fINAMES\fP]`, `\fB--retry\fP \fIKIND=N\fP`, `\fB-q\fP, \fB--quiet\fP`,
	} {
		if !strings.Contains(page, ".TP\n"+want+"\n") {
			t.Errorf("no %s in:\n%s", want, page)
		}
	}
}

func TestManPagesShowTextsAsTheyAre(t *testing.T) {
	text := "A <dir> of *all* my_own_files:\n  a  `b` <c>\n# [d](e) 1. f\n\nWhy\n---\n.g \\h"
	got := string(md2man.Render([]byte(markdown(text))))
	want := "\n.PP\nA <dir> of *all* my_own_files:\n\n.EX\n  a  `b` <c>\n.EE\n\n.PP\n# [d](e) 1\\&. f\n\n.SS Why\n\\&.g \\\\h\n"
	if _, body, _ := strings.Cut(got, ".nh\n"); body != want {
		t.Errorf("got %q, want %q", body, want)
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
