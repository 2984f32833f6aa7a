package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"batch.example/batch/dataset"
	"batch.example/batch/dataset/demo"
	"batch.example/batch/dataset/hub"
	"batch.example/batch/dataset/starter"
	"batch.example/batch/fault"
	"batch.example/batch/grade/logparse"
	"batch.example/batch/internal/near"
	"batch.example/batch/internal/printable"
	"batch.example/batch/run"
	"batch.example/batch/vocab"
)

func (a *app) datasetCommand() *cobra.Command {
	r := run.NewRequest()
	var asJSON bool
	c := &cobra.Command{
		Use:   "dataset [INSTANCE...]",
		Short: "List instances, or show some",
		Long: `List the instances of a dataset that the selection flags keep, or show the
ones named.

  batch dataset --subset verified --filter django__ --slice :5
  batch dataset --subset demo demo__slug-1
  batch dataset --subset rows.parquet --json | jq .instance_id
  batch dataset init my-dataset --repo ~/src/shop
  batch dataset fill my-dataset/rows.jsonl -c my-dataset/config.yaml

How to write a row of your own: batch help row`,
		RunE: func(c *cobra.Command, ids []string) error {
			if err := notACommand(c, ids); err != nil {
				return err
			}
			ds, selected, err := a.load(c.Context(), r)
			if err != nil {
				return err
			}
			if len(ids) > 0 {
				if selected, err = (dataset.Selection{IDs: ids}).Apply(selected); err != nil {
					return err
				}
			}
			switch {
			case asJSON:
				each := jsonTo(a.rows, "")
				for _, in := range selected {
					if err := each(in.Row()); err != nil {
						return err
					}
				}
				return nil
			case len(ids) > 0:
				return a.showInstances(selected, r.ImagePrefix)
			default:
				return a.listInstances(ds, selected)
			}
		},
	}
	addSource(c.Flags(), &r)
	addPrefix(c.Flags(), &r)
	c.Flags().BoolVar(&asJSON, "json", false, "print whole rows, one JSON object per line;\na text that is not UTF-8 is {\"$bytes\": BASE64}")
	inSection(c.Flags(), "Output")
	c.AddCommand(a.datasetInitCommand(), a.datasetFillCommand())
	return c
}

// notACommand refuses an id that looks like a misspelled command, before a dataset is downloaded.
func notACommand(c *cobra.Command, ids []string) error {
	if len(ids) == 0 || c.Flags().Changed("subset") {
		return nil
	}
	var names []string
	for _, sub := range c.Commands() {
		names = append(names, sub.Name())
	}
	if like := near.Name(ids[0], names); like != "" {
		return fault.Newf(fault.Usage, "batch dataset has no command %q", ids[0]).
			WithHint("did you mean `batch dataset %s`? To show an instance of that name, name its dataset with --subset", like)
	}
	return nil
}

func (a *app) datasetInitCommand() *cobra.Command {
	var f starter.Config
	c := &cobra.Command{
		Use:   "init [DIR]",
		Short: "Start a dataset of your own from a git repository",
		Long: `Write the beginning of a dataset into DIR (default: my-dataset): rows.jsonl, the
Dockerfile of their image, config.yaml, and a README.md with the commands to
run.

Rows are made from the latest commits on the checked-out branch, first those
that change tests too: base_commit is the commit before, problem_statement the
message (replace it by the text of the issue), patch and test_patch what the
commit changed. Without --repo, an example repository is written too. Nothing is
overwritten, and nothing is sent anywhere: the image has what is committed, and
is built by you.

  batch dataset init my-dataset --repo ~/src/shop --base node:22
  cd my-dataset && cat README.md`,
		RunE: func(c *cobra.Command, args []string) error {
			f.Dir = "my-dataset"
			if len(args) > 0 {
				f.Dir = args[0]
			}
			if c.Flags().Changed("rows") && f.Rows < 1 {
				return fault.Newf(fault.Usage, "--rows %d: expected at least 1", f.Rows)
			}
			if err := checkTests(f); err != nil {
				return err
			}
			w, err := starter.Write(c.Context(), f)
			if err != nil {
				return err
			}
			return a.sayWritten(w, f.Test != "" || f.Repo == "")
		},
	}
	fs := c.Flags()
	fs.StringVar(&f.Repo, "repo", "", "git repository to make rows from (default: an example)")
	fs.StringVar(&f.Image, "image", "", "name of the image that the rows run in (default: the repository's name-dataset)")
	fs.StringVar(&f.Base, "base", starter.DefaultBase, "image that the Dockerfile starts from")
	fs.IntVar(&f.Rows, "rows", starter.DefaultRows, "make at most so many rows")
	fs.StringVar(&f.Test, "test", "", "`COMMAND` that runs the tests, such as \"pytest -rA\": rows get an eval_script, for grading")
	fs.StringVar(&f.LogParser, "log-parser", "", "how grading reads what --test prints, such as parse_log_pytest:\nbatch help row lists them")
	_ = c.MarkFlagDirname("repo")
	c.ValidArgsFunction = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return nil, cobra.ShellCompDirectiveFilterDirs
	}
	return c
}

// checkTests wants a command and a parser of its output, or neither.
func checkTests(f starter.Config) error {
	known := logparse.Names()
	switch {
	case (f.Test == "") != (f.LogParser == ""):
		return fault.Newf(fault.Usage, "--test and --log-parser belong together").
			WithHint("give both, such as --test 'pytest -rA' --log-parser parse_log_pytest, or neither;\n`batch help row` lists the parser of each test runner")
	case f.LogParser != "" && !slices.Contains(known, f.LogParser):
		like := near.Name("parse_log_"+strings.TrimPrefix(f.LogParser, "parse_log_"), known)
		return fault.Newf(fault.Usage, "--log-parser %s: there is no parser of that name", f.LogParser).
			WithHint("%s", near.Hint(like, "`batch help row` lists the parser of each test runner"))
	}
	return nil
}

func (a *app) sayWritten(w starter.Written, tested bool) error {
	fmt.Fprintf(a.stdout, "%s of %s in %s: %s\n", printable.Count(w.Rows, "row", "rows"), printable.Line(w.Repo), w.Dir, strings.Join(w.Files, ", "))
	for _, note := range w.Notes {
		fmt.Fprintln(a.stdout, note)
	}
	fill := ""
	if tested {
		fill = "  batch dataset fill rows.jsonl -c config.yaml -o runs/fill\n"
	}
	_, err := fmt.Fprintf(a.stdout, `
next, as its README.md says:
  cd %s
  docker build -q -t %s .
  batch run --subset rows.jsonl -c config.yaml -m oracle -o runs/oracle
%s`, w.Dir, w.Image, fill)
	return err
}

func (a *app) listInstances(ds *dataset.Dataset, selected []dataset.Instance) error {
	var t printable.Table
	t.Row("INSTANCE", "REPO", "VERSION", "FAIL_TO_PASS", "PASS_TO_PASS", "PATCH")
	for _, in := range selected {
		t.Row(in.ID, in.Repo, in.Version, len(in.FailToPass), len(in.PassToPass), fmt.Sprintf("%d B", len(in.Patch)))
	}
	if err := t.Write(a.stdout); err != nil {
		return err
	}
	_, err := fmt.Fprintf(a.stdout, "\n%d of %s of %s, digest %.12s\n",
		len(selected), printable.Count(len(ds.Instances), "instance", "instances"), run.Title(ds), ds.Digest)
	return err
}

func (a *app) showInstances(selected []dataset.Instance, prefix string) error {
	for _, in := range selected {
		var columns []string
		for _, name := range slices.Sorted(maps.Keys(in.Fields)) {
			columns = append(columns, printable.Line(name))
		}
		fmt.Fprintf(a.stdout, "%s\n  repo     %s at %s\n  image    %s\n  tests    %d to fix, %d to keep\n%s\n\n%s\n\n",
			in.ID, printable.Line(in.Repo), printable.Line(in.BaseCommit), printable.Line(in.ImageName(prefix))+derived(in),
			len(in.FailToPass), len(in.PassToPass), printable.Wrapped("  columns  ", "           ", columns, 80), in.ProblemStatement)
	}
	return nil
}

// derived says where an image's name comes from, if not from the row.
func derived(in dataset.Instance) string {
	if in.ImageDerived() {
		return " (derived from the instance_id: the row has no image_name)"
	}
	return ""
}

// addSource adds the flags that say which instances; run, dataset and images share them.
func addSource(fs *pflag.FlagSet, r *run.Request) {
	fs.StringVar(&r.Subset, "subset", r.Subset, "dataset: full, verified, lite, multimodal, multilingual, smith, rebench, demo,\na Hugging Face id (OWNER/NAME, OWNER/NAME/CONFIGURATION), a file, a folder or a\nglob (parquet, jsonl, json; .gz, .zst), or a folder of task folders")
	addSelection(fs, r)
}

// addSelection adds the flags that choose rows, without the dataset's name.
func addSelection(fs *pflag.FlagSet, r *run.Request) {
	addVersion(fs, r)
	fs.StringVar(&r.Filter, "filter", "", "keep instances if this regular expression matches their ids from the start")
	fs.StringVar(&r.Slice, "slice", "", "then keep this Python slice, such as 0:50, -10: or ::2")
	fs.StringVar(&r.InstancesFile, "instances", "", "keep the ids listed in this `FILE` (one per line or a JSON list; - is stdin)")
	fs.StringVar(&r.Shard, "shard", "", "then keep the i-th of n parts, written i/n, for one of several machines: an id is\nalways in the same part; see batch help shards")
	fs.BoolVar(&r.Shuffle, "shuffle", false, "shuffle first, as mini-swe-agent does")
	fs.Int64Var(&r.Seed, "seed", r.Seed, "seed of the shuffle")
	inSection(fs, "Dataset")
}

// addVersion adds the flags that say which version of a dataset is meant.
func addVersion(fs *pflag.FlagSet, r *run.Request) {
	fs.StringVar(&r.Split, "split", "", "split of the dataset (default: the only one; of several, test)")
	fs.StringVar(&r.Revision, "revision", "", "branch, tag or commit of a Hugging Face dataset")
}

func addPrefix(fs *pflag.FlagSet, r *run.Request) {
	fs.StringVar(&r.ImagePrefix, "image-prefix", "", "take images from this registry or mirror")
	inSection(fs, imageSection)
}

// addAssets adds the flag about files that rows name and do not carry.
func addAssets(fs *pflag.FlagSet, r *run.Request) {
	fs.StringVar(&r.Assets, "assets", "", "folder tasks of a task repository: its ID/problem_assets have the images of problem\nstatements, and ID/test_assets the files that tests need beside their patch (default: rows\nsay where to download them)")
	_ = cobra.MarkFlagDirname(fs, "assets")
	inSection(fs, "Dataset")
}

// addTasks adds the flags about task folders.
func addTasks(fs *pflag.FlagSet, r *run.Request) {
	fs.StringSliceVar(&r.TaskEnv, "task-env", nil, "variables of this machine (`NAMES`) that task folders may read, as ${NAME} in their task.toml;\nseparate several with commas")
	fs.Float64Var(&r.TimeoutMultiplier, "timeout-multiplier", 0, "multiply all time limits of task folders by this (default 1): boards forbid other values")
	inSection(fs, "Dataset")
}

// load opens the dataset of a request and selects from it. It shows what it waits for.
func (a *app) load(ctx context.Context, r run.Request) (*dataset.Dataset, []dataset.Instance, error) {
	ds, selected, err := a.process().LoadDataset(ctx, r)
	if err != nil && r.InstancesFile != "" {
		err = a.fileOrID(ctx, r, err)
	}
	return ds, selected, err
}

// fileOrID explains that --instances takes a file, if it was given ids of instances to a command
// that takes ids as arguments.
func (a *app) fileOrID(ctx context.Context, r run.Request, err error) error {
	if !errors.Is(err, fs.ErrNotExist) || len(a.args) == 0 || a.args[0] != "run" && a.args[0] != "dataset" {
		return err
	}
	ids := strings.Split(filepath.Base(r.InstancesFile), ",")
	ds, notHere := a.openHere(ctx, r.Subset, r.Split, r.Revision)
	if notHere != nil {
		return err
	}
	if _, unknown := (dataset.Selection{IDs: ids}).Apply(ds.Instances); unknown != nil {
		return err
	}
	return fault.New(fault.Usage, "", err).
		WithHint("did you mean to name instances as arguments: `batch %s ... %s`", a.args[0], strings.Join(ids, " "))
}

// openHere opens a dataset without the network: from files, or from the hub's cache.
func (a *app) openHere(ctx context.Context, name, split, revision string) (*dataset.Dataset, error) {
	h := hub.FromEnv(a.getenv, a.home)
	h.Offline = true
	return dataset.Open(ctx, dataset.Source{Name: name, Split: split, Revision: revision, Demo: demo.Files(), Hub: h})
}

// imageDataset is a dataset of one instance, without a file: work in a container of an image.
// Its row is the image alone, so that the same instance is resumed for any task. An empty id is
// made from the image's name.
func imageDataset(image, id, task string) (*dataset.Dataset, error) {
	if strings.TrimSpace(image) == "" || strings.ContainsAny(image, " \t\n") {
		return nil, fault.Newf(fault.Usage, "--image %q: expected the name of an image", image)
	}
	if id == "" {
		id = imageID(image)
	}
	in := dataset.Instance{
		ID: id, ProblemStatement: task, Image: image,
		Fields: map[string]any{"instance_id": id, "image_name": image},
	}
	if strings.TrimSpace(task) == "" {
		in.ProblemStatement = "(what a person says)"
	}
	return &dataset.Dataset{Name: "image " + image, Digest: in.Digest(), Instances: []dataset.Instance{in}}, nil
}

// imageID names an instance after its image: the last part of the name, without tag or
// digest.
func imageID(image string) string {
	name, _, _ := strings.Cut(image, "@")
	name = name[strings.LastIndex(name, "/")+1:]
	name, _, _ = strings.Cut(name, ":")
	if vocab.CheckID(name) != nil {
		return "chat"
	}
	return name
}
