package logparse

import (
	"errors"
	"strings"
)

var (
	testthatContext = byRules((*results).set, rule{
		expr:   `^(?<word>[✔✖])\s+\|[^|]+\|\s+(.+)$`,
		words:  map[string]string{"✔": Passed, "✖": Failed},
		rename: testthatName,
	})
	testthatFailure = byRules((*results).set, rule{
		expr:   `^(?<word>Failure|Error)\s+\([^)]+\):\s+(.+)$`,
		words:  map[string]string{"FAILURE": Failed, "ERROR": Error},
		rename: testthatName,
	})
	testthatTime = expression(`\s*\[\s*\d+(?:\.\d+)?\s*[a-zA-Z]+\]$`)
)

// rebenchTestthat reads testthat's output: its contexts, and then the failures in their section.
func rebenchTestthat(log string, _ input, out *results) error {
	for line := range splitLines(log) {
		testthatContext(strip(line), out)
	}
	failed := false
	for line := range splitLines(log) {
		line = strip(line)
		switch {
		case strings.HasPrefix(line, "── Failed tests ──"), strings.HasPrefix(line, "== Failed tests =="):
			failed = true
		case !failed:
		case strings.HasPrefix(line, "[ FAIL"), strings.HasPrefix(line, "══ Results ══"):
			return nil
		default:
			testthatFailure(line, out)
		}
	}
	return nil
}

func testthatName(name string) string {
	return strip(testthatTime().ReplaceAllLiteralString(strip(name), ""))
}

var (
	checkLine  = expression(`^\* checking (.+?) \.\.\. ([A-Z]+)$`)
	checkBegin = expression(`^\* checking (.+?) \.\.\.$`)
	checkWords = map[string]string{
		"OK": Passed, "NOTE": Passed, "NOTES": Passed, "WARNING": Failed, "WARNINGS": Failed,
		"ERROR": Error, "ERRORS": Error, "FAIL": Failed, "FAILED": Failed, "SKIPPED": Skipped,
	}
	errCheck = errors.New("a line behind a check has no word")
)

// rebenchCheck reads the output of `R CMD check`: the status of a check is a word in its line, or
// the first later line that begins with one. Any other word in its line is a pass.
func rebenchCheck(log string, _ input, out *results) error {
	pending := ""
	for line := range splitLines(log) {
		if line = strip(line); line == "" {
			continue
		}
		if pending != "" {
			word, _ := cutWord(strings.Trim(line, ".:!"))
			if word == "" {
				return errCheck
			}
			if status, known := checkWords[strings.ToUpper(word)]; known {
				out.set(pending, status)
				pending = ""
			}
			continue
		}
		if m := checkLine().FindStringSubmatch(line); m != nil {
			status, known := checkWords[m[2]]
			if !known {
				status = Passed
			}
			out.set(m[1], status)
		} else if m := checkBegin().FindStringSubmatch(line); m != nil {
			pending = m[1]
		}
	}
	if pending != "" {
		out.setFirst(pending, Passed)
	}
	return nil
}

// rebenchLein reads Leiningen's output: its namespaces, which pass unless something in them
// fails.
func rebenchLein(log string, _ input, out *results) error {
	namespace := ""
	for line := range splitLines(log) {
		line = strip(line)
		payload, ok := strings.CutPrefix(line, "lein test ")
		switch {
		case ok:
			namespace = out.setNamespaces(words(payload), namespace)
		case namespace == "":
		case strings.HasPrefix(line, "FAIL in"):
			out.set(namespace, Failed)
		case strings.HasPrefix(line, "ERROR in"):
			out.set(namespace, Error)
		}
	}
	return nil
}

// setNamespaces records the namespaces that begin, and returns the last one; current is the
// previous one.
func (r *results) setNamespaces(names []string, current string) string {
	if len(names) > 0 && names[0] == ":only" {
		name, _, _ := strings.Cut(strings.Join(names[1:], " "), "/")
		current, names = "", []string{strip(name)}
	}
	for _, name := range names {
		if name != "" {
			r.setFirst(name, Passed)
			current = name
		}
	}
	return current
}
