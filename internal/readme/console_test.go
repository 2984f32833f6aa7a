package readme

import (
	"fmt"
	"regexp"
	"strings"
)

// block is a transcript.
type block struct {
	line     int // of its fence, from 1
	docker   bool
	provider bool
	skip     string
	commands []command
}

type command struct {
	line       int
	text, want string
}

var (
	fenced = regexp.MustCompile("(?ms)^```([^\n]*)\n(.*?)^```$")
	marks  = regexp.MustCompile(`^console( docker)?( provider)?(?: skip=(.+))?$`)
	typed  = regexp.MustCompile(`(?m)^\$ ((?:.*\\\n)*.*)\n`)
)

// blocks finds the transcripts in a Markdown file.
func blocks(markdown string) (list []block, err error) {
	for _, at := range fenced.FindAllStringSubmatchIndex(markdown, -1) {
		words, text := markdown[at[2]:at[3]], markdown[at[4]:at[5]]
		if !strings.HasPrefix(words, "console") {
			continue
		}
		line := strings.Count(markdown[:at[0]], "\n") + 1
		mark, commands := marks.FindStringSubmatch(words), typed.FindAllStringSubmatchIndex(text, -1)
		if mark == nil || len(commands) == 0 || commands[0][0] > 0 {
			return nil, fmt.Errorf("line %d: a block console [docker] [provider] [skip=REASON] that begins with a command, not %q", line, words)
		}
		b := block{line: line, docker: mark[1] != "", provider: mark[2] != "", skip: mark[3]}
		for i, c := range commands {
			end := len(text)
			if i+1 < len(commands) {
				end = commands[i+1][0]
			}
			b.commands = append(b.commands, command{line + 1 + strings.Count(text[:c[0]], "\n"), text[c[2]:c[3]], text[c[1]:end]})
		}
		list = append(list, b)
	}
	if strings.Count("\n"+markdown, "\n```")%2 != 0 {
		return nil, fmt.Errorf("the last block has no end")
	}
	return list, nil
}

// matches compares an output with the one in the transcript.
func (c command) matches(got string) bool {
	want := trimmed(c.want)
	if want == "" {
		return true
	}
	var pattern strings.Builder
	for line := range strings.SplitSeq(want, "\n") {
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
	return strings.Trim(regexp.MustCompile(`(?m)[ \t\r]+$`).ReplaceAllString(s, ""), "\n")
}
