package logparse

import (
	"fmt"
	"strings"
)

const djangoVersionTest = "--version is equivalent to version"

// django reads runtests.py --verbosity 2: "test_x (path.Class) ... ok". The test's own output may
// come between the dots and the "ok", so that a line "ok" belongs to the last test named.
func django(log string, _ input, out *results) error {
	d := djangoLines{out: out, versionTest: strings.Contains(log, djangoVersionTest)}
	for line := range lines(log) {
		if err := d.line(strip(line)); err != nil {
			return err
		}
	}
	djangoInterrupted(log, out)
	return nil
}

type djangoLines struct {
	out         *results
	versionTest bool
	last        string // the last test that a line named
	named       bool   // whether there is one
}

func (d *djangoLines) line(line string) error {
	if d.versionTest && strings.Contains(line, djangoVersionTest) {
		d.out.set(djangoVersionTest, Passed)
	}
	if before, _, ok := strings.Cut(line, " ... "); ok {
		d.last, d.named = before, true
		line = d.passes(line)
	}
	if err := d.fails(line, " ... FAIL", "FAIL:", Failed); err != nil {
		return err
	}
	if err := d.fails(line, " ... ERROR", "ERROR:", Error); err != nil {
		return err
	}
	if d.named && strings.HasPrefix(line, "ok") {
		d.out.set(d.last, Passed)
	}
	return nil
}

// passes handles a line that has " ... ". It returns the line for the further rules.
func (d *djangoLines) passes(line string) string {
	for _, suffix := range [...]string{" ... ok", " ... OK", " ...  OK"} {
		if strings.HasSuffix(line, suffix) {
			if strings.HasPrefix(line, "Applying sites.0002_alter_domain_unique...test_no_migrations") {
				_, line, _ = strings.Cut(line, "...") // the test's name follows its output
			}
			d.out.set(strings.TrimSuffix(line, suffix), Passed)
			break
		}
	}
	if before, _, ok := strings.Cut(line, " ... skipped"); ok {
		d.out.set(before, Skipped)
	}
	return line
}

// fails handles "test_x (path.Class) ... FAIL", where suffix ends the line, and the headings
// of the reports at the end, "FAIL: test_x (path.Class)".
func (d *djangoLines) fails(line, suffix, heading, status string) error {
	if strings.HasSuffix(line, suffix) {
		before, _, _ := strings.Cut(line, suffix)
		d.out.set(before, status)
	}
	if !strings.HasPrefix(line, heading) {
		return nil
	}
	_, rest := cutWord(line)
	name, _ := cutWord(rest)
	if name == "" {
		return fmt.Errorf("a line that starts with %s has no second word", heading)
	}
	d.out.set(name, status)
	return nil
}
