package logparse

import (
	"iter"
	"regexp"
	"strings"
)

// failures makes a parser that looks only for failed tests, with the reference's expressions, one
// after the other; the last group is the name. Every match has word in its last line. Lines far
// from the word are skipped: failures are few, and browsers name themselves in every line.
func failures(word string, rename func(string) string, exprs ...string) func(log string, out *results) {
	compiled := make([]func() *regexp.Regexp, len(exprs))
	for i, e := range exprs {
		compiled[i] = expression(e)
	}
	return func(log string, out *results) {
		for i, expr := range compiled {
			for part := range partsWith(log, word, strings.Count(exprs[i], `\s`)) {
				for _, m := range expr().FindAllStringSubmatch(part, -1) {
					out.set(rename(m[len(m)-1]), Failed)
				}
			}
		}
	}
}

// partsWith yields the lines of text with word, each with some lines before it: as many as the line
// ends that a match can have in place of white space. The parts do not overlap.
func partsWith(text, word string, before int) iter.Seq[string] {
	return func(yield func(string) bool) {
		from, to := 0, 0
		for s := (search{text: text}); s.next(word); {
			start := s.start
			for n := 0; n <= before && start > 0; n++ {
				start = max(0, strings.LastIndexByte(text[:start], '\n'))
			}
			if start >= to {
				if to > 0 && !yield(text[from:to]) {
					return
				}
				from = start
			}
			s.line()
			to = min(s.pos+1, len(text))
		}
		yield(text[from:to])
	}
}

const (
	version     = `[` + digitChars + `.]+`
	inlineSpace = `[\t\v\f\x1c-\x20\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}]`
)

var bpmnFailures = failures("FAILED", func(name string) string { return name },
	`2KPhantomJS\s`+version+`\s\(Linux\s`+version+`\)\s(.*)FAILED\n`,
	`2KPhantomJS\s`+version+`\s\(Linux\sx86_64\)\s(.*)FAILED\n`,
	`Chrome\sHeadless\s(?:.*)\s\(Linux\sx86_64\)\s(.*)FAILED\n`,
	`HeadlessChrome\s`+version+`\s\(Linux\s`+version+`\)\s(.*)FAILED\n`)

// bpmnJS reads Karma's failures in the forms of three browsers.
func bpmnJS(log string, _ input, out *results) error {
	bpmnFailures(log, out)
	return nil
}

var chartFailures = failures("FAILED", func(name string) string { return name },
	`(?m)Chrome\s`+version+inlineSpace+`\(.+?\)`+inlineSpace+`(.*)FAILED$`)

// chartJS reads Karma's failures.
func chartJS(log string, _ input, out *results) error {
	chartFailures(stripANSI(log), out)
	return nil
}

var (
	openLayersBrowser = failures("FAILED", oneLine,
		`Chrome\sHeadless\s`+version+`\s\(Linux\s\S+\)\s(.*)\sFAILED\n`,
		`Chrome\s`+version+`\s\(Linux\s\S+\)\s(.*)FAILED\n`)
	openLayersCase = failures("mismatch", oneLine, `(?m)^case\s(.*):\smismatch`)
)

// openLayers reads the failures of Karma, of mocha, (?m)^\s{2}\d+\)([\s\S]*?)Error:, and of the
// rendering tests.
func openLayers(log string, _ input, out *results) error {
	openLayersBrowser(log, out)
	for s := (search{text: log}); s.nextNumber(2); {
		if !isLineStart(log, s.start) {
			continue
		}
		name, _, ok := strings.Cut(log[s.pos:], "Error:")
		if !ok {
			break
		}
		out.set(oneLine(name), Failed)
		s.pos += len(name) + len("Error:")
	}
	openLayersCase(log, out)
	return nil
}

// eslint reads mocha's list of failures: the number, then the name on one or more lines, then a
// line with "Error". It finds all (\s{2}\d+\))([\s\S]*?)\s+(?:(.*)Error); the second group is the
// name.
func eslint(log string, _ input, out *results) error {
	for s := (search{text: log}); s.nextNumber(2); {
		name, length, ok := beforeErrorLine(log[s.pos:])
		if !ok {
			break // no "Error" here, so there is none for later numbers either
		}
		out.set(oneLine(name), Failed)
		s.pos += length
	}
	return nil
}

// beforeErrorLine returns the text before the first white space that is followed by "Error" on the
// same line, and the length up to the last "Error" of that line.
func beforeErrorLine(text string) (before string, length int, ok bool) {
	const word = "Error"
	first, _ := cutWideWord(text, 0)
	space := len(first)
	i := strings.Index(text[space:], word)
	if i < 0 {
		return "", 0, false
	}
	found := space + i
	if newline := strings.LastIndexByte(text[space:found], '\n'); newline >= 0 {
		space = len(stripRight(text[:space+newline]))
	}
	line, _, _ := strings.Cut(text[found:], "\n")
	return text[:space], found + strings.LastIndex(line, word) + len(word), true
}
