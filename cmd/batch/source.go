package main

import (
	"context"
	"io"
	"os"

	"github.com/spf13/cobra"

	"batch.example/batch/dataset"
	"batch.example/batch/dataset/demo"
	"batch.example/batch/dataset/hub"
	"batch.example/batch/fault"
	"batch.example/batch/internal/progress"
)

// sourceFlags say which instances; run, dataset and images share them.
type sourceFlags struct {
	subset, split, revision  string
	slice, filter, instances string
	shard                    string
	shuffle                  bool
	seed                     int64
	imagePrefix              string
	ids                      []string // to keep instead of those in instances; nil is none
}

func (f *sourceFlags) add(c *cobra.Command) {
	fs := c.Flags()
	fs.StringVar(&f.subset, "subset", "lite", "dataset: full, verified, lite, multimodal, multilingual, smith, rebench, demo,\na Hugging Face id, a file, a folder or a glob (parquet, jsonl, json; .gz, .zst)")
	fs.StringVar(&f.split, "split", "", "split of the dataset (default: the only one, else test)")
	fs.StringVar(&f.revision, "revision", "", "branch, tag or commit of a Hugging Face dataset")
	fs.StringVar(&f.filter, "filter", "", "keep instances whose id matches this regular expression from its start")
	fs.StringVar(&f.slice, "slice", "", "then keep this Python slice, such as 0:50, -10: or ::2")
	fs.BoolVar(&f.shuffle, "shuffle", false, "shuffle first, as mini-swe-agent does")
	fs.Int64Var(&f.seed, "seed", 42, "seed of the shuffle")
	fs.StringVar(&f.instances, "instances", "", "keep the ids listed in this `FILE` (one a line or a JSON list; - is stdin)")
	fs.StringVar(&f.shard, "shard", "", "keep the i-th of n equal parts, written i/n")
	fs.StringVar(&f.imagePrefix, "image-prefix", "", "take images from this registry or mirror")
	for flag, values := range map[string][]string{
		"subset": {"full", "verified", "lite", "multimodal", "multilingual", "smith", "rebench", "demo"},
		"split":  {"test", "dev", "train"},
	} {
		_ = c.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveDefault))
	}
}

// load opens the dataset and selects from it. What it has to wait for is shown.
func (f *sourceFlags) load(ctx context.Context, a *app) (*dataset.Dataset, []dataset.Instance, error) {
	sel := dataset.Selection{Filter: f.filter, Slice: f.slice, Shuffle: f.shuffle, Seed: f.seed, Shard: f.shard}
	switch {
	case f.ids != nil:
		sel.IDs = f.ids
	case f.instances != "":
		ids, err := a.readIDs(f.instances)
		if err != nil {
			return nil, nil, err
		}
		sel.IDs = ids
	}
	h := hub.FromEnv(a.getenv, a.home)
	h.Progress = progress.Download(a.stderr)
	log := a.warnings()
	ds, err := dataset.Open(ctx, dataset.Source{
		Name: f.subset, Split: f.split, Revision: f.revision,
		Demo: demo.Files(), Hub: h, Log: log,
	})
	if err != nil {
		return nil, nil, err
	}
	selected, err := sel.Apply(ds.Instances)
	return ds, selected, err
}

func (a *app) readIDs(path string) ([]string, error) {
	if path == "-" {
		return dataset.ReadIDs(a.stdin, "standard input")
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, fault.New(fault.Usage, "reading --instances", err)
	}
	defer file.Close()
	return dataset.ReadIDs(io.Reader(file), path)
}
