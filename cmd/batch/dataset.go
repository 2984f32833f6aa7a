package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"batch.example/batch/dataset"
	"batch.example/batch/fault"
	"batch.example/batch/internal/printable"
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
