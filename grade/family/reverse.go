package family

import (
	"errors"
	"fmt"
	"strings"

	"batch.example/batch/internal/lazy"
)

// reverse returns the diff that undoes a git diff. It does not support binary files.
func reverse(diff string) (string, error) {
	lines := strings.SplitAfter(diff, "\n")
	if n := len(lines); n > 0 && lines[n-1] == "" {
		lines = lines[:n-1]
	}
	var out strings.Builder
	for len(lines) > 0 {
		head := []string{}
		for len(lines) > 0 && !strings.HasPrefix(lines[0], "@@ ") && (len(head) == 0 || !strings.HasPrefix(lines[0], "diff --git ")) {
			head, lines = append(head, lines[0]), lines[1:]
		}
		if err := reverseHead(&out, head); err != nil {
			return "", err
		}
		for len(lines) > 0 && strings.HasPrefix(lines[0], "@@ ") {
			rest, err := reverseHunk(&out, lines)
			if err != nil {
				return "", err
			}
			lines = rest
		}
	}
	return out.String(), nil
}

var (
	gitLine   = lazy.Regexp(`^diff --git a/(.*) b/(.*)\n?$`)
	indexLine = lazy.Regexp(`^index ([0-9a-f]+)\.\.([0-9a-f]+)(.*)\n?$`)
	hunkLine  = lazy.Regexp(`^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@`)
)

// swapped are the beginnings of header lines that change places in the reversed diff. A line of the
// left column comes before its partner.
var swapped = [][2]string{
	{"old mode ", "new mode "},
	{"deleted file mode ", "new file mode "},
	{"rename from ", "rename to "},
}

// reverseHead writes the lines before the first hunk of a file.
func reverseHead(out *strings.Builder, head []string) error {
	var from, to string // the lines --- and +++, which are written in reverse order
	for i := 0; i < len(head); i++ {
		line := head[i]
		if strings.HasPrefix(line, "GIT binary patch") || strings.HasPrefix(line, "Binary files ") || strings.HasPrefix(line, "copy from ") {
			return fmt.Errorf("%q cannot be taken back", strings.TrimSpace(line))
		}
		switch m := gitLine().FindStringSubmatch(line); {
		case m != nil:
			line = "diff --git a/" + m[2] + " b/" + m[1] + "\n"
		case indexLine().MatchString(line):
			line = indexLine().ReplaceAllString(line, "index $2..$1$3\n")
		case strings.HasPrefix(line, "--- "):
			from = line[len("--- "):]
			continue
		case strings.HasPrefix(line, "+++ "):
			to = line[len("+++ "):]
			out.WriteString("--- " + side(to, "b/", "a/") + "+++ " + side(from, "a/", "b/"))
			continue
		default:
			line = swapHeader(head, &i)
		}
		out.WriteString(line)
	}
	return nil
}

func side(path, was, is string) string {
	if strings.HasPrefix(path, was) {
		return is + path[len(was):]
	}
	return path // /dev/null
}

// swapHeader returns the lines for the header line at i. If it changes places with the next line,
// it returns both and skips the next one.
func swapHeader(head []string, i *int) string {
	line := head[*i]
	for _, pair := range swapped {
		for k, begin := range pair {
			if !strings.HasPrefix(line, begin) {
				continue
			}
			other := pair[1-k]
			if *i+1 < len(head) && strings.HasPrefix(head[*i+1], other) {
				next := head[*i+1]
				*i++
				return begin + next[len(other):] + other + line[len(begin):]
			}
			return other + line[len(begin):]
		}
	}
	return line
}

// reverseHunk writes the first hunk of lines, and returns the lines after it.
func reverseHunk(out *strings.Builder, lines []string) ([]string, error) {
	m := hunkLine().FindStringSubmatch(lines[0])
	if m == nil {
		return nil, fmt.Errorf("%.80q is not the first line of a hunk", lines[0])
	}
	fmt.Fprintf(out, "@@ -%s +%s @@%s", span(m[3], m[4]), span(m[1], m[2]), lines[0][len(m[0]):])
	removed, added := count(m[2]), count(m[4])
	lines = lines[1:]
	for len(lines) > 0 && (removed > 0 || added > 0 || strings.HasPrefix(lines[0], `\`)) {
		line := lines[0]
		switch {
		case strings.HasPrefix(line, "-"):
			line, removed = "+"+line[1:], removed-1
		case strings.HasPrefix(line, "+"):
			line, added = "-"+line[1:], added-1
		case strings.HasPrefix(line, " "), line == "\n": // some tools drop the blank of an empty line
			removed, added = removed-1, added-1
		case !strings.HasPrefix(line, `\`):
			return nil, fmt.Errorf("%.80q is no line of a hunk", line)
		}
		out.WriteString(line)
		lines = lines[1:]
	}
	if removed != 0 || added != 0 {
		return nil, errors.New("a hunk is shorter or longer than its first line says")
	}
	return lines, nil
}

func span(start, length string) string {
	if length == "" {
		return start
	}
	return start + "," + length
}

func count(length string) int {
	n := 1
	if length != "" {
		fmt.Sscan(length, &n)
	}
	return n
}
