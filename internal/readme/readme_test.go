package readme

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/gofrs/flock"

	"batch.example/batch/docs"
	"batch.example/batch/llm/stub"
)

// demoBase is the image on which all of the demo's images are built.
const demoBase = "batch-demo/base:latest"

// page is a Markdown file with transcripts.
type page struct {
	name   string // its path below the module
	blocks []block
}

// pages are README.md, and then the pages of package docs that are written by hand.
func pages(t *testing.T) []page {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	list := []page{read(t, "README.md", string(text))}
	if len(list[0].blocks) == 0 {
		t.Fatal("README.md shows no command in a console block")
	}
	for _, p := range docs.Pages {
		if p.ByHand() {
			list = append(list, read(t, "docs/"+p.Name+".md", p.Markdown()))
		}
	}
	return list
}

func read(t *testing.T, name, text string) page {
	t.Helper()
	list, err := blocks(text)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return page{name, list}
}

func TestTheTranscriptsAreTrue(t *testing.T) {
	alone(t)
	env := environment(t, filepath.Join("..", ".."))
	dir := t.TempDir()
	for _, p := range pages(t) {
		for _, b := range p.blocks {
			t.Run(fmt.Sprintf("%s:%d", p.name, b.line), func(t *testing.T) {
				b.run(t, p.name, dir, env)
				leaveDemoRun(t, dir)
			})
		}
	}
}

// run executes the block of a page.
func (b block) run(t *testing.T, name, dir string, env []string) {
	t.Helper()
	if b.skip != "" {
		t.Skip(b.skip)
	}
	if b.docker {
		needDocker(t)
	}
	if b.provider {
		model := stub.NewServer(t, stub.Text("OK"))
		env = append(slices.Clone(env), "OPENAI_API_KEY=sk-only-for-this-test", "OPENAI_BASE_URL="+model.URL)
	}
	for _, c := range b.commands {
		if to, moves := strings.CutPrefix(c.text, "cd "); moves {
			dir = filepath.Join(dir, to)
			continue
		}
		if err := c.run(t.Context(), dir, env); err != nil {
			t.Fatalf("%s:%d: %v", name, c.line, err) // later commands need it
		}
	}
}

// README.md is for the first ten minutes. The rest has pages in docs.
func TestTheReadmeIsShort(t *testing.T) {
	const lines, columns = 200, 120
	text, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.Lines(string(text)) {
		n++
		if width := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); width > columns {
			t.Errorf("README.md:%d has %d columns, at most %d are read easily", n, width, columns)
		}
	}
	if n > lines {
		t.Errorf("README.md has %d lines, more than %d: move what the first ten minutes do not need to docs", n, lines)
	}
}

var relativeLink = regexp.MustCompile(`\]\(([\w./-]+)\)`)

func TestLinksLeadToFiles(t *testing.T) {
	root := filepath.Join("..", "..")
	files, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range append(files, filepath.Join(root, "README.md")) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range relativeLink.FindAllStringSubmatch(string(text), -1) {
			if _, err := os.Stat(filepath.Join(filepath.Dir(file), m[1])); err != nil {
				t.Errorf("%s links to %s: %v", file, m[1], err)
			}
		}
	}
}

// alone waits until no other test of transcripts runs on this machine: the commands name images,
// which are the same for all.
func alone(t *testing.T) {
	t.Helper()
	if os.Getenv("BATCH_DOCKER") != "require" {
		return
	}
	lock := flock.New(filepath.Join("/tmp", fmt.Sprintf(".readme-%d.lock", os.Getuid())))
	if err := lock.Lock(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = lock.Unlock() })
}

// leaveDemoRun copies the demo's sweep to BATCH_DEMO_RUN, as soon as a block has made it: package
// e2e has tests that look at it.
func leaveDemoRun(t *testing.T, dir string) {
	t.Helper()
	from, to := filepath.Join(dir, "demo-run"), os.Getenv("BATCH_DEMO_RUN")
	if _, err := os.Stat(from); to == "" || err != nil {
		return
	}
	if _, err := os.Stat(to); err == nil {
		return
	}
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
}

// `make demo` installs and builds, and then runs what the README shows.
func TestTheDemoRunsWhatTheReadmeShows(t *testing.T) {
	script, err := os.ReadFile(filepath.Join("..", "..", "scripts", "demo"))
	if err != nil {
		t.Fatal(err)
	}
	list := pages(t)[0].blocks
	at := slices.IndexFunc(list, func(b block) bool { return b.docker })
	if at < 0 || !strings.HasPrefix(list[at].commands[0].text, "batch sweep ") {
		t.Fatal("the first block that needs Docker does not begin with a sweep")
	}
	var shown, run []string
	for _, c := range list[at].commands {
		shown = append(shown, words(c.text))
	}
	plain := strings.NewReplacer("\\\n", " ", "bin/batch", "batch", `"$out/report.html"`, "demo-run/report.html", `"$out"`, "demo-run").Replace(string(script))
	for line := range strings.Lines(plain) {
		if strings.HasPrefix(line, "batch ") {
			run = append(run, words(line))
		}
	}
	if len(run) == 0 || len(run) > len(shown) || !slices.Equal(run, shown[:len(run)]) {
		t.Errorf("scripts/demo runs\n%s\nREADME.md shows\n%s", strings.Join(run, "\n"), strings.Join(shown, "\n"))
	}
}

// words sorts the words of a command, since the order of its flags does not matter.
func words(command string) string {
	return strings.Join(slices.Sorted(strings.FieldsSeq(strings.ReplaceAll(command, "\\\n", " "))), " ")
}

// environment returns what commands see. It builds the program, unless BATCH_PROGRAM names one.
func environment(t *testing.T, root string) []string {
	t.Helper()
	bin, home := filepath.Dir(os.Getenv("BATCH_PROGRAM")), t.TempDir()
	if os.Getenv("BATCH_PROGRAM") == "" {
		bin = t.TempDir()
		build := exec.Command("go", "build", "-ldflags=-s -w", "-o", filepath.Join(bin, "batch"), "./cmd/batch")
		build.Dir = root
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("building batch: %v\n%s", err, out)
		}
	}
	dockerConfig := os.Getenv("DOCKER_CONFIG")
	if dockerConfig == "" {
		dockerConfig = filepath.Join(os.Getenv("HOME"), ".docker")
	}
	const nowhere = "http://127.0.0.1:9" // the discard port: a command that needs the network fails at once
	return append(os.Environ(),
		"PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"),
		"HOME="+home, "DOCKER_CONFIG="+dockerConfig, "TERM=dumb", "LC_ALL=C.UTF-8",
		"HF_HOME=", "HF_TOKEN=", "OPENAI_API_KEY=", "OPENAI_BASE_URL=",
		"HTTP_PROXY="+nowhere, "HTTPS_PROXY="+nowhere, "http_proxy="+nowhere, "https_proxy="+nowhere,
	)
}

// needDocker skips a test without Docker or the demo's images.
func needDocker(t *testing.T) {
	t.Helper()
	if os.Getenv("BATCH_DOCKER") == "require" {
		return
	}
	if out, err := exec.Command("docker", "image", "inspect", demoBase).CombinedOutput(); err != nil {
		t.Skipf("no engine with the demo's images (make demo): %v: %s", err, out)
	}
}

// run executes the command and reports how its output differs from the page.
func (c command) run(ctx context.Context, dir string, env []string) error {
	ctx, cancel := context.WithTimeout(ctx, 15*time.Minute) // on a busy machine too
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-c", c.text)
	cmd.Dir, cmd.Env = dir, env
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("$ %s: %w\n%s", c.text, err, out)
	}
	if !c.matches(string(out)) {
		return fmt.Errorf("$ %s: prints\n%s\nand not\n%s", c.text, trimmed(string(out)), strings.Join(c.want, "\n"))
	}
	return nil
}

func TestTranscriptsAreFoundAndRead(t *testing.T) {
	text := strings.ReplaceAll(`# x
~~~go
$ no command
~~~
~~~console
$ echo a \
  b
a b

$ true
~~~
~~~console docker skip=needs a key
$ false
~~~
`, "~~~", fence)
	list, err := blocks(text)
	if err != nil {
		t.Fatal(err)
	}
	if len(list) != 2 || len(list[0].commands) != 2 || list[0].line != 5 || list[0].skip != "" || list[0].docker {
		t.Fatalf("the transcripts were read as %+v", list)
	}
	if !list[1].docker || list[1].skip != "needs a key" {
		t.Errorf("the marks were read as %+v, want docker and a reason to skip", list[1])
	}
	for _, c := range list[0].commands {
		if err := c.run(t.Context(), t.TempDir(), os.Environ()); err != nil {
			t.Error(err)
		}
	}
}

func TestBrokenTranscriptsAreRefused(t *testing.T) {
	for what, text := range map[string]string{
		"no end":           "~~~console\n$ true\n",
		"no end elsewhere": "~~~go\n",
		"output first":     "~~~console\nout\n~~~\n",
		"no command":       "~~~console\n~~~\n",
		"an unknown mark":  "~~~console dokcer\n$ true\n~~~\n",
		"no reason":        "~~~console skip=\n$ true\n~~~\n",
	} {
		t.Run(what, func(t *testing.T) {
			if list, err := blocks(strings.ReplaceAll(text, "~~~", fence)); err == nil {
				t.Errorf("read as %+v, want an error", list)
			}
		})
	}
}

func TestAFalseTranscriptIsCaught(t *testing.T) {
	for _, c := range []struct {
		cmd, want string
		fine      bool
	}{
		{"echo a; echo b", "a\nb", true},
		{"echo a; echo b", "a", false},
		{"echo a; echo b", "a\nc", false},
		{"echo a; echo b", "", true},
		{"echo a; echo b; echo c", "a\n...\nc", true},
		{"echo a; echo c", "a\n...\nc", true},
		{"echo a; echo b", "...\nb", true},
		{"echo a; echo b", "...\nc", false},
		{"echo took 1.234s", "took ...s", true},
		{"echo took 1.234s", "took ...m", false},
		{"echo 'a+b  '", "a+b", true},
		{"echo 'aab'", "a+b", false},
		{"echo out; echo err >&2", "out\nerr", true},
		{"exit 3", "", false},
		{"(exit 3); echo $?", "3", true},
		{"batch-is-not-there", "", false},
	} {
		t.Run(c.cmd+" against "+c.want, func(t *testing.T) {
			err := command{text: c.cmd, want: strings.Split(c.want, "\n")}.run(t.Context(), t.TempDir(), os.Environ())
			if (err == nil) != c.fine {
				t.Errorf("%v, want it to be fine: %v", err, c.fine)
			}
		})
	}
}
