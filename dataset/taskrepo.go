package dataset

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"time"

	"go.yaml.in/yaml/v3"

	"batch.example/batch/fault"
)

// A task repo has one folder of plain files per task (github.com/SWE-bench/SWE-bench,
// swebench/task): sweb.yaml and tasks/<id>/{task.yaml, tests.json, ...}.
const (
	repoFile  = "sweb.yaml"
	tasksDir  = "tasks"
	taskFile  = "task.yaml"
	testsFile = "tests.json"
)

// taskColumns are the columns that have a file of their own, byte for byte.
var taskColumns = []struct {
	column, file string
	optional     bool
}{
	{"problem_statement", "problem_statement.md", false},
	{"patch", "gold.patch", false},
	{"test_patch", "test.patch", false},
	{"eval_script", "eval.sh", false},
	{"hints_text", "hints.md", true},
}

func isTaskRepo(fsys fs.FS) bool {
	if _, err := fs.Stat(fsys, repoFile); err == nil {
		return true
	}
	tasks, err := fs.Glob(fsys, path.Join(tasksDir, "*", taskFile))
	return err == nil && len(tasks) > 0
}

// openTaskRepo reads the tasks of one split, in the order of their folders.
func (s Source) openTaskRepo(ctx context.Context, fsys fs.FS) (*Dataset, error) {
	published, err := publishedSplits(s.Name, fsys)
	if err != nil {
		return nil, err
	}
	entries, err := fs.ReadDir(fsys, tasksDir)
	if err != nil {
		return nil, fault.New(fault.Usage, "opening task repo "+s.Name, fmt.Errorf("%s: %w", tasksDir, plainCause(err)))
	}
	bySplit := map[string][]*task{}
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		t, err := openTask(fsys, s.Name, e.Name())
		if err != nil {
			return nil, err
		}
		if t != nil {
			bySplit[t.split] = append(bySplit[t.split], t)
		}
	}
	split, err := pickTaskSplit(s.Name, s.Split, published, bySplit)
	if err != nil {
		return nil, err
	}
	l := loader{}
	for i, t := range bySplit[split] {
		if err := t.readFiles(&l); err != nil {
			return nil, err
		}
		l.rows = append(l.rows, row{place{path.Join(s.Name, t.dir), "task", i + 1}, t.fields})
	}
	d, err := l.dataset(split)
	if err != nil {
		return nil, err
	}
	d.Files = nil
	for _, t := range bySplit[split] {
		d.Files = append(d.Files, t.path(""))
	}
	return d, nil
}

// publishedSplits returns the splits that sweb.yaml publishes, or nil for all.
func publishedSplits(where string, fsys fs.FS) ([]string, error) {
	data, err := fs.ReadFile(fsys, repoFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fault.New(fault.Usage, "reading "+path.Join(where, repoFile), plainCause(err))
	}
	var config struct {
		Splits []string `yaml:"splits"`
	}
	if err := yaml.Unmarshal(data, &config); err != nil {
		return nil, fault.New(fault.Usage, "reading "+path.Join(where, repoFile), err)
	}
	if len(config.Splits) == 0 {
		return []string{"test"}, nil
	}
	return config.Splits, nil
}

// pickTaskSplit prefers published splits; any other is read if it is named.
func pickTaskSplit(where, split string, published []string, bySplit map[string][]*task) (string, error) {
	found := slices.Sorted(maps.Keys(bySplit))
	if len(found) == 0 {
		return "", fault.Newf(fault.Usage, "opening task repo %s: no %s/*/%s in it", where, tasksDir, taskFile)
	}
	open := found
	if published != nil && split == "" {
		open = slices.DeleteFunc(slices.Clone(found), func(s string) bool { return !slices.Contains(published, s) })
	}
	chosen, ok := pick(split, open)
	if !ok {
		return "", noSplit(where, split, found)
	}
	return chosen, nil
}

// task is one folder of a task repo.
type task struct {
	fsys   fs.FS
	where  string // the repo, for errors
	dir    string // within fsys
	split  string
	fields map[string]any
}

// openTask reads task.yaml; it returns nil for a folder without one.
func openTask(fsys fs.FS, where, name string) (*task, error) {
	t := &task{fsys: fsys, where: where, dir: path.Join(tasksDir, name)}
	data, err := fs.ReadFile(fsys, path.Join(t.dir, taskFile))
	if errors.Is(err, fs.ErrNotExist) || err != nil && !isDir(fsys, t.dir) {
		return nil, nil
	}
	if err != nil {
		return nil, t.broken(taskFile, plainCause(err))
	}
	var nodes map[string]yaml.Node
	if err := yaml.Unmarshal(data, &nodes); err != nil {
		return nil, t.broken(taskFile, err)
	}
	t.fields = make(map[string]any, len(nodes)+8)
	for key, node := range nodes {
		if t.fields[key], err = taskValue(key, &node); err != nil {
			return nil, t.broken(taskFile, fmt.Errorf("%s: %w", key, err))
		}
	}
	if id, _ := t.fields["instance_id"].(string); id != name {
		return nil, t.broken(taskFile, fmt.Errorf("instance_id is %q in the folder of %q", id, name))
	}
	t.split, _ = t.fields["split"].(string)
	return t, nil
}

func isDir(fsys fs.FS, name string) bool {
	info, err := fs.Stat(fsys, name)
	return err == nil && info.IsDir()
}

// taskText has the keys that are always text, even if YAML would read a number or a date: 1.10 is a
// version and 1234567 may be a commit.
var taskText = map[string]bool{
	"instance_id": true, "repo": true, "base_commit": true, "version": true, "split": true, "image": true,
	"log_parser": true, "eval_type": true, "created_at": true, "environment_setup_commit": true,
}

func taskValue(key string, node *yaml.Node) (any, error) {
	if node.Kind == yaml.ScalarNode && taskText[key] && node.Tag != "!!null" {
		return node.Value, nil
	}
	var v any
	if err := node.Decode(&v); err != nil {
		return nil, err
	}
	return plainYAML(v)
}

// plainYAML turns decoded YAML into the types of Instance.Fields.
func plainYAML(v any) (any, error) {
	var err error
	switch v := v.(type) {
	case int:
		return int64(v), nil
	case uint64:
		return float64(v), nil
	case time.Time:
		return v.Format(time.RFC3339Nano), nil
	case []any:
		for i := range v {
			if v[i], err = plainYAML(v[i]); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		for k := range v {
			if v[k], err = plainYAML(v[k]); err != nil {
				return nil, err
			}
		}
	case map[any]any:
		return nil, errors.New("a key that is not text")
	}
	return v, nil
}

func (t *task) path(file string) string { return path.Join(t.where, t.dir, file) }

func (t *task) broken(file string, err error) error {
	return fault.New(fault.Usage, "reading "+t.path(file), err)
}

// readFiles adds the columns that have files, and includes every file of the task in l's digest.
func (t *task) readFiles(l *loader) error {
	for _, c := range taskColumns {
		data, err := t.read(l, c.file)
		if c.optional && errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		t.fields[c.column] = string(data)
	}
	if _, err := t.read(l, taskFile); err != nil {
		return err
	}
	data, err := t.read(l, testsFile)
	if err != nil {
		return err
	}
	if err := checkText(t.path(testsFile), data); err != nil {
		return err
	}
	var tests map[string]any
	if err := json.Unmarshal(data, &tests); err != nil {
		return brokenJSON(t.path(testsFile), err)
	}
	maps.Copy(t.fields, plain(tests).(map[string]any))
	return nil
}

func (t *task) read(l *loader, file string) ([]byte, error) {
	name := path.Join(t.dir, file)
	data, err := fs.ReadFile(t.fsys, name)
	if err != nil {
		return nil, t.broken(file, plainCause(err))
	}
	l.add(t.path(file), name, data)
	return data, nil
}
