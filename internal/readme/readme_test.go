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

	"github.com/gofrs/flock"

	"batch.example/batch/docs"
	"batch.example/batch/internal/tier"
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
				if p.name != "README.md" {
					tier.Rest(t, "docs", "cmd/batch", "report", "run", "grade", "results", "view", "attempt/serve", "attempt/chat", "audit", "run/doctor",
						"llm/catalogue", "llm/price", "dataset", "agent/config", "sandbox/images", "sandbox")
				}
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
	text, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(text), "\n"); n > 200 {
		t.Errorf("README.md has %d lines, want at most 200: move what the first ten minutes do not need to docs", n)
	}
}

var relativeLink = regexp.MustCompile(`\]\(([\w./-]+)\)`)

func TestLinksLeadToFiles(t *testing.T) {
	root := filepath.Join("..", "..")
	files, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	own, err := filepath.Glob(filepath.Join(root, "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range append(files, own...) {
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
		return fmt.Errorf("$ %s: prints\n%s\nand not\n%s", c.text, trimmed(string(out)), c.want)
	}
	return nil
}

func TestAFalseTranscriptIsCaught(t *testing.T) {
	list, err := blocks(strings.ReplaceAll(`
~~~go
$ no command
~~~
~~~console docker skip=needs a key
$ echo a \
  b
a b
$ echo took 1.234s; echo b; echo c
took ...s
...
c
$ true
~~~
~~~console
$ echo a
b
$ false
$ echo a; echo b
a
~~~
`, "~~~", "```"))
	if err != nil || len(list) != 2 || !list[0].docker || list[0].skip != "needs a key" {
		t.Fatalf("the transcripts were read as %+v, %v", list, err)
	}
	for i, b := range list {
		for _, c := range b.commands {
			if err := c.run(t.Context(), t.TempDir(), os.Environ()); (err == nil) != (i == 0) {
				t.Errorf("$ %s: %v, want it to be caught: %v", c.text, err, i == 1)
			}
		}
	}
	if list, err := blocks("```console dokcer\n$ true\n```\n"); err == nil {
		t.Errorf("an unknown mark was read as %+v", list)
	}
}
