package starter

import (
	"bytes"
	"context"
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"text/template"

	"batch.example/batch/fault"
)

//go:embed files
var files embed.FS

var templates = sync.OnceValue(func() *template.Template { return template.Must(template.ParseFS(files, "files/*")) })

const ignored = ".dockerignore"

// write writes all files: the embedded ones, the rows and the bundle.
func (t *target) write(ctx context.Context, repo repository, changes []change, w Written, c Config) error {
	rows, err := rowsOf(changes, repo.name, w.Image, c.Test, c.LogParser)
	if err != nil {
		return fault.New(fault.Bug, "writing rows", err)
	}
	if err := t.add("rows.jsonl", rows); err != nil {
		return err
	}
	fill := map[string]string{
		"Repo": repo.name, "Image": w.Image, "Base": c.Base, "Bundle": bundle,
		"First": instanceID(repo.name, changes[0].commit), "Test": c.Test,
	}
	for _, name := range []string{"Dockerfile", "dockerignore", "config.yaml", "README.md"} {
		var b bytes.Buffer
		if err := templates().ExecuteTemplate(&b, name, fill); err != nil {
			return fault.New(fault.Bug, "writing "+name, err)
		}
		if name == "dockerignore" { // go:embed would leave out a name with a dot
			name = ignored
		}
		if err := t.add(name, b.Bytes()); err != nil {
			return err
		}
	}
	return t.bundle(ctx, repo)
}

//go:embed all:example
var example embed.FS

// step is one commit of the example; dir has its files.
type step struct{ dir, message, fixes string }

var steps = []step{
	{"0", "A shop's prices", ""},
	{"1", "discount: more than the whole price goes below zero\n\nA discount of 120 % makes a price negative: discount(10, 120) is -2, and should be 0.", "tests/test_prices.py::test_discount_never_goes_below_zero"},
	{"2", "total: an empty cart fails\n\ntotal([]) raises an IndexError. The total of an empty cart should be 0.", "tests/test_prices.py::test_an_empty_cart_costs_nothing"},
	{"3", "show: cents are missing\n\nshow(3.5) is \"3.5 EUR\". Prices should always have two digits: \"3.50 EUR\".", "tests/test_prices.py::test_prices_have_two_digits"},
}

// example creates the example's repository.
func (t *target) example(ctx context.Context) (repository, error) {
	r := repository{dir: filepath.Join(t.dir, exampleRepo), name: "example/shop", pass: map[string]exampleTests{}}
	if err := os.Mkdir(r.dir, 0o777); err != nil {
		return r, fault.New(fault.Usage, "making the example's repository", err)
	}
	t.names, t.made = append(t.names, exampleRepo), append(t.made, r.dir)
	if _, err := r.git(ctx, "init", "-q"); err != nil {
		return r, err
	}
	passing := []string{"tests/test_prices.py::test_discount", "tests/test_prices.py::test_total", "tests/test_prices.py::test_show"}
	for i, s := range steps {
		date := fmt.Sprintf("2025-01-%02dT12:00:00+0000", i+1) // the same commits on every machine
		r.env = []string{
			"GIT_AUTHOR_NAME=Example", "GIT_AUTHOR_EMAIL=example@localhost", "GIT_AUTHOR_DATE=" + date,
			"GIT_COMMITTER_NAME=Example", "GIT_COMMITTER_EMAIL=example@localhost", "GIT_COMMITTER_DATE=" + date,
		}
		if err := r.copy(path.Join("example", s.dir)); err != nil {
			return r, err
		}
		for _, args := range [][]string{{"add", "-A", "-f", "."}, {"commit", "-q", "-m", s.message}} {
			if _, err := r.git(ctx, args...); err != nil {
				return r, err
			}
		}
		subject, _, _ := strings.Cut(s.message, "\n")
		if s.fixes != "" {
			r.pass[subject] = exampleTests{fixed: []string{s.fixes}, kept: slices.Clone(passing)}
			passing = append(passing, s.fixes)
		}
	}
	return r, nil
}

// copy writes the files of an embedded folder into the repository.
func (r repository) copy(from string) error {
	return fs.WalkDir(example, from, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := example.ReadFile(name)
		if err != nil {
			return err
		}
		to := filepath.Join(r.dir, filepath.FromSlash(strings.TrimPrefix(name, from+"/")))
		if err := os.MkdirAll(filepath.Dir(to), 0o777); err != nil {
			return fault.New(fault.Host, "writing the example's repository", err)
		}
		if err := os.WriteFile(to, data, 0o666); err != nil {
			return fault.New(fault.Host, "writing the example's repository", err)
		}
		return nil
	})
}
