//go:build !race

package archtest

import (
	"regexp"
	"strings"
)

// rule is one of those that are banned.
type rule struct {
	*regexp.Regexp
	instead string
	needs   []set // a match has all words of one of them
}

// set is one of the words of all rules.
type set [4]uint64

func (s *set) add(i int) { s[i/64] |= 1 << (i % 64) }

func (s *set) union(other set) {
	for i := range s {
		s[i] |= other[i]
	}
}

func (s *set) has(other set) bool {
	for i := range s {
		if other[i]&^s[i] != 0 {
			return false
		}
	}
	return true
}

// checker finds what is banned. Regular expressions are slow, most of all under the race
// detector, so a text is only searched for what its words may be.
type checker struct {
	rules []rule
	words []*regexp.Regexp
	known map[string]set // a word, and which of words it is
	names map[string]bool
}

func newChecker() *checker {
	c := &checker{known: map[string]set{}, names: map[string]bool{}}
	for _, b := range banned {
		r := rule{regexp.MustCompile(`(?i)\b(?:` + strings.ReplaceAll(b.pattern, " ", `[\s/#*]+`) + `)\b`), b.instead, nil}
		for _, words := range alternatives(b.pattern) {
			var need set
			for _, w := range words {
				need.add(len(c.words))
				c.words = append(c.words, regexp.MustCompile(`(?i)^(?:`+w+`)$`))
			}
			r.needs = append(r.needs, need)
		}
		c.rules = append(c.rules, r)
	}
	return c
}

// alternatives returns the words of each of a pattern's alternatives.
func alternatives(pattern string) (list [][]string) {
	pattern = strings.ReplaceAll(pattern, "[.;:]", "") // no part of a word
	for _, alternative := range outside(pattern, '|') {
		list = append(list, outside(alternative, ' '))
	}
	return list
}

// outside splits a pattern where sep is in no parentheses.
func outside(pattern string, sep rune) []string {
	depth := 0
	return strings.FieldsFunc(pattern, func(r rune) bool {
		depth += strings.Count("(", string(r)) - strings.Count(")", string(r))
		return depth == 0 && r == sep
	})
}

// wordsIn returns which of the words are in a text.
func (c *checker) wordsIn(text string) (all set) {
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return r > 'z' || !inWord[r] }) {
		words, known := c.known[word]
		if !known {
			for i, w := range c.words {
				if w.MatchString(word) {
					words.add(i)
				}
			}
			c.known[word] = words
		}
		all.union(words)
	}
	return all
}

// inWord is what \w matches.
var inWord = func() (is ['z' + 1]bool) {
	for _, r := range "_0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ" {
		is[r] = true
	}
	return is
}()
