package readme

import (
	"fmt"
	"regexp"
	"strings"
)

// block is a transcript.
type block struct {
	line     int // of its fence, from 1
	skip     string
	docker   bool
	provider bool
	commands []command
}

type command struct {
	line int
	text string
	want []string
}

const fence = "```"

// blocks finds the transcripts in a Markdown file.
func blocks(markdown string) ([]block, error) {
	var list []block
	inside := "" // the words of the fence while in a block that is not a transcript
	var b *block
	for i, line := range strings.Split(markdown, "\n") {
		words, fenced := strings.CutPrefix(line, fence)
		switch {
		case fenced && b != nil:
			if len(b.commands) == 0 {
				return nil, fmt.Errorf("line %d: a console block without a command", b.line)
			}
			list, b = append(list, *b), nil
		case fenced && inside != "":
			inside = ""
		case fenced && (words == "console" || strings.HasPrefix(words, "console ")):
			b = &block{line: i + 1}
			if err := b.mark(strings.TrimSpace(strings.TrimPrefix(words, "console"))); err != nil {
				return nil, err
			}
		case fenced:
			inside = fence + words
		case b != nil:
			if err := b.add(i+1, line); err != nil {
				return nil, err
			}
		}
	}
	if b != nil || inside != "" {
		return nil, fmt.Errorf("the last block has no end")
	}
	return list, nil
}

// mark reads the words after "console".
func (b *block) mark(words string) error {
	before, reason, skip := strings.Cut(words, "skip=")
	b.skip = strings.TrimSpace(reason)
	if skip && b.skip == "" {
		return fmt.Errorf("line %d: skip= without a reason", b.line)
	}
	for _, word := range strings.Fields(before) {
		switch word {
		case "docker":
			b.docker = true
		case "provider":
			b.provider = true
		default:
			return fmt.Errorf("line %d: console %q; it can be docker, provider or skip=REASON", b.line, word)
		}
	}
	return nil
}

// add takes one line of a transcript.
func (b *block) add(line int, text string) error {
	if cmd, ok := strings.CutPrefix(text, "$ "); ok {
		b.commands = append(b.commands, command{line: line, text: cmd})
		return nil
	}
	if len(b.commands) == 0 {
		return fmt.Errorf("line %d: output before the first command", line)
	}
	last := &b.commands[len(b.commands)-1]
	if len(last.want) == 0 && strings.HasSuffix(last.text, `\`) {
		last.text += "\n" + text
		return nil
	}
	last.want = append(last.want, text)
	return nil
}

// matches compares an output with the one in the transcript.
func (c command) matches(got string) bool {
	want := trimmed(strings.Join(c.want, "\n"))
	if want == "" {
		return true
	}
	var pattern strings.Builder
	for _, line := range strings.Split(want, "\n") {
		if strings.TrimSpace(line) == "..." {
			pattern.WriteString(`(?:.*\n)*`)
			continue
		}
		pattern.WriteString(strings.ReplaceAll(regexp.QuoteMeta(line), `\.\.\.`, `.*`) + `\n`)
	}
	return regexp.MustCompile(`\A` + pattern.String() + `\z`).MatchString(trimmed(got) + "\n")
}

// trimmed removes blanks at the ends of lines and empty lines at both ends.
func trimmed(s string) string {
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " \t\r")
	}
	return strings.Trim(strings.Join(lines, "\n"), "\n")
}
