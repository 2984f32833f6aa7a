package family

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"batch.example/batch/internal/diff"
	"batch.example/batch/internal/lazy"
)

// reverse returns the diff that undoes a git diff. It does not support binary files and copies.
func reverse(patch string) (string, error) {
	var out strings.Builder
	written, hunks := 0, 0
	for _, f := range diff.Read(patch) {
		if f.Binary || f.Omitted || f.Copied {
			return "", fmt.Errorf("%s is binary or a copy, which cannot be taken back", f.Path())
		}
		out.WriteString(patch[written:f.Start])
		reverseHead(&out, slices.Collect(strings.Lines(f.Head())))
		written = f.Start + len(f.Head())
		for _, h := range f.Hunks {
			if !h.Whole {
				return "", fmt.Errorf("a hunk of %s is shorter or longer than its first line says", f.Path())
			}
			out.WriteString(patch[written:h.Start])
			reverseHunk(&out, h)
			written = h.Start + len(h.Text)
		}
		hunks += len(f.Hunks)
	}
	if strings.Count("\n"+patch, "\n@@ ") != hunks {
		return "", errors.New("a line that begins with @@ is not the first line of a file's hunk")
	}
	return out.String() + patch[written:], nil
}

var (
	gitLine   = lazy.Regexp(`^diff --git a/(.*) b/(.*)\n?$`)
	indexLine = lazy.Regexp(`^index ([0-9a-f]+)\.\.([0-9a-f]+)(.*)\n?$`)
)

// swapped are the beginnings of header lines that change places in the reversed diff. A line of the
// left column comes before its partner.
var swapped = [][2]string{
	{"old mode ", "new mode "},
	{"deleted file mode ", "new file mode "},
	{"rename from ", "rename to "},
}

// reverseHead writes the lines before the first hunk of a file.
func reverseHead(out *strings.Builder, head []string) {
	var from, to string // the lines --- and +++, which are written in reverse order
	for i := 0; i < len(head); i++ {
		line := head[i]
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

func reverseHunk(out *strings.Builder, h diff.Hunk) {
	for line := range strings.Lines(h.Text) {
		switch line[0] {
		case '@':
			header := strings.SplitN(line, " ", 4)
			line = "@@ -" + header[2][1:] + " +" + header[1][1:] + " " + header[3]
		case '-':
			line = "+" + line[1:]
		case '+':
			line = "-" + line[1:]
		}
		out.WriteString(line)
	}
}
