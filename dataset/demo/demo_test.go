package demo

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// task is one instance as it is in the task repository.
type task struct {
	ID         string   `yaml:"instance_id"`
	Repo       string   `yaml:"repo"`
	Version    string   `yaml:"version"`
	BaseCommit string   `yaml:"base_commit"`
	Split      string   `yaml:"split"`
	Datasets   []string `yaml:"datasets"`
	Image      string   `yaml:"image"`
	LogParser  string   `yaml:"log_parser"`
	EvalType   string   `yaml:"eval_type"`
	Language   string   `yaml:"language"`
	Title      string   `yaml:"title"`

	gold, test, eval, problem []byte
	repo                      map[string][]byte // path in the repository -> content
}

func readTasks(t *testing.T) []task {
	t.Helper()
	dirs, err := fs.ReadDir(Files(), "tasks")
	if err != nil {
		t.Fatal(err)
	}
	tasks := make([]task, 0, len(dirs))
	for _, d := range dirs {
		tasks = append(tasks, readTask(t, d.Name()))
	}
	return tasks
}

func readTask(t *testing.T, id string) task {
	t.Helper()
	read := func(name string) []byte {
		data, err := fs.ReadFile(Files(), path.Join("tasks", id, name))
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	var k task
	decode(t, read("task.yaml"), &k)
	if k.ID != id {
		t.Errorf("tasks/%s/task.yaml says instance_id %q", id, k.ID)
	}
	k.gold, k.test = read("gold.patch"), read("test.patch")
	k.eval, k.problem = read("eval.sh"), read("problem_statement.md")
	k.repo = readTree(t, path.Join("tasks", id, "repo"))
	return k
}

func readTree(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	tree := map[string][]byte{}
	err := fs.WalkDir(Files(), dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(Files(), name)
		tree[strings.TrimPrefix(name, dir+"/")] = data
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// decode reads YAML and refuses keys that dst does not have.
func decode(t *testing.T, data []byte, dst any) {
	t.Helper()
	d := yaml.NewDecoder(bytes.NewReader(data))
	d.KnownFields(true)
	if err := d.Decode(dst); err != nil {
		t.Fatal(err)
	}
}

func TestEveryTaskIsComplete(t *testing.T) {
	parsers := []string{
		"parse_log_pytest", "parse_log_googletest", "parse_log_tap",
		"parse_log_jq", "parse_log_redis", "parse_log_micropython_test",
	}
	for _, k := range readTasks(t) {
		t.Run(k.ID, func(t *testing.T) {
			if k.Image != "batch-demo/"+k.ID+":latest" {
				t.Errorf("image is %q, want image %v", k.Image, "batch-demo/"+k.ID+":latest")
			}
			if k.Split != "test" || k.EvalType != "pass_and_fail" || !slices.Equal(k.Datasets, []string{"demo"}) {
				t.Errorf("split %q, eval_type %q, datasets %q", k.Split, k.EvalType, k.Datasets)
			}
			if !slices.Contains(parsers, k.LogParser) {
				t.Errorf("log_parser is %q, want one of %q", k.LogParser, parsers)
			}
			if len(k.BaseCommit) != 40 || k.Repo == "" || k.Version == "" || k.Language == "" || k.Title == "" {
				t.Errorf("task.yaml lacks a field: %+v", k)
			}
			if !utf8.Valid(k.problem) || !utf8.Valid(k.eval) || len(k.problem) < 100 {
				t.Error("problem_statement.md and eval.sh have to be text in UTF-8")
			}
		})
	}
}

func TestTheDemoHasSpecialCases(t *testing.T) {
	tasks := map[string]task{}
	languages := map[string]bool{}
	for _, k := range readTasks(t) {
		tasks[k.ID] = k
		languages[k.Language] = true
	}
	if len(tasks) < 8 || len(languages) < 3 {
		t.Errorf("%d instances in %d languages, want at least 8 in 3", len(tasks), len(languages))
	}
	t.Run("every line of winini ends in CRLF", func(t *testing.T) {
		for name, data := range tasks["demo__winini-2"].repo {
			if bytes.Count(data, []byte("\n")) != bytes.Count(data, []byte("\r\n")) {
				t.Errorf("%s has a bare line feed", name)
			}
		}
		if !bytes.Contains(tasks["demo__winini-2"].gold, []byte("\r\n+")) {
			t.Error("the gold patch has no CRLF")
		}
	})
	t.Run("monate is not UTF-8", func(t *testing.T) {
		k := tasks["demo__monate-3"]
		if utf8.Valid(k.gold) || utf8.Valid(k.test) || utf8.Valid(k.repo["lib/Monate.pm"]) {
			t.Error("patches and source should have bytes of ISO-8859-1")
		}
		if !bytes.Contains(k.gold, []byte("\n+    $name =~ tr/A-Z\xc4\xd6\xdc/a-z\xe4\xf6\xfc/;\n")) {
			t.Error("the gold patch should add bytes of ISO-8859-1")
		}
	})
	for name, want := range map[string]struct{ id, text string }{
		"csvsum adds a file":            {"demo__csvsum-5", "\nnew file mode 100644\n"},
		"rotate renames a file":         {"demo__rotate-6", "\nrename from bin/rotate.sh\nrename to bin/rotate\n"},
		"rotate changes a mode":         {"demo__rotate-6", "old mode 100644\nnew mode 100755\n"},
		"rotate deletes a file":         {"demo__rotate-6", "\ndeleted file mode 100644\n"},
		"wordfreq ends without newline": {"demo__wordfreq-7", "\n\\ No newline at end of file"},
	} {
		t.Run(name, func(t *testing.T) {
			if !bytes.Contains(tasks[want.id].gold, []byte(want.text)) {
				t.Errorf("the gold patch does not have %q", want.text)
			}
		})
	}
	t.Run("factor has a patch over 256 KiB", func(t *testing.T) {
		if n := len(tasks["demo__factor-4"].gold); n <= 256<<10 {
			t.Errorf("it has %d bytes, want more than %v", n, 256<<10)
		}
	})
}

// repository commits the task's files as in its image, and returns the folder.
func repository(t *testing.T, k task) string {
	t.Helper()
	dir := t.TempDir()
	for name, data := range k.repo {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	git(t, dir, nil, "init", "-q")
	git(t, dir, nil, "add", "-A", "-f")
	git(t, dir, nil, "commit", "-q", "-m", "Initial import")
	return dir
}

// git runs one command without any configuration of the user or system.
func git(t *testing.T, dir string, stdin []byte, args ...string) string {
	t.Helper()
	const name, mail, date = "Batch Demo", "demo@batch.example", "2024-01-01T00:00:00+0000"
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir = dir
	cmd.Stdin = bytes.NewReader(stdin)
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + dir,
		"GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_CONFIG_NOSYSTEM=1", "GIT_DEFAULT_HASH=sha1",
		"GIT_AUTHOR_NAME=" + name, "GIT_AUTHOR_EMAIL=" + mail, "GIT_AUTHOR_DATE=" + date,
		"GIT_COMMITTER_NAME=" + name, "GIT_COMMITTER_EMAIL=" + mail, "GIT_COMMITTER_DATE=" + date,
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

func TestGitMakesTheCommitAndTakesThePatches(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	for _, k := range readTasks(t) {
		t.Run(k.ID, func(t *testing.T) {
			t.Parallel()
			dir := repository(t, k)
			if got := strings.TrimSpace(git(t, dir, nil, "rev-parse", "HEAD")); got != k.BaseCommit {
				t.Errorf("the files make commit %s, task.yaml says %s", got, k.BaseCommit)
			}
			git(t, dir, k.test, "apply", "--check", "-")
			git(t, dir, k.gold, "apply", "--index", "-")
			if got := git(t, dir, nil, "diff", "--cached", "-M"); got != string(k.gold) {
				t.Error("git diff of the solution is not gold.patch, byte for byte")
			}
			git(t, dir, k.test, "apply", "-")
		})
	}
}

// reply has the keys that a scripted reply of the demo may have.
type reply struct {
	Content string  `yaml:"content"`
	Bash    string  `yaml:"bash"`
	Cost    float64 `yaml:"cost"`
	In      int     `yaml:"input_tokens"`
	Out     int     `yaml:"output_tokens"`
}

func readReplies(t *testing.T) map[string][]reply {
	t.Helper()
	var all map[string][]reply
	text, err := fs.ReadFile(Files(), "replies.yaml")
	if err != nil {
		t.Fatal(err)
	}
	decode(t, text, &all)
	return all
}

func submits(r reply) bool {
	return strings.HasPrefix(r.Bash, "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT")
}

func TestEveryInstanceHasReplies(t *testing.T) {
	all := readReplies(t)
	tasks := readTasks(t)
	if len(all) != len(tasks) {
		t.Errorf("replies for %d instances, want %d", len(all), len(tasks))
	}
	for _, k := range tasks {
		t.Run(k.ID, func(t *testing.T) {
			if len(all[k.ID]) < 3 {
				t.Fatalf("got %d replies, want values at least 3", len(all[k.ID]))
			}
			for i, r := range all[k.ID] {
				if r.Content == "" || r.Cost <= 0 || r.Cost > 0.01 || r.In < 1000 || r.Out < 1 {
					t.Errorf("reply %d lacks a field: %+v", i+1, r)
				}
				if submits(r) && i+1 != len(all[k.ID]) {
					t.Errorf("reply %d submits and is not the last", i+1)
				}
			}
		})
	}
}

func TestTheRepliesCoverEveryOutcomeOfTheDemo(t *testing.T) {
	const stepLimit = 12
	all := readReplies(t)
	for id, replies := range all {
		last := replies[len(replies)-1]
		ends := submits(last)
		if limit := len(replies) > stepLimit; limit == ends {
			t.Errorf("%s: %d replies, the last submits: %v", id, len(replies), ends)
		}
		badForm := slices.ContainsFunc(replies, func(r reply) bool { return r.Bash == "" })
		if badForm != (id == "demo__roman-8") {
			t.Errorf("%s: a reply without a call: %v, want the opposite", id, badForm)
		}
		empty := ends && !strings.Contains(last.Bash, "cat ")
		if empty != (id == "demo__wordfreq-7") {
			t.Errorf("%s: submits nothing: %v, want empty %v", id, empty, (id == "demo__wordfreq-7"))
		}
	}
	if len(all["demo__rpn-9"]) <= stepLimit {
		t.Error("demo__rpn-9 should reach the step limit")
	}
	endless := regexp.MustCompile(`^bash bin/retry -n 3 false\n?$`)
	if !slices.ContainsFunc(all["demo__retry-10"], func(r reply) bool { return endless.MatchString(r.Bash) }) {
		t.Error("demo__retry-10 should run the command that never ends")
	}
}
