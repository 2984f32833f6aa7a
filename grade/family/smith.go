package family

import (
	_ "embed"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"batch.example/batch/grade"
	"batch.example/batch/grade/logparse"
	"batch.example/batch/internal/bash"
	"batch.example/batch/internal/diff"
	"batch.example/batch/internal/lazy"
	"batch.example/batch/internal/python"
)

// SWE-smith puts a bug into a working repository: the row's patch introduces it, and there is no
// test patch (SWE-bench/SWE-smith, swesmith/harness). The test command is not in the row but in a
// table of that package.
func isSmith(r row) bool {
	return strings.Contains(r.in.Image, smithImage) && r.in.TestPatch == ""
}

const smithImage = "swesmith.x86_64."

// smithTable has a line for each Python repository at SWE-smith's commit cf2e649:
// owner/name, the first 8 digits of the commit, and the test command where it is not
// smithCommand.
//
//go:embed smith.tsv
var smithTable string

const smithCommand = "pytest --disable-warnings --color=no --tb=no --verbose"

// smithCommands has the test commands by "owner/name commit" in lower case.
var smithCommands = sync.OnceValue(func() map[string]string {
	m := map[string]string{}
	for line := range strings.Lines(smithTable) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		m[strings.ToLower(f[0])+" "+f[1]] = append(f, smithCommand)[2]
	}
	return m
})

func fillSmith(r row, t *Task) error {
	reversed, err := reverse(r.in.Patch)
	if err != nil {
		return r.fault("column patch: %w", err)
	}
	t.Gold = []byte(reversed)
	t.Setup = smithSetup(r.in.Patch)
	t.BaseCommit = "HEAD" // the row's commit is in another repository
	t.Workdir = testbed
	t.Timeout = 2 * time.Minute
	t.rule = missingPasses
	repo, commit := smithRepo(r.in.Image)
	t.Parser, t.parse = smithParser(repo)
	if r.options.EvalScript != "" {
		return nil
	}
	command, ok := smithCommands()[repo+" "+commit]
	if !ok {
		return r.fault("how %s at %s is tested is in a profile of the swesmith package, not in the row", repo, commit).
			WithHint("%s", bringYourOwn)
	}
	command, files := smithTests(repo, command, t.Tests.FailToPass)
	t.TestFiles = files
	t.Tests = grade.Tests{FailToPass: within(t.Tests.FailToPass, files), PassToPass: within(t.Tests.PassToPass, files)}
	t.Script = script([]string{
		"source /opt/miniconda3/bin/activate",
		"conda activate testbed",
		"cd " + testbed + needed,
	}, []string{command})
	return nil
}

// smithRepo returns owner/name in lower case, and the first digits of the commit.
func smithRepo(image string) (repo, commit string) {
	_, name, _ := strings.Cut(image, smithImage)
	name, _, _ = strings.Cut(name, ":")
	if i := strings.LastIndexByte(name, '.'); i >= 0 {
		name, commit = name[:i], name[i+1:]
	}
	return strings.ToLower(strings.NewReplacer("_1776_", "/", "__", "/").Replace(name)), commit
}

// smithSetup puts the bug into the repository. The reference checks out the instance's branch over
// the network, which is this commit with the patch applied. If the bug is already there, the script
// does nothing.
func smithSetup(bug string) string {
	return "set -e\n" +
		"bug=$(mktemp)\n" +
		`trap 'rm -f "$bug"' EXIT` + "\n" +
		bash.Print([]byte(bug)) + ` > "$bug"` + "\n" +
		`if git apply --check --reverse "$bug" 2> /dev/null; then exit 0; fi` + "\n" +
		`git apply "$bug"` + "\n" +
		"git add -A\n" +
		"git -c user.name=SWE-smith -c user.email=swesmith@swesmith.ai commit -q --no-verify -m 'Bug'\n"
}

// smithTests adds the files of the FAIL_TO_PASS tests to a pytest command, or the tests' names if
// files do not name them, and returns these files.
func smithTests(repo, command string, failToPass []string) (string, []string) {
	if !strings.Contains(command, "pytest") {
		return command, nil
	}
	var files, names []string
	for _, test := range failToPass {
		file, _, _ := strings.Cut(test, "::")
		if !slices.Contains(files, file) {
			files = append(files, file)
		}
		if i := strings.LastIndex(test, "::"); i >= 0 {
			test = test[i+len("::"):]
		}
		names = append(names, test)
	}
	if repo == "python/mypy" {
		return command + ` "` + strings.Join(names, " or ") + `"`, nil
	}
	return command + " " + strings.Join(files, " "), files
}

// within returns the tests in files, or all if files is empty.
func within(tests, files []string) []string {
	if len(files) == 0 {
		return tests
	}
	return slices.DeleteFunc(slices.Clone(tests), func(test string) bool {
		return !slices.ContainsFunc(files, func(file string) bool { return strings.HasPrefix(test, file) })
	})
}

// missingPasses counts a test that the log does not have as passed, because only some of the tests
// are run.
func missingPasses(s logparse.Statuses, t grade.Tests) outcome {
	ok := func(test string) (success, counts bool) {
		switch status, there := s[test]; {
		case !there || status == logparse.Passed || status == logparse.XFail:
			return true, true
		case status == logparse.Failed || status == logparse.Error:
			return false, true
		}
		return false, false
	}
	o := outcome{failToPass: split(t.FailToPass, ok), passToPass: split(t.PassToPass, ok)}
	o.resolved = len(o.failToPass.Failure) == 0 && len(o.passToPass.Failure) == 0
	return o
}

// smithParser returns the parser of a repository, and its name.
func smithParser(repo string) (string, parser) {
	switch repo {
	case "gin-gonic/gin":
		return "parse_log_gotest", named("parse_log_gotest", logparse.Row{})
	case "python/mypy":
		return "swesmith mypy", plain(smithLines(smithMypy))
	case "un33k/python-slugify":
		return "swesmith python_slugify", plain(smithLines(smithSlugify))
	case "tornadoweb/tornado":
		return "swesmith tornado", plain(smithLines(smithTornado))
	case "paramiko/paramiko":
		return "swesmith paramiko", plain(smithLines(after(statusFirst)))
	case "hips/autograd":
		return "swesmith autograd", plain(smithLines(after(workerFirst)))
	default:
		return "swesmith pytest", plain(smithLines(smithPytest))
	}
}

// smithLines makes a parser from a function that reads a line: it returns "" for a line without a
// status.
func smithLines(read func(line string) (name, status string)) func(string) logparse.Statuses {
	return func(log string) logparse.Statuses {
		statuses := logparse.Statuses{}
		for line := range strings.SplitSeq(log, "\n") {
			if name, status := read(line); status != "" {
				statuses[name] = status
			}
		}
		return statuses
	}
}

var smithWords = []string{logparse.Failed, logparse.Passed, logparse.Skipped, logparse.Error, logparse.XFail}

// smithPytest reads lines of pytest --verbose: the test, and then its status.
func smithPytest(line string) (name, status string) {
	i := strings.IndexFunc(line, python.IsSpace)
	if i <= 0 {
		return "", ""
	}
	rest := strings.TrimLeftFunc(line[i:], python.IsSpace)
	for _, word := range smithWords {
		if strings.HasPrefix(rest, word) {
			return line[:i], word
		}
	}
	return "", ""
}

func smithMypy(line string) (name, status string) {
	for _, word := range []string{logparse.Passed, logparse.Failed} {
		if strings.Contains(line, word) {
			f := strings.FieldsFunc(line, python.IsSpace)
			return f[len(f)-1], word
		}
	}
	return "", ""
}

var slugifyLine = lazy.Regexp(`^([a-zA-Z0-9_\-,.\s()']+)\s\.{3}\s(ok|FAIL|ERROR)$`)

func smithSlugify(line string) (name, status string) {
	m := slugifyLine().FindStringSubmatch(line)
	if m == nil {
		return "", ""
	}
	return m[1], map[string]string{"ok": logparse.Passed, "FAIL": logparse.Failed, "ERROR": logparse.Error}[m[2]]
}

func smithTornado(line string) (name, status string) {
	name, _, _ = strings.Cut(line, " ... ")
	switch {
	case strings.HasSuffix(line, "... ok"):
		return name, logparse.Passed
	case strings.Contains(line, " ... skipped "):
		return name, logparse.Skipped
	case strings.HasPrefix(line, "ERROR:"), strings.HasPrefix(line, "FAIL:"):
		f := strings.FieldsFunc(line, python.IsSpace)
		return strings.Join(f[1:min(3, len(f))], " "), logparse.Failed
	}
	return "", ""
}

var (
	statusFirst = lazy.Regexp(`^(FAILED|PASSED|SKIPPED|ERROR|XFAIL)\s(\S+)`)
	workerFirst = lazy.Regexp(`^\[gw\d\]\s(FAILED|PASSED|SKIPPED|ERROR|XFAIL)\s(\S+)`)
)

// after reads lines with the status before the test.
func after(re func() *regexp.Regexp) func(string) (name, status string) {
	return func(line string) (name, status string) {
		if m := re().FindStringSubmatch(line); m != nil {
			return m[2], m[1]
		}
		return "", ""
	}
}

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
