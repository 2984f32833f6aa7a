package logparse

import (
	"regexp"
	"strings"
)

// A rule is an expression for the lines of a test runner that say a test's status. Its one
// group without a name is the test's. The status is that of the rule, or what its group
// "word" says: by words, whose keys are in capitals, or as it is if there are none.
type rule struct {
	has          string // what is in every line that expr matches, so that other lines take no time
	expr, status string
	words        map[string]string
	rename       func(string) string // what becomes of the name, if not nil
}

// A recorder adds a status to results.
type recorder func(out *results, name, status string)

// byRules records what the first rule says that matches a line.
func byRules(record recorder, rules ...rule) func(line string, out *results) {
	exprs := make([]func() *regexp.Regexp, len(rules))
	for i, r := range rules {
		exprs[i] = expression(r.expr)
	}
	return func(line string, out *results) {
		for i, r := range rules {
			if !strings.Contains(line, r.has) {
				continue
			}
			m := exprs[i]().FindStringSubmatch(line)
			if m == nil {
				continue
			}
			if name, status := r.read(m, exprs[i]().SubexpIndex("word")); status != "" {
				record(out, name, status)
			}
			return
		}
	}
}

// read takes a match apart. The status is empty for a word that is not known.
func (r rule) read(m []string, word int) (name, status string) {
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
