package logparse

import (
	"regexp"
	"strings"
)

// A rule is an expression for the lines of a test runner that say a test's status. Its only
// group without a name is the test's name. The status is fixed by the rule, or comes from the
// group "word": the status under that word, in capitals, in words or, if words is nil, the word
// itself.
type rule struct {
	has          string // a text in every line that expr matches, so that other lines take no time
	expr, status string
	words        map[string]string
	rename       func(string) string // changes the name, if not nil
}

// A finder applies the first rule that matches a line; ok reports whether there is one. The
// status is empty for an unknown word.
type finder func(line string) (name, status string, ok bool)

func findBy(rules ...rule) finder {
	exprs := make([]func() *regexp.Regexp, len(rules))
	for i, r := range rules {
		exprs[i] = expression(r.expr)
	}
	return func(line string) (name, status string, ok bool) {
		for i, r := range rules {
			if !strings.Contains(line, r.has) {
				continue
			}
			if m := exprs[i]().FindStringSubmatch(line); m != nil {
				name, status = r.read(m, exprs[i]().SubexpIndex("word"))
				return name, status, true
			}
		}
		return "", "", false
	}
}

// byRules makes a parser of lines of rules. A record is [results.set], or a method with
// another idea of what replaces what.
func byRules(record func(out *results, name, status string), rules ...rule) func(line string, out *results) {
	find := findBy(rules...)
	return func(line string, out *results) {
		if name, status, _ := find(line); status != "" {
			record(out, name, status)
		}
	}
}

// read takes a match apart.
func (r *rule) read(m []string, word int) (name, status string) {
	name, status = m[1], r.status
	if word > 0 {
		name = m[3-word]
		status = strings.ReplaceAll(strings.ToUpper(m[word]), "İ", "I")
		if r.words != nil {
			status = r.words[status]
		}
	}
	if r.rename != nil {
		name = r.rename(name)
	}
	return name, status
}
