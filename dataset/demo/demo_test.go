package demo

import (
	"bytes"
	"io/fs"
	"path"
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
