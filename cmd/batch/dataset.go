package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"batch.example/batch/dataset"
	"batch.example/batch/dataset/demo"
	"batch.example/batch/dataset/hub"
	"batch.example/batch/fault"
	"batch.example/batch/internal/printable"
	"batch.example/batch/internal/progress"
)

func (a *app) datasetCommand() *cobra.Command {
	var f sourceFlags
	var asJSON bool
	c := &cobra.Command{
		Use:   "dataset [INSTANCE...]",
		Short: "List instances, or show some",
		Long: `List the instances of a dataset that the selection flags keep, or show the
ones named.

  batch dataset --subset verified --filter django__ --slice :5
  batch dataset --subset demo demo__slug-1
  batch dataset --subset rows.parquet --json | jq .instance_id`,
		RunE: func(c *cobra.Command, ids []string) error {
			ds, selected, err := f.load(c.Context(), a)
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
				return a.printRows(selected)
			case len(ids) > 0:
				return a.showInstances(selected, f.imagePrefix)
			default:
				return a.listInstances(ds, selected)
			}
		},
	}
	f.add(c)
	c.Flags().BoolVar(&asJSON, "json", false, "whole rows, one JSON object a line")
	return c
}

func (a *app) listInstances(ds *dataset.Dataset, selected []dataset.Instance) error {
	t := printable.NewTable(a.stdout)
	t.Row("INSTANCE", "REPO", "VERSION", "FAIL_TO_PASS", "PASS_TO_PASS", "PATCH")
	for _, in := range selected {
		t.Row(in.ID, in.Repo, in.Version, len(in.FailToPass), len(in.PassToPass), fmt.Sprintf("%d B", len(in.Patch)))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(a.stdout, "\n%d of %d instances of %s, digest %.12s\n",
		len(selected), len(ds.Instances), titled(ds), ds.Digest)
	return err
}

func (a *app) showInstances(selected []dataset.Instance, prefix string) error {
	for _, in := range selected {
		fmt.Fprintf(a.stdout, "%s\n  repo     %s at %s\n  image    %s\n  tests    %d to fix, %d to keep\n  columns  %v\n\n%s\n\n",
			in.ID, printable.Line(in.Repo), printable.Line(in.BaseCommit), printable.Line(in.ImageName(prefix)),
			len(in.FailToPass), len(in.PassToPass), printable.Line(fmt.Sprint(slices.Sorted(maps.Keys(in.Fields)))), in.ProblemStatement)
	}
	return nil
}

func (a *app) printRows(selected []dataset.Instance) error {
	enc := json.NewEncoder(a.rows)
	enc.SetEscapeHTML(false)
	for _, in := range selected {
		for name, v := range in.Fields {
			if text, ok := v.(string); ok && !utf8.ValidString(text) {
				return fault.Newf(fault.Usage, "%s: column %s is not UTF-8, which JSON cannot hold", in.ID, name).
					WithHint("leave the instance out with --filter or --instances; a parquet file or a task repository keeps its bytes")
			}
		}
		if err := enc.Encode(in.Fields); err != nil {
			return fault.New(fault.Host, "writing rows", err)
		}
	}
	return nil
}

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
